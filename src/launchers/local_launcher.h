#pragma once

#include <memory>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "env/event_loop.h"
#include "launchers/launcher.h"

namespace seedbed {

struct LocalLauncherOptions {
  std::string shim;         ///< path of seedbed-shim; empty: beside this program, see find_shim
  std::string runtime_dir;  ///< folder for sockets; empty: study_runtime_dir(study_dir)
};

/// Runs attempts on this machine: one shim per slot, started when the slot is first used, which
/// outlives the controller while it has work. Each attempt's environment gets SEEDBED_TOKEN, by
/// which its processes are found should the shim be killed. One descriptor per slot; nothing blocks
/// the loop. As process 1 of a container it also reaps orphans.
///
/// Errors: `machine` when the shim or a safe folder for sockets is missing.
[[nodiscard]] Result<std::unique_ptr<Launcher>> make_local_launcher(
    EventLoop& loop, LaunchListener& listener, Log& log, const std::string& study_dir,
    LocalLauncherOptions options = {});

/// seedbed-shim beside this program, or in ../libexec/seedbed as it is installed; the variable
/// SEEDBED_SHIM comes first.
[[nodiscard]] Result<std::string> find_shim();

}  // namespace seedbed
