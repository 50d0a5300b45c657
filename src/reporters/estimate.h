#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "engine/records.h"

namespace seedbed {

/// What the estimate of the end is made from. Plain numbers, so that a running view and `status`
/// say the same.
struct EstimateBasis {
  std::uint64_t finished = 0;      ///< completed and pruned trials of the present space
  Milliseconds mean{0};            ///< their mean wall time
  std::uint64_t slots = 1;         ///< trials at once
  std::vector<Milliseconds> busy;  ///< time already taken by each running trial
  /// Trials that have not begun, proposed or not; nothing when the space has no known end.
  std::optional<std::uint64_t> waiting;
  std::uint64_t held_back = 0;  ///< of the waiting ones, those that a stopping run leaves
  bool paused = false;
  bool stopping = false;

  /// The run is being stopped; what waits is left. Only of a drain the end can be told.
  void stop(StopMode mode);
};

struct Estimate {
  std::optional<Milliseconds> left;  ///< nothing: cannot be told
  std::string how;  ///< in words: `from 12 finished trials, 4 slots`; or why it cannot be told

  /// `done in about 4m 05s (from 12 finished trials, 4 slots)`, or the reason why not.
  [[nodiscard]] std::string text() const;
};

/// Every trial is expected to take the mean time of the finished ones; a running one the rest of
/// it, at least a tenth. The waiting ones then go to the slot that is free first, as they will. A
/// running trial that has taken more than twice the mean is expected to take as long again, and
/// keeps its slot; where such trials are more than a tenth of the finished ones, the end is not
/// known.
[[nodiscard]] Estimate estimate_end(const EstimateBasis& basis);

}  // namespace seedbed
