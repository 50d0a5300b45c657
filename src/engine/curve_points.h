#pragma once

#include "pruners/pruner.h"

namespace seedbed {

/// Adds a point in order of step. A repeated step keeps the latest value; a step that
/// is NaN is left out. Over StudyState::kCurvePoints every second point goes, but never the first,
/// the last, the least and the greatest.
void add_curve_point(Curve& curve, CurvePoint point);

}  // namespace seedbed
