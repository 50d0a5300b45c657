#pragma once

#include <map>
#include <string>
#include <vector>

#include "study/command.h"
#include "study/command_text.h"

namespace seedbed {

using FlagStyles = std::map<std::string, FlagStyle, std::less<>>;

/// The text of one value as the program sees it: its spelling; booleans by the parameter's `flag:`
/// (01, true-false) or else by the study's style.
[[nodiscard]] std::string value_text(const Parameter& parameter, const FlagStyles& flags,
                                     BoolStyle style);

/// The words that an ${args…} macro stands for at one point. Absent parameters are left out.
[[nodiscard]] std::vector<std::string> expand_args(Macro macro, const Point& point,
                                                   const FlagStyles& flags, BoolStyle style);

}  // namespace seedbed
