#include "engine/curve_points.h"

#include <algorithm>
#include <cmath>

#include "engine/state.h"

namespace seedbed {
namespace {

/// Every second point goes, but never the first, the last, the least and the greatest.
void thin(std::vector<CurvePoint>& points) {
  std::size_t least = 0, greatest = 0;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const double value = points[i].value;
    if (value < points[least].value || std::isnan(points[least].value)) least = i;
    if (value > points[greatest].value || std::isnan(points[greatest].value)) greatest = i;
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const bool keep = i % 2 == 0 || i + 1 == points.size() || i == least || i == greatest;
    if (keep) points[kept++] = points[i];
  }
  points.resize(kept);
}

}  // namespace

void add_curve_point(Curve& curve, CurvePoint point) {
  std::vector<CurvePoint>& points = curve.points;
  if (std::isnan(point.step)) return;  // nothing can be ordered by it
  auto at = points.end();
  if (!points.empty() && points.back().step >= point.step) {
    at = std::lower_bound(points.begin(), points.end(), point.step,
                          [](const CurvePoint& p, double step) { return p.step < step; });
  }
  if (at != points.end() && at->step == point.step) {
    at->value = point.value;
    return;
  }
  points.insert(at, point);
  if (points.size() <= StudyState::kCurvePoints) return;
  curve.left_out += points.size();
  thin(points);
  curve.left_out -= points.size();
}

}  // namespace seedbed
