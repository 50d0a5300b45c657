#include "engine/table.h"

#include <algorithm>

namespace seedbed {

Stage stage_of(const TrialStatus* trial, AttemptId id) {
  if (trial == nullptr || id.attempt == 0 || id.attempt > trial->attempts.size()) {
    return Stage::unknown;
  }
  const AttemptStatus& attempt = trial->attempts[id.attempt - 1];
  if (attempt.phase == AttemptPhase::ended) {
    if (!attempt.released) return Stage::ended;
    if (attempt.outcome.kind != OutcomeKind::lost) return Stage::closed;
    const bool superseded =
        std::any_of(trial->attempts.begin() + id.attempt, trial->attempts.end(),
                    [](const AttemptStatus& a) { return a.phase == AttemptPhase::ended; });
    return superseded ? Stage::closed : Stage::lost;
  }
  if (attempt.released) return Stage::gone;
  switch (attempt.phase) {
    case AttemptPhase::planned:
      return Stage::planned;
    case AttemptPhase::running:
      return Stage::running;
    default:
      return attempt.started ? Stage::stopping : Stage::recalled;
  }
}

Asked asked_of(const AttemptStatus& attempt) {
  if (!attempt.stopping) return Asked::nothing;
  switch (attempt.stopping->cause) {
    case StopCause::pruned:
      return Asked::pruned;
    case StopCause::cancelled:
      return Asked::cancelled;
    case StopCause::interrupted:
      return Asked::interrupted;
    case StopCause::halted:
      return Asked::halted;
  }
  return Asked::nothing;
}

Ending ending_of(const Outcome& outcome) {
  switch (outcome.kind) {
    case OutcomeKind::exited:
      return outcome.code == 0 ? Ending::success : Ending::failure;
    case OutcomeKind::signalled:
    case OutcomeKind::timed_out:
    case OutcomeKind::start_failed:
    case OutcomeKind::out_of_memory:
      return Ending::failure;
    case OutcomeKind::stopped:
      return Ending::stopped;
    case OutcomeKind::pruned:
      return Ending::pruned;
    case OutcomeKind::lost:
      return Ending::lost;
    case OutcomeKind::preempted:
      return Ending::preempted;
  }
  return Ending::failure;
}

bool proves_start(OutcomeKind kind) {
  switch (kind) {
    case OutcomeKind::exited:
    case OutcomeKind::signalled:
    case OutcomeKind::timed_out:
    case OutcomeKind::pruned:
    case OutcomeKind::out_of_memory:
      return true;
    case OutcomeKind::start_failed:
    case OutcomeKind::stopped:
    case OutcomeKind::lost:
    case OutcomeKind::preempted:
      return false;
  }
  return false;
}

}  // namespace seedbed
