#pragma once

#include <string>

#include "base/result.h"
#include "engine/inputs.h"

namespace seedbed {

/// Gives an input to a study that has no controller: its records are written, and the next `run`
/// acts on them (`add`, `cancel`, `retry`). Returns what changed, in words. Error `in_use` when a
/// controller holds the study after all.
[[nodiscard]] Result<std::string> record_only(const std::string& study_dir,
                                              const std::string& command_line, const Input& input);

}  // namespace seedbed
