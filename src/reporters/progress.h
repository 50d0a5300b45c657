#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/state.h"
#include "reporters/estimate.h"
#include "reporters/make_reporter.h"

namespace seedbed {

/// The attempt that a trial's latest end is about; nothing when none has ended.
[[nodiscard]] const AttemptStatus* last_ended(const TrialStatus& trial);

/// Wall time of an attempt that has ended.
[[nodiscard]] Milliseconds wall_time(const AttemptStatus& attempt);

/// Attempts under way: begun or planned, not ended.
[[nodiscard]] std::uint64_t running_attempts(const StudyState& state);

/// The last value of the objective's metric; nothing when it was never reported or none is named.
[[nodiscard]] std::optional<double> last_objective(const TrialStatus& trial,
                                                   const StudyState& state);

/// What reporters keep beside the state, so that a frame does not cost a walk over all trials.
/// Everything in it can be counted again from the state.
class Progress {
 public:
  explicit Progress(const ReportFacts& facts) : facts_(&facts) {}

  /// The entries of one commit, after they were applied.
  void take(const std::vector<Entry>& entries, const StudyState& state);

  /// Terminal trials of the present space.
  [[nodiscard]] static std::uint64_t done(const StudyState& state);
  /// Known trials of the present space.
  [[nodiscard]] static std::uint64_t known(const StudyState& state);
  /// All trials of the present space, proposed or not; nothing when not known.
  [[nodiscard]] std::optional<std::uint64_t> total(const StudyState& state) const;
  /// `total` is only an upper bound.
  [[nodiscard]] bool total_is_bound(const StudyState& state) const;
  [[nodiscard]] std::optional<std::uint64_t> waiting(const StudyState& state) const;
  [[nodiscard]] Estimate estimate(Timestamp now, const StudyState& state) const;
  /// The best completed trial; 0: none.
  [[nodiscard]] TrialNumber best() const { return best_; }

 private:
  void add(const TrialStatus& trial, const StudyState& state);
  void count_again(const StudyState& state);

  const ReportFacts* facts_;
  bool counted_ = false;
  std::uint64_t finished_ = 0;  ///< completed and pruned
  std::int64_t finished_ms_ = 0;
  TrialNumber best_ = 0;
  double best_value_ = 0;
};

/// Mean over the seeds of one configuration.
struct ConfigurationMean {
  TrialNumber first = 0;  ///< its trial of lowest number, for the parameters
  std::size_t n = 0;
  double mean = 0;
  std::optional<double> deviation;  ///< sample standard deviation (n - 1); from two on
  bool incomplete = false;          ///< a seed has no result
};

struct ClosingFailure {
  TrialNumber trial = 0;
  std::string folder, reason;
  std::uint32_t attempt = 0;
};

/// Trials of earlier runs that the present space does not hold. Those that were never run are no
/// results: they waited when the space became another one.
struct Outside {
  std::uint64_t trials = 0;
  std::uint64_t never_run = 0;  ///< of them
};
/// What goes behind the number of trials: `, 1 of them never run`; nothing when all have been run.
[[nodiscard]] std::string never_run_text(std::uint64_t trials, std::uint64_t never_run);
/// A walk over all trials.
[[nodiscard]] Outside trials_outside(const StudyState& state);

/// What the closing lines say. A walk over all trials: once, at the end.
struct Closing {
  std::optional<ConfigurationMean> best_configuration;  ///< only where there are replicates
  TrialNumber best_trial = 0;
  double best_value = 0;
  std::vector<ClosingFailure> failures;  ///< the first `most_failures`
  std::uint64_t failures_left_out = 0;
  Outside outside;
};
[[nodiscard]] Closing make_closing(const StudyState& state, std::size_t most_failures);

}  // namespace seedbed
