#pragma once

#include "base/result.h"
#include "cli/run_options.h"

namespace seedbed {

/// Prints what a run would do, what of it a study has done already, and why `run` would refuse;
/// starts and writes nothing.
[[nodiscard]] Result<int> print_plan(const Invocation& invocation, const RunOptions& options);

}  // namespace seedbed
