#pragma once

#include <memory>
#include <vector>

#include "engine/actions.h"
#include "engine/inputs.h"
#include "engine/start_queue.h"
#include "engine/state.h"
#include "resources/resources.h"
#include "study/halt.h"

namespace seedbed {

/// When failures stop new starts (`--halt`).
struct HaltRule {
  using Kind = HaltSpec::Kind;
  Kind kind = Kind::never;
  double threshold = 0;  ///< HaltSpec's

  /// HaltSpec's text. Only failures of the present run count, and a share only once
  /// kEndedForPercent have ended.
  [[nodiscard]] static Result<HaltRule> parse(std::string_view text);
  static constexpr std::uint64_t kEndedForPercent = 10;

  /// Why the rule stops the run; empty while it does not.
  [[nodiscard]] std::string reached(std::uint64_t failed, std::uint64_t ended) const;
};

/// Everything of a run that is fixed before its first input.
struct EngineConfig {
  Inventory inventory;
  Request request;
  Objective objective;
  RetrySpec retries;
  HaltRule halt;
  std::optional<std::uint64_t> limit;  ///< first N points of the space
  std::optional<Milliseconds> study_limit;
  std::vector<std::string> varying;   ///< for folder names
  bool sampler_uses_history = false;  ///< then nothing is proposed ahead of free slots
  bool longest_first = false;
  std::uint64_t lookahead = 1000;  ///< waiting trials proposed ahead
  /// No controller: decisions are records alone (`cancel`, `retry`, `add` on a study at rest).
  bool records_only = false;
};

/// The brain. Pure: no clock, no files, no randomness. Decides by looking at the state; the state
/// changes by `apply` alone.
///
/// The first input of a run is RunBegan; its answers, news and commands follow in any order.
/// Example:
///   RunBegan          -> RunStarted, SpaceSet, WalkMoved    + AskSampler
///   ProposalsMade     -> TrialProposed…, AttemptPlanned     + StartAttempt
///   AttemptIsRunning  -> AttemptStarted (the next ones are planned now)
///   AttemptFinished   -> AttemptEnded, TrialFinished
///   AttemptTreeGone   -> AllocationReleased, AttemptPlanned + StartAttempt … RunEnded + EndRun
///
/// One decision costs O(log trials), but for a new space, a changed command and pruners, which look
/// at all trials.
class Engine {
 public:
  Engine(EngineConfig config, std::vector<std::unique_ptr<Pruner>> pruners);
  ~Engine();

  /// What follows from an input. Changes nothing: the controller commits the records, applies
  /// them, and only then performs the actions. `now` should not jump within a run (wall time at its
  /// start, carried on by the monotonic clock), or limits and waits of the run jump with it.
  [[nodiscard]] Decision decide(Timestamp now, const Input& input) const;

  /// Applies one committed record.
  void apply(const Entry& entry);

  [[nodiscard]] const StudyState& state() const { return state_; }
  [[nodiscard]] const Placement& placement() const { return placement_; }

  /// As many trials at once as the machine has room for; at least 1.
  [[nodiscard]] std::uint32_t fitting_slots() const;

  /// What so many trials at once mean where the cores do not suffice; empty where they do.
  [[nodiscard]] std::string width_warning(std::uint32_t slots) const;

  /// Why a trial does not run, in words with the numbers; for `show`.
  [[nodiscard]] std::string why_waiting(TrialNumber trial, Timestamp now) const;

 private:
  struct Decider;

  /// The ledger at the start of a run: what open attempts of earlier runs hold is lent.
  [[nodiscard]] Placement fresh_placement(std::uint32_t slots) const;
  void requeue(TrialNumber trial, Timestamp now);

  EngineConfig config_;
  std::vector<std::unique_ptr<Pruner>> pruners_;
  StudyState state_;
  Placement placement_;
  StartQueue queue_;
};

}  // namespace seedbed
