#pragma once

#include "base/time.h"

namespace seedbed {

/// Port to time. The only one that may ask the machine what time it is.
class Clock {
 public:
  virtual ~Clock() = default;

  /// Wall-clock time, for records and people. May jump either way.
  [[nodiscard]] virtual Timestamp wall() const = 0;

  /// Time that never jumps back, from an arbitrary start; for limits and intervals.
  [[nodiscard]] virtual Milliseconds monotonic() const = 0;
};

}  // namespace seedbed
