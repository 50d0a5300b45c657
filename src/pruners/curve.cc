#include <algorithm>

#include "pruners/pruner.h"

namespace seedbed {

std::optional<double> Curve::at(double step) const {
  auto after =
      std::upper_bound(points.begin(), points.end(), step,
                       [](double wanted, const CurvePoint& point) { return wanted < point.step; });
  if (after == points.begin()) return std::nullopt;
  return std::prev(after)->value;
}

}  // namespace seedbed
