#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "results/measure.h"
#include "results/snapshot.h"

namespace seedbed {

struct CompareOptions {
  std::string metric;        ///< empty: the objective's
  std::optional<Goal> goal;  ///< empty: the objective's
  Measure by;
  bool include_outside = false;  ///< trials outside the present space too
};

/// A seed that has no result in a configuration, and why.
struct MissingSeed {
  Value seed;
  std::string
      why;  ///< `failed`, `running`, `waiting`, `pruned`, `cancelled`, `no metric`, `no trial`
  TrialNumber trial = 0;  ///< 0: there is none
};

/// One configuration: the trials that differ only in the seed parameter (case K1).
struct Configuration {
  Point point;                       ///< without the seed
  std::vector<TrialNumber> trials;   ///< all of them
  std::vector<TrialNumber> counted;  ///< completed, with the metric: these make the mean
  std::vector<double> values;        ///< of the counted ones, in the same order
  std::uint64_t n = 0;
  std::optional<double> mean;  ///< NaN when one of the values is NaN; nothing when n is 0
  std::optional<double> std;   ///< sample standard deviation, divided by n-1; nothing below n = 2
  std::vector<MissingSeed> missing;
};

/// The comparison, best configuration first; after the complete ones those that miss a seed, since
/// what crashed must not win by the seeds that survived; those without a finite mean last; ties by
/// trial number.
struct Comparison {
  std::string metric;
  Goal goal = Goal::minimize;
  Measure by;
  std::string seed_parameter;
  std::vector<Value> seeds;             ///< all seeds of the space, sorted
  std::vector<std::string> parameters;  ///< names without the seed, in order of appearance
  std::vector<std::string> varying;     ///< of them those that differ among the rows
  std::vector<Configuration> rows;
};

/// Errors: no metric named and none given (the names that were seen are listed), an unknown metric.
[[nodiscard]] Result<Comparison> compare(const Snapshot& snapshot, const CompareOptions& options);

/// The best trial or configuration: the best finite measure, ties to the lowest trial number.
struct Best {
  std::string metric;
  Goal goal = Goal::minimize;
  Measure by;
  double value = 0;       ///< of the trial, or the mean over the seeds
  TrialNumber trial = 0;  ///< the best one; of a configuration the best of its trials
  std::optional<Configuration> configuration;  ///< when configurations were compared
  std::uint64_t not_finite = 0;  ///< completed trials whose measure is NaN or infinite
  std::uint64_t candidates = 0;
};

/// Compares configurations by their means when some configuration has more than one trial, single
/// trials otherwise. An error with code `usage` says why there is no best: nothing completed, the
/// metric never came (with the names that were seen), nothing finite.
[[nodiscard]] Result<Best> best(const Snapshot& snapshot, const CompareOptions& options);

/// Always compares single trials.
[[nodiscard]] Result<Best> best_trial(const Snapshot& snapshot, const CompareOptions& options);

/// The completed trials that take part and have a finite measure, best first; ties by number.
[[nodiscard]] Result<std::vector<TrialNumber>> ranked_trials(const Snapshot& snapshot,
                                                             const CompareOptions& options);

/// What a snapshot must hold for these options.
[[nodiscard]] SnapshotOptions needed_for(const CompareOptions& options,
                                         const std::string& objective_metric);

}  // namespace seedbed
