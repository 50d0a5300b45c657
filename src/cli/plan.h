#pragma once

#include <string>

#include "base/result.h"
#include "cli/run_options.h"
#include "controller/run_study.h"

namespace seedbed {

/// Prints what a run would do, what of it a study has done already, and why `run` would refuse;
/// starts and writes nothing. `output`: text or json.
[[nodiscard]] Result<int> print_plan(const RunRequest& request, const RunOptions& options,
                                     const std::string& output);

}  // namespace seedbed
