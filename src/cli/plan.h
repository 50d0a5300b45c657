#pragma once

#include <string>

#include "base/result.h"
#include "controller/run_study.h"

namespace seedbed {

/// Prints what a run would do; starts and writes nothing. `output`: text or json.
[[nodiscard]] Result<int> print_plan(const RunRequest& request, const std::string& output);

}  // namespace seedbed
