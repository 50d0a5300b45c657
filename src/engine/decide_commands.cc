#include <utility>

#include "engine/decider.h"

namespace seedbed {

void Engine::Decider::operator()(const PauseAsked& input) {
  // `pause` on a frozen study changes nothing; `pause --freeze` on a paused one freezes it.
  const bool freeze = input.paused && (input.freeze || tally_.frozen);
  if (!tally_.active || (tally_.paused == input.paused && tally_.frozen == freeze)) return;
  wake_always_ = true;  // what fell due meanwhile may lie ahead again: a clock can be set back
  const bool turned = tally_.frozen != freeze;
  put(PauseSet{input.paused, freeze});
  if (!turned) return;
  for (const AttemptId id : state_.open_attempts()) {
    const AttemptStatus& attempt = *state_.attempt(id);
    if (attempt.phase == AttemptPhase::ended || asked_of(attempt) != Asked::nothing) continue;
    act(FreezeAttempt{id, freeze});
  }
}

void Engine::Decider::operator()(const SlotsAsked& input) {
  if (!leads() || input.slots == 0 || input.slots == tally_.slots) return;
  const bool told = !engine_.width_warning(tally_.slots).empty();
  put(WidthSet{input.slots});
  if (std::string warning = engine_.width_warning(input.slots); !told && !warning.empty()) {
    push(NoteAdded{0, "warning", std::move(warning)});
  }
}

void Engine::Decider::operator()(const HeldElsewhere& input) {
  if (!tally_.active || input.held == state_.held()) return;
  hold(input.held);
}

void Engine::Decider::operator()(const CancelAsked& input) {
  const std::string reason = "cancelled by the user";
  const std::set<TrialNumber> numbers(input.trials.begin(), input.trials.end());
  for (const TrialNumber number : numbers) {
    const TrialStatus* trial = state_.trial(number);
    if (trial == nullptr) continue;
    if (trial->state == TrialState::waiting) {
      put(TrialFinished{number, TrialState::cancelled, reason, false});
      continue;
    }
    if (trial->state != TrialState::running) continue;
    const AttemptStatus& attempt = trial->attempts.back();
    const Asked asked = asked_of(attempt);
    if (asked == Asked::pruned || asked == Asked::cancelled) continue;
    ask_to_stop({number, attempt.number}, StopCause::cancelled, reason);
  }
}

void Engine::Decider::operator()(const RetryAsked& input) {
  if (input.trials.empty()) {
    for (const auto& [number, trial] : state_.trials()) {
      if (trial.state == TrialState::failed && state_.in_space(trial)) reopen(number, "retry");
    }
    return;
  }
  const std::set<TrialNumber> numbers(input.trials.begin(), input.trials.end());
  for (const TrialNumber number : numbers) {
    const TrialStatus* trial = state_.trial(number);
    if (trial == nullptr || !is_terminal(trial->state)) continue;
    // A good result is never put at risk.
    if (trial->state == TrialState::completed && !trial->metric_missing) continue;
    reopen(number, "retry");
  }
}

void Engine::Decider::operator()(const PointsAdded& input) {
  for (const Point& point : input.points) {
    std::string identity = point.identity();
    const TrialNumber number = find(identity);
    if (number == 0) {
      propose(point, std::move(identity), 0, true);
      continue;
    }
    const TrialStatus* known = state_.trial(number);
    if (known == nullptr || known->added || trials_.contains(number)) continue;
    put(TrialKept{number, known->revision, known->proposal, true});
  }
}

void Engine::Decider::operator()(const NoteCame& input) { push(input.note); }

}  // namespace seedbed
