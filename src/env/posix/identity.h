#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/proc_stat.h"

// Who a process is. A pid alone says nothing, since pids are used again: with the start time and
// the boot it names one process for ever.

namespace seedbed {

[[nodiscard]] const std::string& host_name();

/// Changes at each boot of the kernel; empty where the kernel does not tell.
[[nodiscard]] const std::string& boot_id();

/// Nothing when there is no such process (or it cannot be read).
[[nodiscard]] std::optional<ProcStat> read_proc_stat(std::int64_t pid);

/// Whether that very process of this boot still runs. A zombie does not.
[[nodiscard]] bool is_running(std::int64_t pid, std::uint64_t start_ticks, const std::string& boot);

}  // namespace seedbed
