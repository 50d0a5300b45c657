#include "store/metric_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "store/schema.h"

namespace seedbed {
namespace {

// A program that invents names for its metrics must not fill our memory.
constexpr std::size_t kNamesRemembered = 10'000;
constexpr std::size_t kSummariesRemembered = 10'000;

struct Preparation {
  const sqlite::Database& database;
  Status status;

  void operator()(sqlite::Statement& statement, const std::string& sql) {
    if (!status) return;
    auto prepared = database.prepare(sql.c_str());
    if (prepared) {
      statement = std::move(*prepared);
    } else {
      status = propagate(prepared);
    }
  }
};

void bind_extreme(sqlite::Statement& statement, int index,
                  const std::optional<StoredPoint>& extreme) {
  if (!extreme) {
    for (int i = 0; i < 5; ++i) statement.bind_null(index + i);
    return;
  }
  statement.bind(index, extreme->attempt)
      .bind_unsigned(index + 1, extreme->ordinal)
      .bind_real(index + 2, extreme->step)
      .bind_real(index + 3, extreme->value)
      .bind(index + 4, extreme->at.ms);
}

std::string put_summary_sql() {
  return fmt::format(
      "INSERT OR REPLACE INTO metrics(trial, metric, {}) "
      "VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
      kSummaryColumns);
}

Status run_put_summary(sqlite::Statement& statement, TrialNumber trial, std::int64_t metric,
                       const MetricSummary& summary) {
  statement.bind_unsigned(1, trial)
      .bind(2, metric)
      .bind_unsigned(3, summary.n)
      .bind_unsigned(4, summary.not_finite)
      .bind_real(5, summary.first.step)
      .bind_real(6, summary.first.value)
      .bind(7, summary.first.at.ms)
      .bind(8, summary.last.attempt)
      .bind_real(9, summary.last.step)
      .bind_real(10, summary.last.value)
      .bind(11, summary.last.at.ms)
      .bind(22, summary.first_point)
      .bind(23, summary.last_point);
  bind_extreme(statement, 12, summary.min);
  bind_extreme(statement, 17, summary.max);
  return statement.run();
}

std::optional<StoredPoint> read_extreme(const sqlite::Statement& row, int column) {
  if (row.is_null(column)) return std::nullopt;
  StoredPoint point;
  point.attempt = row.integer(column);
  point.ordinal = row.unsigned_integer(column + 1);
  point.step = row.real(column + 2);
  point.value = row.real(column + 3);
  point.at.ms = row.integer(column + 4);
  return point;
}

// attempt, ordinal, step, value, at_ms
StoredPoint read_point(const sqlite::Statement& row) {
  StoredPoint point;
  point.attempt = row.integer(0);
  point.ordinal = row.unsigned_integer(1);
  point.step = row.real(2);
  point.value = row.real(3);
  point.at.ms = row.integer(4);
  return point;
}

Status append_points(sqlite::Statement& rows, std::vector<StoredPoint>& points) {
  return rows.each([&](const sqlite::Statement& row) { points.push_back(read_point(row)); });
}

// Collects consecutive points of one attempt into one entry.
class EntryBuilder {
 public:
  EntryBuilder(const std::string& metric, const std::function<void(const Entry&)>& take)
      : metric_(metric), take_(take) {}

  void add(const StoredPoint& point) {
    const AttemptId attempt = attempt_of_key(point.attempt);
    if (report_.attempt != attempt) flush();
    report_.attempt = attempt;
    at_ = point.at;
    report_.points.push_back({metric_, point.step, point.value, point.at});
  }

  void flush() {
    if (report_.points.empty()) return;
    take_(Entry{at_, std::move(report_)});
    report_ = {};
  }

 private:
  const std::string& metric_;
  const std::function<void(const Entry&)>& take_;
  MetricsReported report_;
  Timestamp at_;
};

Result<std::vector<TrialNumber>> thinned_trials(const sqlite::Database& database,
                                                std::int64_t metric) {
  auto rows = database.prepare("SELECT trial FROM metrics WHERE metric=? AND n>? ORDER BY trial");
  if (!rows) return propagate(rows);
  rows->bind(1, metric).bind_unsigned(2, kPointsKeptWhole);
  std::vector<TrialNumber> trials;
  const Status read =
      rows->each([&](const sqlite::Statement& row) { trials.push_back(row.unsigned_integer(0)); });
  if (!read) return propagate(read);
  return trials;
}

}  // namespace

bool keeps_point(std::uint64_t ordinal) {
  std::uint64_t stride = 1;
  while (ordinal > kPointsKeptWhole * stride) stride *= 2;
  return ordinal % stride == 0;
}

void MetricSummary::add(const StoredPoint& point, std::int64_t row) {
  // An attempt that begins the curve again, without a checkpoint: what an earlier one had reached
  // is not what this one did.
  const bool again = n > 0 && point.attempt > last.attempt && point.step <= first.step;
  if (again) {
    min.reset();
    max.reset();
    not_finite = 0;
  }
  if (n == 0 || again) first = point;
  n = point.ordinal;
  last = point;
  if (std::isfinite(point.value)) {
    if (!min || point.value < min->value) min = point;
    if (!max || point.value > max->value) max = point;
  } else {
    ++not_finite;
  }
  if (row == 0) return;
  last_point = row;
  if (first_point == 0) first_point = row;
}

Status put_summary(const sqlite::Database& database, TrialNumber trial, std::int64_t metric,
                   const MetricSummary& summary) {
  auto statement = database.prepare(put_summary_sql().c_str());
  if (!statement) return propagate(statement);
  return run_put_summary(*statement, trial, metric, summary);
}

Result<MetricRows> MetricRows::prepare(const sqlite::Database& database) {
  MetricRows rows;
  rows.database_ = &database;
  Preparation prepare{database, {}};
  prepare(rows.find_name_, "SELECT id FROM metric_names WHERE name=?");
  prepare(rows.add_name_, "INSERT INTO metric_names(name) VALUES(?)");
  prepare(rows.add_point_,
          "INSERT INTO points(attempt, metric, ordinal, step, value, at_ms) VALUES(?,?,?,?,?,?)");
  prepare(rows.add_recent_,
          "INSERT OR REPLACE INTO recent(trial, metric, seat, attempt, ordinal, step, value, "
          "at_ms) VALUES(?,?,?,?,?,?,?,?)");
  prepare(rows.find_summary_,
          fmt::format("SELECT {} FROM metrics WHERE trial=? AND metric=?", kSummaryColumns));
  prepare(rows.put_summary_, put_summary_sql());
  prepare(rows.put_position_,
          "INSERT OR REPLACE INTO positions(attempt, source, offset, state) VALUES(?,?,?,?)");
  if (!prepare.status) return propagate(prepare.status);
  return rows;
}

void MetricRows::forget(TrialNumber trial) {
  summaries_.erase(summaries_.lower_bound({trial, 0}), summaries_.lower_bound({trial + 1, 0}));
}

void MetricRows::forget_all() {
  names_.clear();
  summaries_.clear();
  thinned_.clear();
}

Result<std::int64_t> MetricRows::metric_id(const std::string& name) {
  if (const auto known = names_.find(name); known != names_.end()) return known->second;
  find_name_.bind_text(1, name);
  const Result<bool> row = find_name_.step();
  std::int64_t id = row && *row ? find_name_.integer(0) : 0;
  find_name_.reset();
  if (!row) return propagate(row);
  if (id == 0) {
    add_name_.bind_text(1, name);
    if (const Status added = add_name_.run(); !added) return propagate(added);
    id = database_->last_insert_id();
  }
  if (names_.size() >= kNamesRemembered) names_.clear();
  names_.emplace(name, id);
  return id;
}

Result<MetricSummary*> MetricRows::summary(const Key& key) {
  if (const auto known = summaries_.find(key); known != summaries_.end()) return &known->second;
  find_summary_.bind_unsigned(1, key.first).bind(2, key.second);
  const Result<bool> row = find_summary_.step();
  MetricSummary found;
  if (row && *row) found = read_summary(find_summary_, 0);
  find_summary_.reset();
  if (!row) return propagate(row);
  return &summaries_.emplace(key, found).first->second;
}

Status MetricRows::write_point(const Key& key, const StoredPoint& point, MetricSummary& summary) {
  if (!keeps_point(point.ordinal)) {
    thinned_.push_back({key, point});
    summary.add(point, 0);
    return {};
  }
  add_point_.bind(1, point.attempt)
      .bind(2, key.second)
      .bind_unsigned(3, point.ordinal)
      .bind_real(4, point.step)
      .bind_real(5, point.value)
      .bind(6, point.at.ms);
  if (const Status added = add_point_.run(); !added) return added;
  summary.add(point, database_->last_insert_id());
  return {};
}

Status MetricRows::write_thinned() {
  for (const Thinned& one : thinned_) {
    // Of a large batch, those that would be overwritten again at once are not written.
    if (one.point.ordinal + kPointsKeptRecent <= summaries_.at(one.key).n) continue;
    add_recent_.bind_unsigned(1, one.key.first)
        .bind(2, one.key.second)
        .bind_unsigned(3, one.point.ordinal % kPointsKeptRecent)
        .bind(4, one.point.attempt)
        .bind_unsigned(5, one.point.ordinal)
        .bind_real(6, one.point.step)
        .bind_real(7, one.point.value)
        .bind(8, one.point.at.ms);
    if (const Status added = add_recent_.run(); !added) return added;
  }
  thinned_.clear();
  return {};
}

Status MetricRows::write_positions(std::int64_t attempt,
                                   const std::vector<SourcePosition>& positions) {
  for (const SourcePosition& position : positions) {
    put_position_.bind(1, attempt)
        .bind_text(2, position.source)
        .bind_unsigned(3, position.offset)
        .bind_text(4, position.state);
    if (const Status put = put_position_.run(); !put) return put;
  }
  return {};
}

Status MetricRows::write(const MetricsReported& report) {
  const Result<std::int64_t> attempt = attempt_key(report.attempt);
  if (!attempt) return propagate(attempt);
  if (summaries_.size() > kSummariesRemembered) summaries_.clear();
  std::map<Key, MetricSummary*> touched;
  for (const MetricPoint& reported : report.points) {
    const Result<std::int64_t> metric = metric_id(reported.name);
    if (!metric) return propagate(metric);
    const Key key{report.attempt.trial, *metric};
    MetricSummary*& summary_of = touched[key];
    if (summary_of == nullptr) {
      const Result<MetricSummary*> found = summary(key);
      if (!found) return propagate(found);
      summary_of = *found;
    }
    const StoredPoint point{*attempt, summary_of->n + 1, reported.step, reported.value,
                            reported.at};
    if (const Status written = write_point(key, point, *summary_of); !written) return written;
  }
  if (const Status written = write_thinned(); !written) return written;
  for (const auto& [key, summary_of] : touched) {
    if (const Status written = run_put_summary(put_summary_, key.first, key.second, *summary_of);
        !written)
      return written;
  }
  return write_positions(*attempt, report.positions);
}

MetricSummary read_summary(const sqlite::Statement& row, int column) {
  MetricSummary summary;
  summary.n = row.unsigned_integer(column);
  summary.not_finite = row.unsigned_integer(column + 1);
  summary.first = {0, 1, row.real(column + 2), row.real(column + 3),
                   Timestamp{row.integer(column + 4)}};
  summary.last = {row.integer(column + 5), summary.n, row.real(column + 6), row.real(column + 7),
                  Timestamp{row.integer(column + 8)}};
  summary.min = read_extreme(row, column + 9);
  summary.max = read_extreme(row, column + 14);
  summary.first_point = row.integer(column + 19);
  summary.last_point = row.integer(column + 20);
  return summary;
}

Result<std::vector<StoredPoint>> read_curve(const sqlite::Database& database, TrialNumber trial,
                                            std::int64_t metric) {
  auto summary_row = database.prepare(
      fmt::format("SELECT {} FROM metrics WHERE trial=? AND metric=?", kSummaryColumns).c_str());
  if (!summary_row) return propagate(summary_row);
  summary_row->bind_unsigned(1, trial).bind(2, metric);
  const Result<bool> found = summary_row->step();
  if (!found) return propagate(found);
  std::vector<StoredPoint> points;
  if (!*found) return points;
  const MetricSummary summary = read_summary(*summary_row, 0);

  // No index is needed: a trial's points lie close together, among those of the trials that ran
  // beside it.
  auto rows = database.prepare(
      "SELECT attempt, ordinal, step, value, at_ms FROM points WHERE id BETWEEN ? AND ? "
      "AND metric=? AND attempt BETWEEN ? AND ? ORDER BY id");
  if (!rows) return propagate(rows);
  const std::int64_t first_key = static_cast<std::int64_t>(trial) * kAttemptsPerTrial;
  rows->bind(1, summary.first_point)
      .bind(2, summary.last_point)
      .bind(3, metric)
      .bind(4, first_key)
      .bind(5, first_key + kAttemptsPerTrial - 1);
  if (const Status read = append_points(*rows, points); !read) return propagate(read);
  if (summary.n <= kPointsKeptWhole) return points;

  auto recent = database.prepare(
      "SELECT attempt, ordinal, step, value, at_ms FROM recent WHERE trial=? AND metric=? "
      "AND ordinal>?");
  if (!recent) return propagate(recent);
  recent->bind_unsigned(1, trial).bind(2, metric).bind_unsigned(3, summary.n - kPointsKeptRecent);
  if (const Status read = append_points(*recent, points); !read) return propagate(read);
  points.push_back(summary.last);
  if (summary.min) points.push_back(*summary.min);
  if (summary.max) points.push_back(*summary.max);
  const auto earlier = [](const StoredPoint& a, const StoredPoint& b) {
    return a.ordinal < b.ordinal;
  };
  std::stable_sort(points.begin(), points.end(), earlier);
  const auto same = [](const StoredPoint& a, const StoredPoint& b) {
    return a.ordinal == b.ordinal;
  };
  points.erase(std::unique(points.begin(), points.end(), same), points.end());
  return points;
}

Result<std::optional<std::int64_t>> find_metric(const sqlite::Database& database,
                                                const std::string& name) {
  auto row = database.prepare("SELECT id FROM metric_names WHERE name=?");
  if (!row) return propagate(row);
  row->bind_text(1, name);
  const Result<bool> found = row->step();
  if (!found) return propagate(found);
  if (!*found) return std::optional<std::int64_t>();
  return std::optional<std::int64_t>(row->integer(0));
}

Status load_points(const sqlite::Database& database, const std::string& metric,
                   const std::function<void(const Entry&)>& take) {
  const auto id = find_metric(database, metric);
  if (!id) return propagate(id);
  if (!*id) return {};
  const auto thinned = thinned_trials(database, **id);
  if (!thinned) return propagate(thinned);
  auto rows = database.prepare(
      "SELECT attempt, ordinal, step, value, at_ms FROM points WHERE metric=? ORDER BY id");
  if (!rows) return propagate(rows);
  rows->bind(1, **id);
  EntryBuilder builder(metric, take);
  const Status read = rows->each([&](const sqlite::Statement& row) {
    const StoredPoint point = read_point(row);
    const TrialNumber trial = attempt_of_key(point.attempt).trial;
    if (!std::binary_search(thinned->begin(), thinned->end(), trial)) builder.add(point);
  });
  if (!read) return read;
  for (const TrialNumber trial : *thinned) {
    const auto curve = read_curve(database, trial, **id);
    if (!curve) return propagate(curve);
    for (const StoredPoint& point : *curve) builder.add(point);
  }
  builder.flush();
  return {};
}

Result<std::vector<SourcePosition>> load_positions(const sqlite::Database& database,
                                                   AttemptId attempt) {
  const Result<std::int64_t> key = attempt_key(attempt);
  if (!key) return propagate(key);
  auto rows = database.prepare(
      "SELECT source, offset, state FROM positions WHERE attempt=? ORDER BY source");
  if (!rows) return propagate(rows);
  rows->bind(1, *key);
  std::vector<SourcePosition> positions;
  const Status read = rows->each([&](const sqlite::Statement& row) {
    positions.push_back({row.text(0), row.unsigned_integer(1), row.text(2)});
  });
  if (!read) return propagate(read);
  return positions;
}

}  // namespace seedbed
