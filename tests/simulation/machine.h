#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "launchers/launcher.h"
#include "options.h"
#include "scheduler.h"

namespace seedbed::simulation {

/// The machine: shims, the users' programs, and the files that they leave. It lives on when a
/// controller dies. It knows what really happens, and so checks by itself that no core and no
/// device serves two trees and that no trial runs twice at a time.
class Machine {
 public:
  Machine(Scheduler& scheduler, Random& random, Options& options)
      : scheduler_(scheduler), random_(random), options_(options) {}

  /// A controller comes, or goes (null).
  void connect(LaunchListener* listener);

  // What a launcher does.
  void adopt(const std::vector<OpenAttempt>& open);
  void start(AttemptId id, const Allocation& allocation, const Point& point);
  void stop(AttemptId id);
  void kill(AttemptId id);
  void freeze(AttemptId id, bool frozen);
  void leave();

  // Another study on the machine: it holds what it likes of what none of ours has.
  void neighbour_acts();
  void neighbour_leaves() { neighbour_ = {}; }
  [[nodiscard]] const Held& neighbour() const { return neighbour_; }

  // Faults.
  void kill_a_shim();
  void power_cut();

  struct Written {
    std::int64_t at_ms = 0;
    double value = 0;
  };
  /// The metric values that an attempt has written so far, as a reader of its log sees them.
  [[nodiscard]] std::vector<Written> written(AttemptId id) const;

  [[nodiscard]] std::size_t alive() const { return trees_.size(); }
  /// How an attempt's main process truly ended, when it has.
  [[nodiscard]] std::optional<Outcome> true_end(AttemptId id) const;
  /// Its program has begun at some time, and its log has survived.
  [[nodiscard]] bool began(AttemptId id) const;
  /// It exited 0 unasked, and its record lies there for all to see.
  [[nodiscard]] bool succeeded(AttemptId id) const;

 private:
  struct Tree {
    Allocation allocation;
    std::uint64_t serial = 0;  // events of a former life of this entry are void
    bool main_lives = true;
    bool asked = false;
    bool frozen = false;
    bool overdue = false;  // its end came while it was frozen
    Outcome end;
  };
  struct Log {
    std::vector<Written> points;
    std::int64_t began_ms = 0;
    std::optional<std::int64_t> ended_ms;
    std::optional<Outcome> end;
    bool asked = false;
  };
  struct Record {
    ExitRecord record;
    std::int64_t written_ms = 0;
  };

  void tell(AttemptId id, const std::function<void(LaunchListener&)>& news);
  void deliver_start(AttemptId id, const Allocation& allocation, const Point& point,
                     std::uint64_t generation);
  void begin_program(AttemptId id, const Allocation& allocation, const Point& point);
  void plan_life(AttemptId id, Tree& tree, const Point& point);
  void check_nothing_shared(AttemptId id, const Allocation& allocation) const;
  void end_main_at(AttemptId id, std::int64_t delay_ms, Outcome end);
  void main_ended(AttemptId id);
  void tree_gone(AttemptId id, bool lost);
  void leave_record(AttemptId id, const Tree& tree);
  [[nodiscard]] bool chance(std::uint64_t percent) { return random_.below(100) < percent; }
  [[nodiscard]] std::int64_t between(std::int64_t low, std::int64_t high) {
    return low +
           static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(high - low + 1)));
  }

  Scheduler& scheduler_;
  Random& random_;
  Options& options_;
  LaunchListener* listener_ = nullptr;
  std::uint64_t generation_ = 0;  // of the controller
  std::uint64_t serial_ = 0;
  std::uint64_t boot_ = 1;
  std::set<AttemptId> subscribed_;             // whose news the present controller gets
  std::map<AttemptId, std::int64_t> told_;     // when the latest news of it arrives
  std::set<AttemptId> claims_;                 // attempt-N.log exists
  std::map<AttemptId, std::int64_t> claimed_;  // when
  std::map<AttemptId, Record> records_;        // attempt-N.exit
  std::set<AttemptId> stop_at_start_;
  std::map<AttemptId, Allocation> promised_;  // orders on their way, with the locks in them
  Held neighbour_;
  std::map<AttemptId, Tree> trees_;
  std::map<AttemptId, Log> logs_;
};

}  // namespace seedbed::simulation
