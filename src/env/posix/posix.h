#pragma once

#include <memory>

#include "env/clock.h"
#include "env/event_loop.h"

namespace seedbed {

/// The machine's own clocks.
[[nodiscard]] std::unique_ptr<Clock> make_posix_clock();

/// The time of day when it is made, going on evenly from there: whoever sets the machine's clock
/// moves no limit, wait or duration of a run.
[[nodiscard]] std::unique_ptr<Clock> make_steady_clock();

/// The real loop: epoll and timers behind Asio; a few worker threads, started when first needed,
/// in which every signal is blocked. Destroying it waits for background work under way and drops
/// callbacks that have not run.
[[nodiscard]] std::unique_ptr<EventLoop> make_posix_event_loop();

}  // namespace seedbed
