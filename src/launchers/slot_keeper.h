#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/log.h"
#include "env/event_loop.h"
#include "launchers/launcher.h"
#include "launchers/shim_link.h"

namespace seedbed {

/// What all slots of a local launcher share.
struct LocalContext {
  EventLoop& loop;
  LaunchListener& listener;
  Log& log;
  std::string study_dir;
  std::string study_hash;
  std::string shim;
  std::string runtime_dir;
  bool finishing = false;
};

/// One slot as the controller sees it: its shim (none, being found, connected, dying), the attempt
/// that has the slot, and orders that wait for it. All news about an attempt go out from here, each
/// once, also when a shim repeats them to a controller that came back.
class SlotKeeper {
 public:
  SlotKeeper(LocalContext& context, SlotNumber slot);
  ~SlotKeeper();
  SlotKeeper(const SlotKeeper&) = delete;
  SlotKeeper& operator=(const SlotKeeper&) = delete;

  void adopt(const OpenAttempt& open);
  void start(const LaunchOrder& order);
  /// Whether the attempt is here (so that it was meant).
  bool stop(AttemptId attempt, bool pruning);
  bool kill(AttemptId attempt);
  bool freeze(AttemptId attempt, bool frozen);
  void finish();
  void leave();

 private:
  /// The attempt that has the slot.
  struct Holding {
    AttemptId attempt;
    std::string trial_dir;
    bool adopted = false;
    bool started = false;  ///< running was told, now or by an earlier controller
    bool running_told = false;
    bool ended_told = false;
    bool resolving = false;        ///< no shim has it: its record and its processes are looked for
    std::string elsewhere = {};    ///< the other host that ran it; empty: this one
    std::string fingerprint = {};  ///< of the order, when it was given one
  };
  /// What was asked for while no shim could be told.
  struct Wish {
    bool stop = false;
    bool kill = false;
    bool pruning = false;
    std::optional<bool> frozen;
  };

  void go_on();
  void give_next_order();
  void take_next_open();

  // The shim: found by its slot file, or started; lost when its socket closes.
  void reach(const SlotFile& file);
  void start_process();
  void use(Descriptor socket);
  void watch_process(bool reconnect);
  void closed();
  void process_died();
  [[nodiscard]] bool shim_in_between() const { return retry_timer_ || pidfd_; }

  void on_message(const Message& message);
  void on_hello(const ShimHello& hello);
  void claim_refused();
  void pass_on_wishes();

  // An attempt without a shim.
  void resolve();
  void clear_remains(std::string why_lost, int look = 0);
  void look_for_remains(int look, std::function<void(std::size_t left)> found);
  [[nodiscard]] bool void_attempt(const Holding& holding) const;
  [[nodiscard]] std::optional<ExitRecord> read_exit(const Holding& holding) const;

  void refuse(AttemptId attempt, std::string why);
  void free_slot();
  [[nodiscard]] std::string token(AttemptId attempt) const;
  [[nodiscard]] StartOrder order_for_shim(const LaunchOrder& order) const;
  void later(std::function<void()> callback);

  LocalContext& context_;
  SlotNumber slot_;
  std::string socket_path_;
  std::unique_ptr<ShimLink> link_;
  bool hello_awaited_ = false;
  bool looked_for_shim_ = false;
  pid_t shim_pid_ = 0;            ///< 0: none known
  bool shim_is_child_ = false;    ///< else it was started by an earlier controller
  std::uint64_t shim_ticks_ = 0;  ///< identity of one that is not our child
  std::string shim_boot_;
  Descriptor pidfd_;  ///< watched while we wait for its death
  std::optional<EventLoop::TimerId> retry_timer_;
  std::optional<EventLoop::TimerId> remains_timer_;
  int tries_ = 0;         ///< to reach one that lives
  int false_starts_ = 0;  ///< in a row
  std::optional<Holding> holding_;
  /// What the shim has of a time that the record does not know of. Until its news are over no order
  /// is given: after a loss of records it may have the same number.
  std::optional<AttemptId> stranger_;
  std::deque<LaunchOrder> orders_;
  std::deque<OpenAttempt> open_;
  std::map<AttemptId, Wish> wishes_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace seedbed
