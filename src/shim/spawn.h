#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "protocol/message.h"

namespace seedbed::shim {

/// How far a start came.
struct Spawned {
  pid_t pid = 0;  ///< 0: it did not start; `why` says it
  std::uint64_t start_ticks = 0;
  std::string why;     ///< one line for people: place, what is wrong, remedy
  int bind_error = 0;  ///< errno: it runs, but could not be bound to its cores
};

/// Starts the order's program: new session, killed when the shim dies, cores bound, standard input
/// at its end, output to `log`, no other descriptors, default signals, in its working folder. Costs
/// no copy of page tables (the child shares our memory until it has its program). The program is
/// sought along the PATH of the order's environment, never in a shell.
[[nodiscard]] Spawned spawn(const StartOrder& order, int log);

}  // namespace seedbed::shim
