#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "study/study_spec.h"

namespace seedbed {

/// One value of the objective's metric at a step.
struct CurvePoint {
  double step = 0;   ///< as reported, or the running number where the program reports none
  double value = 0;  ///< may be NaN or infinite

  bool operator==(const CurvePoint&) const = default;
};

/// The objective's curve of one trial over all its attempts, in order of step; a repeated step
/// keeps the latest value.
struct Curve {
  TrialNumber trial = 0;
  bool finished = false;  ///< completed (pruned and failed curves are not peers)
  std::vector<CurvePoint> points;
  std::uint64_t left_out = 0;  ///< points between these, of a long curve

  /// Latest value at or before a step; nothing when there is none.
  [[nodiscard]] std::optional<double> at(double step) const;
};

/// A pruner's verdict; a stop always carries its reason in words with the numbers.
struct Verdict {
  bool stop = false;
  std::string reason;
};

/// Judges a running trial each time it reports. Pure and quick: called inline by the engine.
class Pruner {
 public:
  virtual ~Pruner() = default;

  /// `trial` is the running trial's curve; `peers` all other curves of the study, by trial number.
  [[nodiscard]] virtual Verdict judge(const Curve& trial,
                                      const std::vector<const Curve*>& peers) const = 0;
};

/// The pruner for one rule of `early_terminate`; unknown options are errors with a suggestion.
[[nodiscard]] Result<std::unique_ptr<Pruner>> make_pruner(const PrunerSpec& spec, Goal goal);

}  // namespace seedbed
