#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"

namespace seedbed {

/// Live processes (of ours: others' environments cannot be read) that were started with
/// `NAME=VALUE` in their environment, whatever their parent or session. Looks at every process:
/// some ms, so call it in the background.
[[nodiscard]] std::vector<std::int64_t> processes_with(const std::string& assignment);

/// Ends them all: TERM, then KILL after `grace`, looking again until none is left. Blocks, so call
/// it in the background. False if some still live when `limit` is over (stuck in the kernel).
bool end_processes_with(const std::string& assignment, Milliseconds grace, Milliseconds limit);

/// Keeps a controller that is process 1 of a container free of zombies: orphans of others come to
/// it. Call it about once a second; it reaps children that were dead at the call before too, so
/// that whoever started a child has time to wait for it. Does nothing unless process 1.
class OrphanReaper {
 public:
  /// Number of orphans reaped.
  int look();

 private:
  std::vector<std::int64_t> dead_before_;
};

}  // namespace seedbed
