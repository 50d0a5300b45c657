#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// Limits of control groups, versions 1 and 2, mixed or alone. A limit counts wherever it stands
// between our own group and the top of the hierarchy; the smallest one holds. Whatever the files
// hold (nothing, words, a folder, a pipe), the worst outcome is "no limit known".

namespace seedbed {

struct CgroupLimits {
  std::optional<double> cpu_quota;      ///< cores' worth of CPU time
  std::string cpu_quota_file;           ///< where the smallest one stands
  std::optional<std::uint64_t> memory;  ///< bytes
  std::string memory_file;
};

/// Reads the limits of this process; `root` is put in front of /proc and /sys (empty: this
/// machine).
[[nodiscard]] CgroupLimits read_cgroup_limits(const std::string& root);

/// `cpu.max`: `max 100000` is no limit, `150000 100000` is 1.5 cores.
[[nodiscard]] std::optional<double> parse_cpu_max(std::string_view text);
/// `cpu.cfs_quota_us` and `cpu.cfs_period_us`; -1 is no limit.
[[nodiscard]] std::optional<double> parse_cfs(std::string_view quota, std::string_view period);
/// `memory.max`, `memory.limit_in_bytes`; `max` and the kernel's "unlimited" number are no limit.
[[nodiscard]] std::optional<std::uint64_t> parse_memory_limit(std::string_view text);

/// The first 64 KiB of a file; nothing when it is not a readable regular file. Never blocks.
[[nodiscard]] std::optional<std::string> read_small_file(const std::string& path);

}  // namespace seedbed
