#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "base/time.h"

namespace seedbed::simulation {

/// Simulated time and everything that is going to happen in it, for the machine and for the
/// controller that may die on it. Events at one time happen in the order in which they were made.
class Scheduler {
 public:
  enum class Owner { world, controller };
  using Id = std::uint64_t;
  using Callback = std::function<void()>;

  Id after(std::int64_t delay_ms, Owner owner, Callback callback) {
    const Id id = ++last_;
    const std::pair<std::int64_t, Id> at{now_ + (delay_ms > 0 ? delay_ms : 0), id};
    queue_.emplace(at, Event{owner, std::move(callback)});
    times_.emplace(id, at.first);
    return id;
  }

  void cancel(Id id) {
    const auto found = times_.find(id);
    if (found == times_.end()) return;
    queue_.erase({found->second, id});
    times_.erase(found);
  }

  /// The controller's process is gone, and with it all that it had in mind.
  void drop_controller() {
    for (auto event = queue_.begin(); event != queue_.end();) {
      if (event->second.owner != Owner::controller) {
        ++event;
        continue;
      }
      times_.erase(event->first.second);
      event = queue_.erase(event);
    }
  }

  /// Lets the next thing happen. False: nothing will ever happen again.
  bool step() {
    if (queue_.empty()) return false;
    const auto next = queue_.begin();
    now_ = next->first.first;
    Callback callback = std::move(next->second.callback);
    times_.erase(next->first.second);
    queue_.erase(next);
    callback();
    return true;
  }

  [[nodiscard]] std::int64_t now() const { return now_; }

 private:
  struct Event {
    Owner owner;
    Callback callback;
  };

  std::int64_t now_ = 0;
  Id last_ = 0;
  std::map<std::pair<std::int64_t, Id>, Event> queue_;
  std::map<Id, std::int64_t> times_;
};

}  // namespace seedbed::simulation
