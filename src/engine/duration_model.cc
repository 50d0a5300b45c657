#include "engine/duration_model.h"

namespace seedbed {

void DurationModel::learn(const Point& point, double seconds) {
  ++learned_;
  total_ += seconds;
  squares_ += seconds * seconds;
  for (const Parameter& parameter : point.parameters) {
    ByValue& by_value = parameters_[parameter.name];
    Sum& sum = by_value.sums[parameter.value.canonical()];
    if (sum.count > 0) by_value.reduced -= sum.reduced();
    sum.count += 1;
    sum.total += seconds;
    by_value.reduced += sum.reduced();
    by_value.seen += 1;
  }
}

std::optional<double> DurationModel::rank(const ByValue& parameter) const {
  const auto n = static_cast<double>(learned_);
  const auto means = static_cast<double>(parameter.sums.size());
  if (parameter.seen < n || means < 2) return std::nullopt;
  const double spread = squares_ - total_ * total_ / n;  // about the overall mean
  if (spread <= 1e-9 * squares_) return std::nullopt;
  const double left = squares_ - parameter.reduced;
  if (means == n) return -1.0;
  const double adjusted = 1.0 - (left / (n - means)) / (spread / (n - 1));
  if (adjusted <= 0) return std::nullopt;
  return adjusted;
}

std::string DurationModel::best() const {
  std::string name;
  std::optional<double> highest;
  for (const auto& [candidate, parameter] : parameters_) {
    const auto ranked = rank(parameter);
    if (ranked && (!highest || *ranked > *highest)) {
      highest = ranked;
      name = candidate;
    }
  }
  return name;
}

std::optional<double> DurationModel::predict(const Point& point) const {
  if (learned_ == 0) return std::nullopt;
  std::optional<double> highest;
  double predicted = total_ / static_cast<double>(learned_);
  for (const Parameter& parameter : point.parameters) {
    const auto found = parameters_.find(parameter.name);
    if (found == parameters_.end()) continue;
    const auto sum = found->second.sums.find(parameter.value.canonical());
    if (sum == found->second.sums.end()) continue;
    const auto ranked = rank(found->second);
    if (!ranked || (highest && *ranked <= *highest)) continue;
    highest = ranked;
    predicted = sum->second.total / sum->second.count;
  }
  return predicted;
}

}  // namespace seedbed
