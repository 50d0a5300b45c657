#pragma once

#include <deque>
#include <memory>
#include <string>

#include "options.h"

namespace seedbed::simulation {

struct Verdict {
  bool holds = true;
  std::string what;              ///< the violation
  std::deque<std::string> last;  ///< what happened before it
  std::uint64_t trace = 0;       ///< the same for the same seed
  std::uint64_t steps = 0;
  std::int64_t simulated_ms = 0;
  std::uint64_t runs = 0, crashes = 0, power_cuts = 0, trials = 0, attempts = 0;
};

/// One seed, one world: the real engine and controller on a simulated machine, first with faults,
/// then without, when it must finish.
[[nodiscard]] Verdict run_world(std::uint64_t seed, bool aloud);

}  // namespace seedbed::simulation
