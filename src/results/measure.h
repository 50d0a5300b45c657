#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "study/study_spec.h"

namespace seedbed {

/// Which number of a curve counts: `--by last|best|mean-last:N` (case K8).
struct Measure {
  enum class Kind { last, best, mean_last };
  Kind kind = Kind::last;
  std::uint64_t count = 1;  ///< N of mean-last:N, at least 1

  [[nodiscard]] static Result<Measure> parse(std::string_view text);
  /// `last`, `best`, `mean-last:3`.
  [[nodiscard]] std::string text() const;

  bool operator==(const Measure&) const = default;
};

/// What is known of a metric of a trial without its points.
struct MetricNumbers {
  std::string name;
  std::uint64_t n = 0;           ///< points reported
  std::uint64_t not_finite = 0;  ///< of them NaN or infinite
  double first_step = 0, first = 0;
  double last_step = 0, last = 0;
  std::optional<double> min, min_step, max, max_step;  ///< of the finite values
  std::vector<double> tail;  ///< the last values, oldest first, when the snapshot asked for them
};

/// The number that counts. Nothing when the metric never came. `best` looks at finite values only;
/// `last` and `mean-last` take what there is, so a curve that ends in NaN has NaN. With fewer than
/// N points `mean-last:N` is the mean of those; it needs `tail`.
[[nodiscard]] std::optional<double> measured(const MetricNumbers& numbers, const Measure& measure,
                                             Goal goal);

/// Whether `a` is strictly better. Only finite values compete: NaN and infinities of either sign
/// are never better than anything, and every finite value is better than them (case C7).
[[nodiscard]] bool better(double a, double b, Goal goal);

/// A mean that is summed from the first value on, so that equal values have exactly that mean.
class Mean {
 public:
  void add(double value);
  /// NaN of no values.
  [[nodiscard]] double value() const { return shift_ + sum_ / static_cast<double>(n_); }

 private:
  std::uint64_t n_ = 0;
  double shift_ = 0, sum_ = 0;
};

/// Sample standard deviation, divided by n-1; nothing below two values.
[[nodiscard]] std::optional<double> sample_deviation(const std::vector<double>& values,
                                                     double mean);

/// What decides between configurations: what crashed must not win by the seeds that survived.
struct Standing {
  double mean = 0;       ///< over the seeds
  bool complete = true;  ///< no seed is missing
};

/// Whether `a` is strictly the better configuration: those without a finite mean last, then those
/// that miss a seed, then by the mean.
[[nodiscard]] bool goes_before(const Standing& a, const Standing& b, Goal goal);

/// `min` or `max`, for the heading beside a "best".
[[nodiscard]] std::string_view goal_word(Goal goal);

}  // namespace seedbed
