#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "protocol/message.h"
#include "shim/held_locks.h"
#include "shim/log_keeper.h"
#include "shim/memory_kills.h"
#include "shim/rank_file.h"

namespace seedbed::shim {

/// One attempt, from its claim until its tree is gone. Time is an argument (monotonic ms); news go
/// to `tell` in their order.
///
/// | phase   | what is true                                  | leaves it            |
/// |---------|-----------------------------------------------|----------------------|
/// | running | main process runs, nobody asked it to end      | it ends; a stop      |
/// | ending  | asked to end: TERM, later KILL                 | it ends              |
/// | rest    | main has ended, the record is written, descendants live | the last one ends |
/// | gone    | no process is left                             | never                |
class Attempt {
 public:
  using Tell = std::function<void(const Message&)>;

  Attempt(StartOrder order, HeldLocks locks, const ProcessIdentity& shim, MemoryKills& kills,
          Tell tell);
  ~Attempt();
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  /// Claims the log, starts the program. Tells running, did-not-start or claim-refused; after the
  /// last two it is gone.
  void start(std::int64_t now);

  void stop(bool pruning, std::int64_t now);
  void kill(std::int64_t now);

  /// Stops the whole tree where it is, or lets it go on. Its limits wait meanwhile; a stop or a
  /// kill ends the wait.
  void freeze(bool frozen, std::int64_t now);

  /// A child of the shim was reaped; it may be the main process or an orphan of its tree.
  void child_ended(pid_t pid, int status, const rusage& usage, std::int64_t now);
  void no_children_left();

  /// Does what is due and returns when to come again, at the latest.
  [[nodiscard]] std::int64_t tick(std::int64_t now);

  /// Tells everything about this attempt once more, to a new controller.
  void tell_again() const;

  [[nodiscard]] AttemptId id() const { return order_.attempt; }
  [[nodiscard]] bool gone() const { return phase_ == Phase::gone; }
  /// Gone, but its exit record could not be written yet (a full disk).
  [[nodiscard]] bool record_missing() const { return record_missing_; }
  [[nodiscard]] ShimState state() const;
  [[nodiscard]] pid_t main_pid() const { return pid_; }
  [[nodiscard]] std::uint64_t start_ticks() const { return process_.start_ticks; }

 private:
  enum class Phase { running, ending, rest, gone };
  enum class Cause { none, stopped, pruned, time_limit, silence_limit };

  void did_not_start(std::string why);
  void begin_ending(Cause cause, std::uint64_t grace_ms, std::int64_t now);
  void ask_rest();
  void thaw(std::int64_t now);
  void kill_all(std::int64_t now);
  void main_ended(int status, std::int64_t now);
  [[nodiscard]] Outcome outcome_of(int status) const;
  [[nodiscard]] RankFacts rank_facts() const;
  void write_record(std::int64_t now);
  void look_for_life(std::int64_t now);
  void note(std::string text) const;

  StartOrder order_;
  HeldLocks locks_;          ///< until it is gone
  ProcessIdentity process_;  ///< of the main process; boot and host are the shim's
  MemoryKills& kills_;
  Tell tell_;
  Phase phase_ = Phase::running;
  Cause cause_ = Cause::none;
  pid_t pid_ = 0;
  int log_ = -1;
  int folder_ = -1;  ///< the trial's
  std::optional<LogKeeper> keeper_;
  ExitRecord record_;
  bool has_record_ = false;
  bool record_missing_ = false;
  std::string start_failure_;
  std::int64_t started_ = 0;    ///< monotonic
  std::int64_t frozen_at_ = 0;  ///< 0: not frozen
  std::int64_t frozen_ms_ = 0;  ///< in all, until now
  std::int64_t cpu_us_ = 0;
  std::uint64_t peak_kb_ = 0;

  // Ending
  std::int64_t rest_at_ = 0;  ///< when the rest is asked too; 0: done or not ending
  std::int64_t kill_at_ = 0;  ///< when KILL comes (again); 0: not ending
  std::int64_t kill_pause_ = 0;

  // Signs of life
  struct Sign {
    std::uint64_t inode = 0;
    std::int64_t size = -1;
    std::int64_t changed_ns = 0;
    bool operator==(const Sign&) const = default;
  };
  [[nodiscard]] static Sign sign_of(const std::string& path);
  std::uint64_t log_size_ = 0;
  std::vector<Sign> signs_;
  std::int64_t last_life_ = 0;
  std::int64_t look_at_ = 0;
  std::int64_t retry_record_at_ = 0;
};

}  // namespace seedbed::shim
