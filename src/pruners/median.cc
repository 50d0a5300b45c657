#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "pruners/rules.h"

// The median stopping rule (Golovin et al., "Google Vizier: A Service for Black-Box Optimization",
// KDD 2017, section 3.2.2), in the form that users know from Optuna's MedianPruner: the peers'
// values at the step are compared, not their running averages.
//
// Let s be the trial's last step. Its *best* value up to s is compared with the median, over all
// completed trials, of their latest value at or before s. Strictly worse: stop. So
//  - trials that report at other steps are compared fairly, and a noisy dip does not stop a trial;
//  - values that are NaN take part on neither side; infinities are ordinary, extreme values;
//  - equal values never stop anything, nor do fewer than `min_trials` peers with a value at s;
//  - a trial with fewer than `min_iter` values (W&B's iteration: the count of reported values,
//    a repeated step counted once) is left alone.

namespace seedbed {
namespace {

/// Middle value; the mean of the two middle ones for an even number. `values` is not empty.
double median_of(std::vector<double> values) {
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  const double below = *std::max_element(values.begin(), middle);
  // Halved first: the sum of two finite values can be infinite. Equal ones stay exactly equal.
  return below == *middle ? below : below / 2 + *middle / 2;
}

class MedianPruner : public Pruner {
 public:
  MedianPruner(const MedianOptions& options, Goal goal) : options_(options), goal_(goal) {}

  Verdict judge(const Curve& trial, const std::vector<const Curve*>& peers) const override {
    if (trial.points.empty() || trial.points.size() + trial.left_out < options_.min_iter) return {};
    const std::optional<double> best = best_of(trial);
    if (!best) return {};
    const double step = trial.points.back().step;
    std::vector<double> values;
    for (const Curve* peer : peers) {
      if (!peer->finished || peer->trial == trial.trial) continue;
      const std::optional<double> value = peer->at(step);
      if (value && !std::isnan(*value)) values.push_back(*value);
    }
    if (values.empty() || values.size() < options_.min_trials) return {};
    const double median = median_of(values);
    if (!worse(*best, median)) return {};
    return {true, fmt::format("its best value up to step {0}, {1}, is worse than {2}, the median "
                              "of {3} completed trial{4} at step {0} (rule median, {5})",
                              step, format_number(*best), format_number(median), values.size(),
                              values.size() == 1 ? "" : "s",
                              goal_ == Goal::minimize ? "minimize" : "maximize")};
  }

 private:
  /// False when either is NaN.
  [[nodiscard]] bool worse(double a, double b) const {
    return goal_ == Goal::minimize ? a > b : a < b;
  }

  [[nodiscard]] std::optional<double> best_of(const Curve& curve) const {
    std::optional<double> best;
    for (const CurvePoint& point : curve.points) {
      if (std::isnan(point.value)) continue;
      if (!best || worse(*best, point.value)) best = point.value;
    }
    return best;
  }

  MedianOptions options_;
  Goal goal_;
};

}  // namespace

std::unique_ptr<Pruner> make_median_pruner(const MedianOptions& options, Goal goal) {
  return std::make_unique<MedianPruner>(options, goal);
}

}  // namespace seedbed
