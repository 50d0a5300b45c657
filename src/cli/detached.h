#pragma once

#include <sys/types.h>

#include "base/result.h"
#include "controller/run_study.h"

namespace seedbed {

/// Starts a controller in a process and session of its own, so that neither a closed terminal nor
/// the death of its parent reaches it. Returns its pid once the study is held and the first input
/// given; an error of the start comes back as if it had happened here.
[[nodiscard]] Result<pid_t> start_detached(RunRequest request);

}  // namespace seedbed
