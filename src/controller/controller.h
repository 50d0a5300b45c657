#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "controller/ports.h"
#include "engine/engine.h"
#include "env/clock.h"
#include "env/event_loop.h"
#include "reporters/reporter.h"
#include "store/store.h"

namespace seedbed {

/// The one loop that runs a study: turns the world into inputs, lets the engine decide all that
/// wait, commits its records in one transaction, and only then performs the actions. One thread;
/// everything here is called on the loop.
class Controller : public LaunchListener {
 public:
  struct Ports {
    EventLoop& loop;
    Clock& clock;
    Store& store;
    AttemptSetup& setup;
    MetricFeed& metrics;
    ResourceGate& gate;
    ProposalSource& proposals;
    Log& log;
    std::vector<Reporter*> reporters;
  };

  /// `engine` holds the applied records of the study already.
  Controller(Ports ports, Engine& engine);

  /// The launcher needs its listener first; set before `begin`.
  void use_launcher(Launcher& launcher) { launcher_ = &launcher; }

  /// Asks the launcher about open attempts and gives the engine its first input; returns at once.
  /// The caller then runs the loop, which stops by itself at the end of the run.
  void begin(RunBegan began);

  /// Takes one more input (a command, a signal). `done` is called after its records were committed
  /// and its actions performed.
  void submit(Input input, std::function<void()> done = {});

  /// After the loop has stopped: the exit code, and why when it was an error of ours.
  [[nodiscard]] int exit_code() const { return exit_code_; }
  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }
  [[nodiscard]] const StudyState& state() const { return engine_.state(); }
  [[nodiscard]] const Engine& engine() const { return engine_; }

  /// What the state already holds and the disk has no room for yet. Empty whenever the loop waits
  /// for anything else: nothing was done on the strength of it.
  [[nodiscard]] const std::vector<Entry>& uncommitted() const { return turn_.entries; }

  // LaunchListener
  void attempt_running(AttemptId attempt, const ProcessIdentity& process) override;
  void attempt_did_not_start(AttemptId attempt, const std::string& detail) override;
  void attempt_ended(const ExitRecord& record) override;
  void attempt_tree_gone(AttemptId attempt) override;
  void attempt_lost(AttemptId attempt, const std::string& detail) override;
  void attempt_unclaimed(AttemptId attempt) override;
  void attempt_note(AttemptId attempt, const std::string& text) override;

 private:
  struct Pending {
    Input input;
    std::function<void()> done;
  };

  /// What the inputs of one turn came to. Its records are applied already, so that the next input
  /// is decided on them; its actions wait until they are committed.
  struct Turn {
    std::vector<Entry> entries;
    std::vector<Action> actions;
    std::vector<std::function<void()>> done;
    std::optional<int> interrupt;  ///< the signal, when one is among them
    [[nodiscard]] bool empty() const { return entries.empty() && actions.empty() && done.empty(); }
  };
  struct Performer;

  void schedule_work();
  void work();
  void decide_waiting();
  [[nodiscard]] bool commit_turn();
  void carry_out(const Turn& turn);
  void perform(const Action& action);
  void start(const StartAttempt& action);
  void postpone(const StartAttempt& action, const Error& why);
  void start_postponed();
  [[nodiscard]] bool withdraw(AttemptId attempt);
  /// What is lent to open attempts.
  [[nodiscard]] Held ours() const;
  void look_around();
  void follow_adopted(const TrialStatus& trial, AttemptId attempt);
  [[nodiscard]] Result<std::vector<SourcePosition>> positions_before(AttemptId attempt) const;
  void note(NoteAdded note);
  /// Reads the attempt's metrics to the end and submits them.
  MetricFeed::Rest finish_metrics(AttemptId attempt);
  void poll_metrics();
  void sync_soon();
  void tick();
  void wake_at(Timestamp at);
  void end(int exit_code, bool leave);
  void leave_unrecorded(int signal);
  void fail_run(Error error);

  Ports ports_;
  Engine& engine_;
  Launcher* launcher_ = nullptr;
  std::deque<Pending> inputs_;
  Turn turn_;  ///< not committed yet; outlives a call only while the disk is full
  std::map<AttemptId, std::string> details_;     ///< of attempts handed to the launcher
  std::map<AttemptId, StartAttempt> postponed_;  ///< planned, but the machine refuses for now
  bool work_scheduled_ = false;
  bool ended_ = false;
  bool unsynced_ = false;
  bool syncing_ = false;
  bool disk_full_told_ = false;
  std::optional<EventLoop::TimerId> wake_timer_;
  int exit_code_ = 0;
  std::optional<Error> failure_;
};

}  // namespace seedbed
