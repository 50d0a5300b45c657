#pragma once

#include <string>
#include <vector>

#include "base/ids.h"
#include "study/point.h"

namespace seedbed {

/// Folder of a trial: `00042-lr0.001-bs32`: the number, then what varies, readable as far as
/// [A-Za-z0-9._-] and 60 bytes allow, else shortened with a short hash. Never empty, never `..`,
/// never a slash, never starting with `-`.
[[nodiscard]] std::string trial_folder_name(TrialNumber trial, const Point& point,
                                            const std::vector<std::string>& varying);

/// A study's or file's name made safe in the same way; empty, `.`, `..` and names with a slash are
/// the caller's to refuse.
[[nodiscard]] std::string safe_file_name(std::string_view text, std::size_t limit);

}  // namespace seedbed
