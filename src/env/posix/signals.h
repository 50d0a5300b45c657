#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "env/event_loop.h"

namespace seedbed {

/// Signals as events of the loop. Blocks them in the calling thread (make it before any thread is
/// started, so that all inherit that) and restores the mask when destroyed. Several of one kind
/// that come before the loop looks count once.
class SignalSource {
 public:
  /// `signals`: SIGINT, SIGTERM, …; `callback` gets the number, on the loop.
  [[nodiscard]] static Result<std::unique_ptr<SignalSource>> make(
      EventLoop& loop, const std::vector<int>& signals, std::function<void(int)> callback);

  virtual ~SignalSource() = default;
};

/// From now on the process ignores the signal (HUP and PIPE of the controller).
void ignore_signal(int signal);

}  // namespace seedbed
