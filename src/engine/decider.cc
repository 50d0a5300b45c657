#include "engine/decider.h"

#include <utility>

#include "base/check.h"
#include "engine/table.h"

namespace seedbed {

Engine::Decider::Decider(const Engine& engine, Timestamp now)
    : engine_(engine), state_(engine.state_), now_(now), tally_(engine.state_.tally()) {}

void Engine::Decider::act(Action action) {
  if (!engine_.config_.records_only) out.actions.push_back(std::move(action));
}

Engine::Decider::TrialView Engine::Decider::look(TrialNumber number) const {
  const auto known = trials_.find(number);
  if (known != trials_.end()) return known->second;
  const TrialStatus* trial = state_.trial(number);
  SEEDBED_CHECK(trial != nullptr);
  TrialView view;
  view.state = trial->state;
  view.in_space = space_changed_
                      ? trial->added && state_.command_of(*trial) == new_command_.value_or("")
                      : state_.in_space(*trial);
  view.metric_missing = trial->metric_missing;
  view.open = trial->open;
  view.attempts = static_cast<std::uint32_t>(trial->attempts.size());
  view.not_before = trial->not_before;
  view.key = engine_.queue_.key(number, trial->point);
  return view;
}

Engine::Decider::TrialView& Engine::Decider::view(TrialNumber number) {
  return trials_.try_emplace(number, look(number)).first->second;
}

Engine::Decider::AttemptView& Engine::Decider::attempt_view(AttemptId id) {
  const auto known = attempts_.find(id);
  if (known != attempts_.end()) return known->second;
  AttemptView view;
  if (const AttemptStatus* attempt = state_.attempt(id)) {
    view.started = attempt->started.has_value();
    view.stopping = attempt->phase == AttemptPhase::stopping;
    view.ended = attempt->phase == AttemptPhase::ended;
    view.released = attempt->released;
  }
  return attempts_.emplace(id, view).first->second;
}

void Engine::Decider::recount(TrialView& view, const TrialView& after) {
  const auto count = [this](const TrialView& v, std::uint64_t step) {
    if (!v.in_space) return;
    tally_.trials[static_cast<std::size_t>(v.state)] += step;
    if (v.metric_missing) tally_.metric_missing += step;
  };
  count(view, ~std::uint64_t{0});
  view = after;
  count(view, 1);
}

Placement& Engine::Decider::placement() {
  if (!placement_) placement_ = engine_.placement_;
  return *placement_;
}

TrialNumber Engine::Decider::find(const std::string& identity) const {
  const auto fresh = proposed_.find(identity);
  if (fresh != proposed_.end()) return fresh->second;
  const TrialStatus* known = state_.by_identity(identity);
  return known == nullptr ? 0 : known->number;
}

TrialNumber Engine::Decider::next_trial() const {
  const TrialNumber last = state_.trials().empty() ? 0 : state_.trials().rbegin()->first;
  return last + proposed_.size() + 1;
}

void Engine::Decider::put(RunStarted record) {
  tally_.run = record.run;
  tally_.active = true;
  tally_.run_began_at = now_;
  tally_.retry_failed = record.retry_failed;
  tally_.stopping.reset();
  tally_.slots = record.slots;
  tally_.walk.asked = 0;
  tally_.walk_done = false;
  tally_.started_in_run = tally_.start_failures = 0;
  tally_.finished_in_run = tally_.failed_in_run = 0;
  placement_ = engine_.fresh_placement(record.slots);
  push(std::move(record));
}

void Engine::Decider::put(SpaceSet record) {
  space_changed_ = true;
  new_command_ = record.command_identity;
  tally_.walk = {};
  tally_.trials.fill(0);
  tally_.metric_missing = 0;
  for (const auto& [number, trial] : state_.trials()) {
    if (!trial.added) continue;
    TrialView& added = view(number);  // a view of its own: the queue is of the old space
    const TrialView as_it_is = added;
    added.in_space = false;
    recount(added, as_it_is);
  }
  push(std::move(record));
}

void Engine::Decider::put(RunStopping record) {
  tally_.stopping = record;
  push(std::move(record));
}

void Engine::Decider::put(RunEnded record) {
  tally_.active = false;
  push(std::move(record));
}

void Engine::Decider::put(TrialProposed record) {
  TrialView fresh;
  fresh.key = engine_.queue_.key(record.trial, record.point);
  TrialView nothing;
  nothing.in_space = false;
  recount(nothing, fresh);
  trials_.emplace(record.trial, fresh);
  proposed_.emplace(record.identity, record.trial);
  push(std::move(record));
}

void Engine::Decider::put(TrialKept record) {
  TrialView& kept = view(record.trial);
  TrialView after = kept;
  after.in_space = true;
  recount(kept, after);
  push(record);
}

void Engine::Decider::put(WalkMoved record) {
  tally_.walk = record;
  walk_unsaid_ = false;
  push(record);
}

void Engine::Decider::put(SpaceWalked record) {
  tally_.walk_done = true;
  push(record);
}

void Engine::Decider::put(AttemptPlanned record) {
  TrialView& trial = view(record.attempt.trial);
  TrialView after = trial;
  after.state = TrialState::running;
  after.open += 1;
  after.attempts += 1;
  recount(trial, after);
  attempts_[record.attempt] = {};
  ++tally_.open;
  ++tally_.unstarted;
  placement().lend(record.allocation);
  push(std::move(record));
}

void Engine::Decider::put(AttemptStarted record) {
  attempt_view(record.attempt).started = true;
  --tally_.unstarted;
  ++tally_.started_in_run;
  tally_.start_failures = 0;
  push(std::move(record));
}

void Engine::Decider::put(AttemptStopping record) {
  attempt_view(record.attempt).stopping = true;
  push(std::move(record));
}

void Engine::Decider::close_if_over(AttemptId id) {
  const AttemptView& attempt = attempt_view(id);
  if (!attempt.ended || !attempt.released) return;
  --tally_.open;
  --view(id.trial).open;
}

void Engine::Decider::put(AttemptEnded record) {
  AttemptView& attempt = attempt_view(record.attempt);
  const bool late = attempt.ended;
  if (!late && !attempt.started) {
    --tally_.unstarted;
    if (proves_start(record.outcome.kind)) {
      ++tally_.started_in_run;
      tally_.start_failures = 0;
    }
  }
  if (record.outcome.kind == OutcomeKind::start_failed) ++tally_.start_failures;
  attempt.ended = true;
  if (!late) close_if_over(record.attempt);
  push(std::move(record));
}

void Engine::Decider::put(AllocationReleased record) {
  attempt_view(record.attempt).released = true;
  placement().give_back(state_.attempt(record.attempt)->allocation);
  close_if_over(record.attempt);
  push(record);
}

void Engine::Decider::put(TrialRequeued record) {
  TrialView& trial = view(record.trial);
  TrialView after = trial;
  after.state = TrialState::waiting;
  after.not_before = record.not_before;
  recount(trial, after);
  push(record);
}

void Engine::Decider::put(TrialFinished record) {
  TrialView& trial = view(record.trial);
  TrialView after = trial;
  after.state = record.state;
  after.metric_missing = record.metric_missing;
  recount(trial, after);
  if (record.state != TrialState::cancelled) ++tally_.finished_in_run;
  if (record.state == TrialState::failed) ++tally_.failed_in_run;
  push(std::move(record));
}

void Engine::Decider::put(TrialReopened record) {
  TrialView& trial = view(record.trial);
  TrialView after = trial;
  after.state = TrialState::waiting;
  after.metric_missing = false;
  after.not_before = {};
  recount(trial, after);
  push(std::move(record));
}

void Engine::Decider::put(PauseSet record) {
  tally_.paused = record.paused;
  tally_.frozen = record.frozen;
  push(record);
}

void Engine::Decider::put(ResourcesHeld record) {
  placement().set_held(record.held);
  push(std::move(record));
}

void Engine::Decider::put(WidthSet record) {
  tally_.slots = record.slots;
  placement().set_slots(record.slots, engine_.config_.request);
  push(record);
}

}  // namespace seedbed
