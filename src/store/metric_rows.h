#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/records.h"
#include "store/sqlite.h"

namespace seedbed {

/// Points of one trial and metric that are all kept; above it the curve is thinned.
inline constexpr std::uint64_t kPointsKeptWhole = 2048;

/// The last so many points are always kept.
inline constexpr std::uint64_t kPointsKeptRecent = 128;

/// Whether `points` keeps the point of that ordinal (from 1); see the head of schema.cc. Depends on
/// nothing else, so a restart changes nothing.
[[nodiscard]] bool keeps_point(std::uint64_t ordinal);

/// One point as it is stored.
struct StoredPoint {
  std::int64_t attempt = 0;  ///< attempt_key
  std::uint64_t ordinal = 0;
  double step = 0;
  double value = 0;
  Timestamp at;
};

/// Everything about a metric of a trial that is known without reading its points.
struct MetricSummary {
  std::uint64_t n = 0;           ///< points reported, kept or not
  std::uint64_t not_finite = 0;  ///< of them NaN or infinite
  StoredPoint first, last;
  std::optional<StoredPoint> min, max;  ///< of the finite values; the earliest of equal ones
  // first, min, max and not_finite are those since an attempt last began the curve again.
  std::int64_t first_point = 0;  ///< rows of `points` between which all of its points lie
  std::int64_t last_point = 0;

  /// Takes the next point; `row` is its row in `points`, 0 when it is not kept there.
  void add(const StoredPoint& point, std::int64_t row);
};

/// Writes metric points, their summaries and reading positions; within the caller's transaction.
class MetricRows {
 public:
  [[nodiscard]] static Result<MetricRows> prepare(const sqlite::Database& database);

  [[nodiscard]] Status write(const MetricsReported& report);
  /// The trial has ended: its summaries need not be remembered.
  void forget(TrialNumber trial);
  /// The transaction was rolled back: nothing that is remembered can be trusted.
  void forget_all();

 private:
  using Key = std::pair<TrialNumber, std::int64_t>;
  struct Thinned {
    Key key;
    StoredPoint point;
  };

  [[nodiscard]] Result<std::int64_t> metric_id(const std::string& name);
  [[nodiscard]] Result<MetricSummary*> summary(const Key& key);
  [[nodiscard]] Status write_point(const Key& key, const StoredPoint& point,
                                   MetricSummary& summary);
  [[nodiscard]] Status write_thinned();
  [[nodiscard]] Status write_positions(std::int64_t attempt,
                                       const std::vector<SourcePosition>& positions);

  const sqlite::Database* database_ = nullptr;
  sqlite::Statement find_name_, add_name_, add_point_, add_recent_, find_summary_, put_summary_,
      put_position_;
  std::unordered_map<std::string, std::int64_t> names_;  // look-up only, never walked
  std::map<Key, MetricSummary> summaries_;
  std::vector<Thinned> thinned_;
};

/// Columns of `metrics` in the order that `read_summary` takes them from, starting at `column`.
inline constexpr const char* kSummaryColumns =
    "n, not_finite, first_step, first_value, first_ms, last_attempt, last_step, last_value, "
    "last_ms, min_attempt, min_ordinal, min_step, min_value, min_ms, max_attempt, max_ordinal, "
    "max_step, max_value, max_ms, first_point, last_point";
[[nodiscard]] MetricSummary read_summary(const sqlite::Statement& row, int column);

[[nodiscard]] Status put_summary(const sqlite::Database& database, TrialNumber trial,
                                 std::int64_t metric, const MetricSummary& summary);

/// The kept points of one trial and metric in the order of reporting, with first, last, extremes
/// and the recent ones.
[[nodiscard]] Result<std::vector<StoredPoint>> read_curve(const sqlite::Database& database,
                                                          TrialNumber trial, std::int64_t metric);

/// The number of a metric's name; nothing when no trial has reported it.
[[nodiscard]] Result<std::optional<std::int64_t>> find_metric(const sqlite::Database& database,
                                                              const std::string& name);

/// Gives the kept points of a metric as MetricsReported entries: those of curves kept whole in the
/// order of commitment, then the thinned ones trial by trial.
[[nodiscard]] Status load_points(const sqlite::Database& database, const std::string& metric,
                                 const std::function<void(const Entry&)>& take);

[[nodiscard]] Result<std::vector<SourcePosition>> load_positions(const sqlite::Database& database,
                                                                 AttemptId attempt);

}  // namespace seedbed
