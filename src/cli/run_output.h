#pragma once

#include "base/result.h"
#include "cli/invocation.h"
#include "controller/run_study.h"

namespace seedbed {

/// Runs a study and shows it: on a terminal the controller runs in a process of its own and this
/// one is its view; elsewhere this one is the controller and prints plain or JSON lines. With
/// `detach` nothing is shown and the call returns when the controller is at work.
[[nodiscard]] Result<int> run_and_show(RunRequest request, const Invocation& invocation,
                                       bool detach);

}  // namespace seedbed
