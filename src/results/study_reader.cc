#include "results/study_reader.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "results/connection.h"
#include "results/rows.h"
#include "store/metric_rows.h"
#include "store/record_codec.h"
#include "store/schema.h"

namespace seedbed {
namespace {

namespace fs = std::filesystem;

// Puts consecutive points of one attempt into one entry.
class Points {
 public:
  explicit Points(const std::function<void(const Entry&)>& take) : take_(take) {}

  void add(AttemptId attempt, MetricPoint point) {
    if (report_.attempt != attempt) flush();
    report_.attempt = attempt;
    report_.points.push_back(std::move(point));
  }

  void flush() {
    if (!report_.points.empty()) {
      const Timestamp at = report_.points.back().at;
      take_(Entry{at, std::move(report_)});
    }
    report_ = {};
  }

 private:
  const std::function<void(const Entry&)>& take_;
  MetricsReported report_;
};

Status give_records(const sqlite::Database& database, FollowPosition& position,
                    const std::function<void(const Entry&)>& take,
                    std::set<TrialNumber>& finished) {
  auto rows = database.prepare("SELECT id, at_ms, kind, body FROM records WHERE id>? ORDER BY id");
  if (!rows) return propagate(rows);
  rows->bind(1, position.record);
  return rows->each([&](const sqlite::Statement& row) -> Status {
    auto record = decode_record(row.view(2), row.view(3));
    if (!record) return propagate(record);
    if (const auto* end = std::get_if<TrialFinished>(&*record)) finished.insert(end->trial);
    take(Entry{Timestamp{row.integer(1)}, std::move(*record)});
    position.record = row.integer(0);
    return {};
  });
}

Status give_points(const sqlite::Database& database, FollowPosition& position, Points& points) {
  auto rows = database.prepare(
      "SELECT p.id, p.attempt, n.name, p.step, p.value, p.at_ms FROM points p "
      "JOIN metric_names n ON n.id=p.metric WHERE p.id>? ORDER BY p.id");
  if (!rows) return propagate(rows);
  rows->bind(1, position.point);
  return rows->each([&](const sqlite::Statement& row) {
    points.add(attempt_of_key(row.integer(1)),
               {row.text(2), row.real(3), row.real(4), Timestamp{row.integer(5)}});
    position.point = row.integer(0);
  });
}

// The latest point of a long curve is in its summary alone. It is given while the trial runs, and
// once more when it has finished.
Status give_latest(const sqlite::Database& database, const std::set<TrialNumber>& finished,
                   Points& points) {
  auto rows = database.prepare(
      "SELECT m.last_attempt, n.name, m.last_step, m.last_value, m.last_ms, m.n, m.trial, "
      "t.state='running' FROM trials t JOIN metrics m ON m.trial=t.trial JOIN metric_names n ON "
      "n.id=m.metric WHERE (?1 OR t.state='running') AND m.n>?2 ORDER BY m.trial, m.metric");
  if (!rows) return propagate(rows);
  rows->bind(1, finished.empty() ? 0 : 1).bind_unsigned(2, kPointsKeptWhole);
  return rows->each([&](const sqlite::Statement& row) {
    if (keeps_point(row.unsigned_integer(5))) return;
    if (row.integer(7) == 0 && !finished.contains(row.unsigned_integer(6))) return;
    points.add(attempt_of_key(row.integer(0)),
               {row.text(1), row.real(2), row.real(3), Timestamp{row.integer(4)}});
  });
}

std::vector<std::string> study_folders(const std::string& folder, std::error_code& error) {
  std::vector<std::string> names;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (fs::is_regular_file(at->path() / kDatabaseName, ignored)) {
      names.push_back(at->path().filename().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::vector<MetricPoint>> read_points(const sqlite::Database& database, TrialNumber trial,
                                             const std::string& metric) {
  const auto id = find_metric(database, metric);
  if (!id) return propagate(id);
  std::vector<MetricPoint> points;
  if (!*id) return points;
  const auto stored = read_curve(database, trial, **id);
  if (!stored) return propagate(stored);
  points.reserve(stored->size());
  for (const StoredPoint& point : *stored) {
    points.push_back({metric, point.step, point.value, point.at});
  }
  return points;
}

Status read_curves(const sqlite::Database& database,
                   const std::function<void(const KeptCurve&)>& take) {
  auto rows = database.prepare(
      "SELECT m.trial, m.metric, n.name FROM metrics m JOIN metric_names n ON n.id=m.metric "
      "ORDER BY m.trial, n.name");
  if (!rows) return propagate(rows);
  return rows->each([&](const sqlite::Statement& row) -> Status {
    KeptCurve curve;
    curve.trial = row.unsigned_integer(0);
    curve.metric = row.text(2);
    const auto stored = read_curve(database, curve.trial, row.integer(1));
    if (!stored) return propagate(stored);
    for (const StoredPoint& point : *stored) {
      curve.points.push_back(
          {attempt_of_key(point.attempt).attempt, point.step, point.value, point.at});
    }
    take(curve);
    return {};
  });
}

Result<std::vector<std::string>> read_metric_names(const sqlite::Database& database) {
  std::vector<std::string> names;
  const Status read =
      database.each("SELECT name FROM metric_names",
                    [&](const sqlite::Statement& row) { names.push_back(row.text(0)); });
  if (!read) return propagate(read);
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::string> read_spec(const sqlite::Database& database, const std::string& study_dir,
                              std::uint32_t revision) {
  auto row = database.prepare(
      "SELECT spec_yaml FROM spaces WHERE ?1=0 OR revision=?1 ORDER BY revision DESC LIMIT 1");
  if (!row) return propagate(row);
  row->bind(1, revision);
  const Result<bool> found = row->step();
  if (!found) return propagate(found);
  if (!*found) {
    return fail(ErrorCode::usage, "the study in " + study_dir + " has no such revision");
  }
  return row->text(0);
}

Result<FollowPosition> follow(const sqlite::Database& database, const FollowPosition& from,
                              const std::function<void(const Entry&)>& take) {
  FollowPosition position = from;
  Points points(take);
  std::set<TrialNumber> finished;
  Status given = give_records(database, position, take, finished);
  if (given) given = give_points(database, position, points);
  if (given) given = give_latest(database, finished, points);
  if (!given) return propagate(given);
  points.flush();
  return position;
}

}  // namespace

Result<StudyReader> StudyReader::open(const std::string& study_dir) {
  const auto connection = Connection::open(study_dir);
  if (!connection) return propagate(connection);
  return StudyReader(study_dir);
}

Result<std::vector<MetricPoint>> StudyReader::curve(TrialNumber trial,
                                                    const std::string& metric) const {
  return read_record(study_dir_, [&](const sqlite::Database& database) {
    return read_points(database, trial, metric);
  });
}

Status StudyReader::each_curve(const std::function<void(const KeptCurve&)>& take) const {
  return read_record(study_dir_,
                     [&](const sqlite::Database& database) { return read_curves(database, take); });
}

Result<std::vector<std::string>> StudyReader::metric_names() const {
  return read_record(study_dir_, read_metric_names);
}

Result<std::string> StudyReader::spec_yaml(std::uint32_t revision) const {
  return read_record(study_dir_, [&](const sqlite::Database& database) {
    return read_spec(database, study_dir_, revision);
  });
}

Result<FollowPosition> StudyReader::entries_after(
    const FollowPosition& from, const std::function<void(const Entry&)>& take) const {
  return read_record(
      study_dir_, [&](const sqlite::Database& database) { return follow(database, from, take); });
}

Result<std::vector<ListedStudy>> list_studies(const std::string& folder) {
  std::vector<ListedStudy> studies;
  std::error_code error;
  for (std::string& name : study_folders(folder, error)) {
    ListedStudy study;
    study.path = folder + "/" + name;
    study.name = std::move(name);
    const auto reader = StudyReader::open(study.path);
    auto status = reader ? reader->status() : Result<StudyStatus>(propagate(reader));
    if (status) {
      study.status = std::move(*status);
    } else {
      study.error = status.error().message;
    }
    studies.push_back(std::move(study));
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return fail(ErrorCode::machine, folder + ": " + error.message());
  }
  return studies;
}

}  // namespace seedbed
