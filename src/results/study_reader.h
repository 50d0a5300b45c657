#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/records.h"
#include "results/best_so_far.h"
#include "results/snapshot.h"
#include "results/study_status.h"
#include "results/trial_details.h"

namespace seedbed {

/// How far a follower of a study has got. The default is the beginning.
struct FollowPosition {
  std::int64_t record = 0;
  std::int64_t point = 0;

  bool operator==(const FollowPosition&) const = default;
};

/// The kept points of a metric of a trial, in the order of reporting.
struct KeptCurve {
  struct Point {
    std::uint32_t attempt = 0;
    double step = 0, value = 0;
    Timestamp at;
  };
  TrialNumber trial = 0;
  std::string metric;
  std::vector<Point> points;
};

/// One study, for looking at. Needs no lock, never writes to the record, and never stands in a
/// controller's way: each call opens the database, reads in one short transaction, and closes it.
/// Works on a study whose controller runs, was killed, or ended; on a read-only folder; on a copy.
///
/// Errors: `usage` when there is no study there or a newer version wrote it; `damaged` when it
/// cannot be read (`seedbed run` repairs what can be repaired); `machine` otherwise.
class StudyReader {
 public:
  [[nodiscard]] static Result<StudyReader> open(const std::string& study_dir);

  [[nodiscard]] const std::string& study_dir() const { return study_dir_; }

  /// One screen about the study; cheap.
  [[nodiscard]] Result<StudyStatus> status() const;

  /// The best so far; nothing without a metric, or when no completed trial has a finite value.
  [[nodiscard]] Result<std::optional<BestSoFar>> best_so_far() const;

  /// All trials with parameters and metrics, for tables.
  [[nodiscard]] Result<Snapshot> snapshot(const SnapshotOptions& options = {}) const;

  /// Everything about one trial; an error with code `usage` when there is no such trial.
  [[nodiscard]] Result<TrialDetails> trial(TrialNumber number) const;

  /// The kept points of a metric of a trial, in the order of reporting. Empty when there are none.
  [[nodiscard]] Result<std::vector<MetricPoint>> curve(TrialNumber trial,
                                                       const std::string& metric) const;

  /// Gives the curve of every metric of every trial, by trial, then by name; one is held at a time.
  [[nodiscard]] Status each_curve(const std::function<void(const KeptCurve&)>& take) const;

  /// The names of all metrics that trials have reported, sorted.
  [[nodiscard]] Result<std::vector<std::string>> metric_names() const;

  /// The sweep file (canonical YAML) of the latest revision, or of the given one.
  [[nodiscard]] Result<std::string> spec_yaml(std::uint32_t revision = 0) const;

  /// Gives the entries after `from` (records in order, then points of every metric as
  /// MetricsReported) and the position after them: fold them into a StudyState for a live view.
  /// Points that were thinned away are not given, but the latest value of each metric of a running
  /// trial is, each time it has changed.
  [[nodiscard]] Result<FollowPosition> entries_after(
      const FollowPosition& from, const std::function<void(const Entry&)>& take) const;

 private:
  explicit StudyReader(std::string study_dir) : study_dir_(std::move(study_dir)) {}

  std::string study_dir_;
};

/// A study in a list. `error` is not empty when it cannot be read; then the rest is empty.
struct ListedStudy {
  std::string name;  ///< of its folder
  std::string path;
  std::optional<StudyStatus> status;
  std::string error;
};

/// The studies directly under a folder (`./studies`), by name. An absent folder has none.
[[nodiscard]] Result<std::vector<ListedStudy>> list_studies(const std::string& folder);

}  // namespace seedbed
