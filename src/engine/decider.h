#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "engine/engine.h"
#include "engine/table.h"

namespace seedbed {

/// One decision in the making. It reckons ahead: every record it puts down changes a copy of the
/// tally and small views of the trials concerned, so that what follows sees what went before. The
/// state itself stays as it is.
struct Engine::Decider {
  Decider(const Engine& engine, Timestamp now);

  // Inputs (decide_run.cc, decide_attempts.cc, decide_commands.cc).
  void operator()(const RunBegan& input);
  void operator()(const ProposalsMade& input);
  void operator()(const AttemptIsRunning& input);
  void operator()(const AttemptDidNotStart& input);
  void operator()(const AttemptFinished& input);
  void operator()(const AttemptTreeGone& input);
  void operator()(const AttemptIsLost& input);
  void operator()(const AttemptWasUnclaimed& input);
  void operator()(const MetricsArrived& input);
  void operator()(const TimePassed& input);
  void operator()(const InterruptCame& input);
  void operator()(const StudyGone& input);
  void operator()(const HeldElsewhere& input);
  void operator()(const StopAsked& input);
  void operator()(const PauseAsked& input);
  void operator()(const SlotsAsked& input);
  void operator()(const CancelAsked& input);
  void operator()(const RetryAsked& input);
  void operator()(const PointsAdded& input);
  void operator()(const NoteCame& input);

  /// After the input: limits, halt rule, starts, the walk, the end, the alarm clock.
  void settle();

  Decision out;

 private:
  struct TrialView {
    TrialState state = TrialState::waiting;
    bool in_space = true;
    bool metric_missing = false;
    std::uint32_t open = 0;
    std::uint32_t attempts = 0;
    Timestamp not_before;
    StartQueue::Key key;
  };
  struct AttemptView {
    bool started = false, stopping = false, ended = false, released = false;
  };

  // Reckoning ahead (decider.cc): each puts the record down and does to the views what
  // StudyState::apply will do to the state.
  void put(RunStarted record);
  void put(SpaceSet record);
  void put(RunStopping record);
  void put(RunEnded record);
  void put(TrialProposed record);
  void put(TrialKept record);
  void put(WalkMoved record);
  void put(SpaceWalked record);
  void put(AttemptPlanned record);
  void put(AttemptStarted record);
  void put(AttemptStopping record);
  void put(AttemptEnded record);
  void put(AllocationReleased record);
  void put(TrialRequeued record);
  void put(TrialFinished record);
  void put(TrialReopened record);
  void put(PauseSet record);
  void put(WidthSet record);
  void put(ResourcesHeld record);
  void hold(const Held& held);
  template <typename T>
  void push(T record) {
    out.records.emplace_back(std::move(record));
  }
  void act(Action action);

  [[nodiscard]] TrialView look(TrialNumber trial) const;
  TrialView& view(TrialNumber trial);
  AttemptView& attempt_view(AttemptId id);
  void recount(TrialView& view, const TrialView& after);
  void close_if_over(AttemptId id);
  Placement& placement();
  /// The trial of that identity, of those made in this decision too; 0: none.
  [[nodiscard]] TrialNumber find(const std::string& identity) const;
  [[nodiscard]] TrialNumber next_trial() const;
  [[nodiscard]] bool leads() const { return tally_.active && !engine_.config_.records_only; }

  // News of attempts (decide_attempts.cc).
  [[nodiscard]] Reaction react(AttemptId id, News news) const;
  void end(AttemptId id, Outcome outcome, const Usage& usage);
  void release(AttemptId id);
  void settle_fate(AttemptId id, Ending ending, const Outcome& outcome,
                   const AttemptFinished* finished);
  void complete(TrialNumber trial, const AttemptFinished* finished);
  void fail_or_retry(TrialNumber trial, OutcomeKind kind, std::string reason);
  [[nodiscard]] bool is_result_gone(const AttemptFinished& input) const;
  void lose_result(const AttemptFinished& input);
  void mind_start_failure(AttemptId id, const std::string& detail);
  void mind_command_not_found(AttemptId id, const Outcome& outcome);
  void lose(TrialNumber trial, const std::string& detail);
  void finish_late(const AttemptFinished& input);
  void judge(const MetricsReported& reported);
  void ask_to_stop(AttemptId id, StopCause cause, std::string reason);
  void repeat_stop(AttemptId id);

  // The run (decide_run.cc).
  void wind_down(StopMode mode, int exit_code, std::string reason, StopCause cause);
  void take_point(const ProposalsMade::One& one);
  void propose(const Point& point, std::string identity, std::uint64_t proposal, bool added);
  void reopen(TrialNumber trial, std::string why);

  // Settling (settle.cc).
  void mind_limits();
  void start_trials();
  void walk_on();
  void end_run();
  void set_alarm();
  [[nodiscard]] std::uint64_t points_wanted() const;
  [[nodiscard]] bool limit_reached() const;
  [[nodiscard]] std::string natural_end(int& exit_code) const;

  const Engine& engine_;
  const StudyState& state_;
  Timestamp now_;
  Tally tally_;  // as it will be
  std::map<TrialNumber, TrialView> trials_;
  std::map<AttemptId, AttemptView> attempts_;
  std::unordered_map<std::string, TrialNumber> proposed_;  // look-up only
  std::optional<Placement> placement_;
  std::optional<std::string> new_command_;  // of a SpaceSet in this decision
  bool space_changed_ = false;              // the queue is of the old space
  bool walk_unsaid_ = false;                // tally_.walk is not in a record yet
  bool wake_always_ = false;                // the alarm is due or was lost
};

}  // namespace seedbed
