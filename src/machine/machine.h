#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "machine/cgroup.h"
#include "resources/resources.h"

// What is here and how much of it this process may use.

namespace seedbed {

/// Where the machine is read from; the default is the machine itself. Tests describe others.
struct MachineSource {
  std::string root;                         ///< put in front of /proc and /sys
  std::string synthetic;                    ///< hwloc's synthetic topology: `package:2 core:4 pu:2`
  std::optional<std::vector<int>> allowed;  ///< CPU numbers, in place of sched_getaffinity
};

/// The machine as this process may use it.
struct Machine {
  /// The CPUs that affinity allows, in the order in which they are lent: one hardware thread of
  /// every physical core first, then the second threads; packages and cores in their order.
  std::vector<Core> allowed;
  int seen = 1;           ///< CPUs (hardware threads) of the machine
  int physical_seen = 1;  ///< physical cores of the machine
  CgroupLimits limits;
  std::uint64_t memory_total = 0;      ///< bytes; 0: unknown
  std::uint64_t memory_available = 0;  ///< bytes at the time of reading; 0: unknown

  /// CPUs to lend: the smaller of what affinity allows and the quota rounded down, at least 1.
  [[nodiscard]] int usable() const;
  /// The quota, not affinity, is what limits `usable`.
  [[nodiscard]] bool limited_by_quota() const;
  /// Bytes to lend: the smaller of the memory and its cgroup limit; 0: unknown.
  [[nodiscard]] std::uint64_t memory() const;
  /// `64 cores seen, 4 usable (quota)`; `2 cores`.
  [[nodiscard]] std::string describe() const;
  /// What the user should know before starting: `only core 0 of 4 allowed ...`.
  [[nodiscard]] std::vector<std::string> warnings() const;
};

/// Reads the machine. Never fails: what cannot be read is unknown, and one core is always there.
[[nodiscard]] Machine read_machine(const MachineSource& source = {});

struct Lending {
  Inventory inventory;
  std::vector<std::string> warnings;  ///< told once at the start
};

/// What to lend to trials that each ask for `request`. `slots` empty: as many as fit, at least one.
/// A larger number than fits shares cores: nothing is pinned, with a warning. Where a quota rather
/// than affinity sets the width nothing is pinned either: a quota names no cores, and the pinned
/// ones would be everybody's first ones. Devices and named resources are the caller's to add.
[[nodiscard]] Lending make_lending(const Machine& machine, const Request& request,
                                   std::optional<std::uint32_t> slots);

}  // namespace seedbed
