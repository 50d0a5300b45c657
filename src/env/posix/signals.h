#pragma once

#include <signal.h>

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

/// Holds signals back from this thread (make it before any other is started), so that none is lost
/// before somebody takes them. Released, or destroyed, it lets those that came arrive.
class HeldSignals {
 public:
  explicit HeldSignals(const std::vector<int>& signals);
  ~HeldSignals() { release(); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  void release();
  /// From now on they stay held: what comes while the process ends is of no use to it.
  void keep() { held_ = false; }

 private:
  sigset_t before_{};
  bool held_ = false;
};

/// From now on the process ignores the signal (HUP and PIPE of the controller).
void ignore_signal(int signal);

}  // namespace seedbed
