#include "results/study_reader.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>
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
                    const std::function<void(const Entry&)>& take) {
  auto rows = database.prepare("SELECT id, at_ms, kind, body FROM records WHERE id>? ORDER BY id");
  if (!rows) return propagate(rows);
  rows->bind(1, position.record);
  while (true) {
    const Result<bool> row = rows->step();
    if (!row) return propagate(row);
    if (!*row) return {};
    auto record = decode_record(rows->view(2), rows->view(3));
    if (!record) return propagate(record);
    take(Entry{Timestamp{rows->integer(1)}, std::move(*record)});
    position.record = rows->integer(0);
  }
}

Status give_points(const sqlite::Database& database, FollowPosition& position, Points& points) {
  auto rows = database.prepare(
      "SELECT p.id, p.attempt, n.name, p.step, p.value, p.at_ms FROM points p "
      "JOIN metric_names n ON n.id=p.metric WHERE p.id>? ORDER BY p.id");
  if (!rows) return propagate(rows);
  rows->bind(1, position.point);
  while (true) {
    const Result<bool> row = rows->step();
    if (!row) return propagate(row);
    if (!*row) return {};
    points.add(attempt_of_key(rows->integer(1)),
               {rows->text(2), rows->real(3), rows->real(4), Timestamp{rows->integer(5)}});
    position.point = rows->integer(0);
  }
}

// The latest point of a long curve is in its summary alone.
Status give_latest(const sqlite::Database& database, Points& points) {
  auto rows = database.prepare(
      "SELECT m.last_attempt, n.name, m.last_step, m.last_value, m.last_ms, m.n FROM trials t "
      "JOIN metrics m ON m.trial=t.trial JOIN metric_names n ON n.id=m.metric "
      "WHERE t.state='running' AND m.n>? ORDER BY m.trial, m.metric");
  if (!rows) return propagate(rows);
  rows->bind_unsigned(1, kPointsKeptWhole);
  while (true) {
    const Result<bool> row = rows->step();
    if (!row) return propagate(row);
    if (!*row) return {};
    if (keeps_point(rows->unsigned_integer(5))) continue;
    points.add(attempt_of_key(rows->integer(0)),
               {rows->text(1), rows->real(2), rows->real(3), Timestamp{rows->integer(4)}});
  }
}

// Nanoseconds since 1970 of the last change; 0 when it is not there.
std::int64_t changed_ns(const std::string& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0) return 0;
  return info.st_mtim.tv_sec * 1'000'000'000LL + info.st_mtim.tv_nsec;
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

}  // namespace

Result<StudyReader> StudyReader::open(const std::string& study_dir) {
  const auto connection = Connection::open(study_dir);
  if (!connection) return propagate(connection);
  return StudyReader(study_dir);
}

Result<std::vector<MetricPoint>> StudyReader::curve(TrialNumber trial,
                                                    const std::string& metric) const {
  const auto connection = Connection::open(study_dir_);
  if (!connection) return propagate(connection);
  const auto id = find_metric(connection->database(), metric);
  if (!id) return propagate(id);
  std::vector<MetricPoint> points;
  if (!*id) return points;
  const auto stored = read_curve(connection->database(), trial, **id);
  if (!stored) return propagate(stored);
  points.reserve(stored->size());
  for (const StoredPoint& point : *stored) {
    points.push_back({metric, point.step, point.value, point.at});
  }
  return points;
}

Result<std::vector<std::string>> StudyReader::metric_names() const {
  const auto connection = Connection::open(study_dir_);
  if (!connection) return propagate(connection);
  auto rows = connection->database().prepare("SELECT name FROM metric_names");
  if (!rows) return propagate(rows);
  std::vector<std::string> names;
  while (true) {
    const Result<bool> row = rows->step();
    if (!row) return propagate(row);
    if (!*row) break;
    names.push_back(rows->text(0));
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::string> StudyReader::spec_yaml(std::uint32_t revision) const {
  const auto connection = Connection::open(study_dir_);
  if (!connection) return propagate(connection);
  auto row = connection->database().prepare(
      "SELECT spec_yaml FROM spaces WHERE ?1=0 OR revision=?1 ORDER BY revision DESC LIMIT 1");
  if (!row) return propagate(row);
  row->bind(1, revision);
  const Result<bool> found = row->step();
  if (!found) return propagate(found);
  if (!*found) {
    return fail(ErrorCode::usage, "the study in " + study_dir_ + " has no such revision");
  }
  return row->text(0);
}

Result<FollowPosition> StudyReader::entries_after(
    const FollowPosition& from, const std::function<void(const Entry&)>& take) const {
  const auto connection = Connection::open(study_dir_);
  if (!connection) return propagate(connection);
  FollowPosition position = from;
  Points points(take);
  Status given = give_records(connection->database(), position, take);
  if (given) given = give_points(connection->database(), position, points);
  if (given) given = give_latest(connection->database(), points);
  if (!given) return propagate(given);
  points.flush();
  return position;
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

std::optional<std::string> newest_study(const std::string& folder) {
  std::error_code ignored;
  std::optional<std::string> newest;
  std::int64_t newest_ns = 0;
  for (const std::string& name : study_folders(folder, ignored)) {
    const std::string database = folder + "/" + name + "/" + kDatabaseName;
    const std::int64_t ns = std::max(changed_ns(database), changed_ns(database + "-wal"));
    if (newest && ns <= newest_ns) continue;
    newest = folder + "/" + name;
    newest_ns = ns;
  }
  return newest;
}

}  // namespace seedbed
