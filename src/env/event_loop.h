#pragma once

#include <cstdint>
#include <functional>

#include "base/time.h"

namespace seedbed {

/// Port to the one loop of the controller. All callbacks run on the loop's thread, one at a time,
/// and never from inside the call that registered them.
class EventLoop {
 public:
  using Callback = std::function<void()>;
  using TimerId = std::uint64_t;

  virtual ~EventLoop() = default;

  /// Runs `callback` soon on the loop. The only call that is allowed from other threads.
  virtual void post(Callback callback) = 0;

  /// Runs `callback` once after `delay` of monotonic time (a clock set back delays nothing).
  virtual TimerId call_after(Milliseconds delay, Callback callback) = 0;
  virtual void cancel(TimerId timer) = 0;

  /// Runs `work` on a worker thread, then `done` on the loop. For what may block: a sync, a
  /// sampler's fit, a cluster's command.
  virtual void run_in_background(Callback work, Callback done) = 0;

  /// Calls `callback` on the loop whenever the descriptor is readable (level-triggered), until
  /// `unwatch`. The descriptor stays the caller's; unwatch before closing it.
  virtual void watch_readable(int descriptor, Callback callback) = 0;
  virtual void unwatch(int descriptor) = 0;

  /// Runs until `stop`.
  virtual void run() = 0;
  virtual void stop() = 0;
};

}  // namespace seedbed
