#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "study/point.h"

namespace seedbed {

/// Predicts how long a trial takes from one parameter: the mean duration of the completed trials
/// with the same value. Parameters are ranked by how much of the squared error such means take
/// away, corrected for the number of means (adjusted R²); one whose every value was seen just once
/// explains all and proves nothing, so it comes last. Where the best parameter's value is new, the
/// next one is asked. Pure; keeps sums only.
class DurationModel {
 public:
  void learn(const Point& point, double seconds);

  /// Seconds; nothing when no completed trial says anything about this point.
  [[nodiscard]] std::optional<double> predict(const Point& point) const;

  /// The parameter that explains the durations best; empty when none does.
  [[nodiscard]] std::string best() const;

  [[nodiscard]] std::uint64_t learned() const { return learned_; }

 private:
  struct Sum {
    double count = 0, total = 0;
    [[nodiscard]] double reduced() const { return total * total / count; }
  };
  struct ByValue {
    std::map<std::string, Sum> sums;  // by canonical value
    double reduced = 0;               // sum over the values of total²/count
    double seen = 0;                  // trials that have the parameter
  };

  /// Higher is better; nothing when the parameter explains nothing.
  [[nodiscard]] std::optional<double> rank(const ByValue& parameter) const;

  std::map<std::string, ByValue> parameters_;
  std::uint64_t learned_ = 0;
  double total_ = 0, squares_ = 0;
};

}  // namespace seedbed
