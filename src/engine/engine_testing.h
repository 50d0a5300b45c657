#pragma once

// For tests: an engine with its inputs applied at once, and decisions as one line of text each,
// `records | actions`, so that a test says exactly what comes out and nothing else.

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "engine/engine.h"

namespace seedbed::testing {

inline Point point_of(std::int64_t value, const std::string& name = "x") {
  return Point{{{name, Value::integer(value)}}};
}

struct RecordText {
  std::string operator()(const SpaceSet& r) const { return fmt::format("space {}", r.revision); }
  std::string operator()(const RunStarted& r) const { return fmt::format("run {}", r.run); }
  std::string operator()(const RunStopping& r) const {
    return fmt::format("run_stopping {} {}", stop_mode_word(r.mode), r.exit_code);
  }
  std::string operator()(const RunEnded& r) const {
    return fmt::format("run_ended {}", r.exit_code);
  }
  std::string operator()(const TrialProposed& r) const {
    return fmt::format("proposed {}{}", r.trial, r.added ? " added" : "");
  }
  std::string operator()(const TrialKept& r) const {
    return fmt::format("kept {}{}", r.trial, r.added ? " added" : "");
  }
  std::string operator()(const WalkMoved& r) const {
    return fmt::format("walk {}+{} of {}", r.next, r.asked, r.distinct);
  }
  std::string operator()(const SpaceWalked& r) const { return fmt::format("walked {}", r.trials); }
  std::string operator()(const AttemptPlanned& r) const {
    return fmt::format("planned {}@{}", r.attempt.text(), r.allocation.slot);
  }
  std::string operator()(const AttemptStarted& r) const { return "started " + r.attempt.text(); }
  std::string operator()(const AttemptStopping& r) const {
    return fmt::format("stopping {} {}", r.attempt.text(), stop_cause_word(r.cause));
  }
  std::string operator()(const AttemptEnded& r) const {
    return fmt::format("ended {} {}", r.attempt.text(), outcome_word(r.outcome.kind));
  }
  std::string operator()(const AllocationReleased& r) const {
    return "released " + r.attempt.text();
  }
  std::string operator()(const TrialRequeued& r) const {
    return fmt::format("requeued {} {}", r.trial, requeue_cause_word(r.cause));
  }
  std::string operator()(const TrialFinished& r) const {
    return fmt::format("finished {} {}{}", r.trial, trial_state_word(r.state),
                       r.metric_missing ? " metric_missing" : "");
  }
  std::string operator()(const TrialReopened& r) const {
    return fmt::format("reopened {}", r.trial);
  }
  std::string operator()(const MetricsReported& r) const {
    return fmt::format("metrics {} x{}", r.attempt.text(), r.points.size());
  }
  std::string operator()(const PauseSet& r) const {
    return !r.paused ? "resumed" : r.frozen ? "paused and frozen" : "paused";
  }
  std::string operator()(const WidthSet& r) const { return fmt::format("width {}", r.slots); }
  std::string operator()(const ResourcesHeld& r) const {
    std::string text = "held";
    for (const int core : r.held.cores) text += fmt::format(" {}", core);
    for (const std::string& device : r.held.devices) text += " " + device;
    return text;
  }
  std::string operator()(const NoteAdded& r) const { return "note " + r.kind; }
};

struct ActionText {
  std::string operator()(const AskSampler& a) const {
    return fmt::format("ask {}+{}", a.from, a.count);
  }
  std::string operator()(const StartAttempt& a) const { return "start " + a.attempt.text(); }
  std::string operator()(const StopAttempt& a) const {
    return fmt::format("stop {} {}", a.attempt.text(), stop_cause_word(a.cause));
  }
  std::string operator()(const KillAttempt& a) const { return "kill " + a.attempt.text(); }
  std::string operator()(const FreezeAttempt& a) const {
    return (a.frozen ? "freeze " : "thaw ") + a.attempt.text();
  }
  std::string operator()(const WakeAt& a) const { return fmt::format("wake {}", a.at.ms); }
  std::string operator()(const EndRun& a) const { return fmt::format("end {}", a.exit_code); }
  std::string operator()(const LeaveNow& a) const { return fmt::format("leave {}", a.exit_code); }
};

inline std::string text_of(const Decision& decision) {
  std::string text;
  for (const Record& record : decision.records) {
    text += (text.empty() ? "" : ", ") + std::visit(RecordText{}, record);
  }
  std::string actions;
  for (const Action& action : decision.actions) {
    actions += (actions.empty() ? "" : ", ") + std::visit(ActionText{}, action);
  }
  return actions.empty() ? text : text + " | " + actions;
}

inline EngineConfig small_config(std::uint32_t slots = 2) {
  EngineConfig config;
  for (int i = 0; i < static_cast<int>(slots); ++i) config.inventory.cores.push_back({i, i, 0, 0});
  config.inventory.slots = slots;
  config.varying = {"x"};
  return config;
}

/// What the tally should say about trials and attempts, counted anew.
inline bool tally_is_true(const StudyState& state) {
  Tally counted;
  for (const auto& [number, trial] : state.trials()) {
    std::uint32_t open = 0;
    for (const AttemptStatus& attempt : trial.attempts) {
      const bool over = attempt.phase == AttemptPhase::ended && attempt.released;
      if (over) continue;
      ++open;
      if (!attempt.started && attempt.phase != AttemptPhase::ended) ++counted.unstarted;
    }
    if (open != trial.open) return false;
    counted.open += open;
    if (!state.in_space(trial)) continue;
    ++counted.trials[static_cast<std::size_t>(trial.state)];
    if (trial.metric_missing) ++counted.metric_missing;
  }
  const Tally& kept = state.tally();
  return kept.trials == counted.trials && kept.metric_missing == counted.metric_missing &&
         kept.open == counted.open && kept.unstarted == counted.unstarted &&
         state.open_attempts().size() == counted.open;
}

/// An engine whose decisions are applied at once.
class Bench {
 public:
  explicit Bench(EngineConfig config = small_config(),
                 std::vector<std::unique_ptr<Pruner>> pruners = {})
      : config_(config), engine_(std::make_unique<Engine>(config, std::move(pruners))) {}

  std::string give(const Input& input) {
    last = engine_->decide(Timestamp{now}, input);
    const Decision again = engine_->decide(Timestamp{now}, input);
    SEEDBED_CHECK(again.records == last.records && text_of(again) == text_of(last));
    for (const Record& record : last.records) {
      entries.push_back({Timestamp{now}, record});
      engine_->apply(entries.back());
    }
    SEEDBED_CHECK(tally_is_true(engine_->state()));
    return text_of(last);
  }

  /// A controller that died: a new engine with the same records.
  void restart() { restart(config_); }
  void restart(EngineConfig config) {
    config_ = config;
    engine_ = std::make_unique<Engine>(config, std::vector<std::unique_ptr<Pruner>>{});
    for (const Entry& entry : entries) engine_->apply(entry);
  }

  std::string begin(bool new_space = true, bool retry_failed = false) {
    RunBegan began;
    if (new_space) {
      began.space.emplace();
      began.space->command_identity = command;
      began.space->metric = config_.objective.metric;
    }
    began.retry_failed = retry_failed;
    return give(began);
  }

  /// The answer to the present question: points x = from … below `size`.
  std::string answer(std::uint64_t size) {
    const WalkMoved& walk = state().tally().walk;
    ProposalsMade made;
    made.from = walk.next;
    std::uint64_t number = walk.next;
    for (; number < size && number < walk.next + walk.asked; ++number) {
      made.points.push_back({number, point_of(static_cast<std::int64_t>(number))});
    }
    made.next = number;
    made.exhausted = number >= size;
    return give(made);
  }

  std::string runs(AttemptId id) {
    AttemptIsRunning input;
    input.started.attempt = id;
    input.started.pid = 100;
    return give(input);
  }
  std::string ends(AttemptId id, Outcome outcome = {}, std::int64_t wall_ms = 0) {
    AttemptFinished input;
    input.attempt = id;
    input.outcome = outcome;
    input.usage.wall_ms = wall_ms;
    return give(input);
  }
  std::string exits(AttemptId id, int code) { return ends(id, {OutcomeKind::exited, code, ""}); }
  std::string gone(AttemptId id) { return give(AttemptTreeGone{id}); }
  std::string fails_to_start(AttemptId id) {
    AttemptDidNotStart input;
    input.attempt = id;
    input.detail = "./train.py: no execute permission";
    return give(input);
  }
  std::string reports(AttemptId id, const std::string& name, double step, double value) {
    MetricsArrived input;
    input.reported.attempt = id;
    input.reported.points.push_back({name, step, value, Timestamp{now}});
    return give(input);
  }
  /// The whole of an attempt that goes well.
  void completes(AttemptId id) {
    runs(id);
    exits(id, 0);
    gone(id);
  }

  [[nodiscard]] const Engine& engine() const { return *engine_; }
  [[nodiscard]] const StudyState& state() const { return engine_->state(); }
  [[nodiscard]] const TrialStatus& trial(TrialNumber number) const {
    return *state().trial(number);
  }

  std::int64_t now = 1'000'000;
  std::string command = "python3 train.py";
  Decision last;
  std::vector<Entry> entries;

 private:
  EngineConfig config_;
  std::unique_ptr<Engine> engine_;
};

inline const Outcome kExit0{OutcomeKind::exited, 0, ""};
inline const Outcome kExit1{OutcomeKind::exited, 1, ""};
inline const Outcome kSegfault{OutcomeKind::signalled, 11, ""};
inline const Outcome kStopped{OutcomeKind::stopped, 15, ""};

}  // namespace seedbed::testing
