#pragma once

#include <cstdint>
#include <string>

#include "base/ids.h"
#include "base/outcome.h"

namespace seedbed {

/// Who a process is: the pid alone says nothing, pids are used again.
struct ProcessIdentity {
  std::int64_t pid = 0;
  std::uint64_t start_ticks = 0;  ///< field 22 of /proc/PID/stat
  std::string boot_id;
  std::string host;

  bool operator==(const ProcessIdentity&) const = default;
};

/// What a shim writes to attempt-N.exit when the main process of an attempt has ended.
struct ExitRecord {
  AttemptId attempt;
  Outcome outcome;
  ProcessIdentity process;
  std::int64_t started_ms = 0;  ///< wall clock, ms since 1970
  std::int64_t ended_ms = 0;
  std::int64_t wall_ms = 0;  ///< monotonic
  std::int64_t cpu_ms = 0;
  std::uint64_t peak_memory = 0;  ///< bytes
  std::uint64_t log_bytes = 0;
  bool stop_asked = false;  ///< a stop was under way when it ended
  std::string fingerprint;  ///< of the order, see there; empty: made by an older shim

  bool operator==(const ExitRecord&) const = default;
};

}  // namespace seedbed
