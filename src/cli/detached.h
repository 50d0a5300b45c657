#pragma once

#include <sys/types.h>

#include "base/result.h"
#include "controller/run_study.h"
#include "env/posix/signals.h"

namespace seedbed {

/// Starts a controller in a process and session of its own, so that neither a closed terminal nor
/// the death of its parent reaches it. Returns its pid once the study is held and the first input
/// given; an error of the start comes back as if it had happened here. `held`: signals that the
/// caller holds back meanwhile; the controller does not.
[[nodiscard]] Result<pid_t> start_detached(RunRequest request, HeldSignals& held);

}  // namespace seedbed
