#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace seedbed {

/// Live processes (of ours: others' environments cannot be read) that were started with
/// `NAME=VALUE` in their environment, whatever their parent or session. Looks at every process:
/// some ms, so call it in the background.
[[nodiscard]] std::vector<std::int64_t> processes_with(const std::string& assignment);

/// Sends them all a signal (TERM: and CONT, since a stopped one would not see it; 0: none) and
/// returns how many there were. One look: new ones may come meanwhile, so look until it returns 0.
std::size_t signal_processes_with(const std::string& assignment, int signal);

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
