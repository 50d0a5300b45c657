#pragma once

#include <string>

#include "base/result.h"
#include "engine/inputs.h"
#include "engine/state.h"

namespace seedbed {

/// What a cancel or a retry will do to the study in this state, trial by trial, for whoever asked:
/// `trial 3 cancelled; trial 1 is asked to stop`. Empty for every other input. Error `usage` when a
/// trial does not exist: nothing is to be done then, for the other trials neither.
[[nodiscard]] Result<std::string> request_text(const StudyState& state, const Input& input,
                                               Timestamp now);

/// `a=1 b=1; a=2 b=1; … and 4 more`.
[[nodiscard]] std::string first_points_text(const std::vector<Point>& points);

}  // namespace seedbed
