#include "engine/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/decider.h"

namespace seedbed {

Engine::Engine(EngineConfig config, std::vector<std::unique_ptr<Pruner>> pruners)
    : config_(std::move(config)),
      pruners_(std::move(pruners)),
      placement_(config_.inventory),
      queue_(config_.longest_first) {
  if (!config_.records_only) state_.follow(config_.objective.metric);
  if (!pruners_.empty()) state_.keep_curves();
}

Engine::~Engine() = default;

Decision Engine::decide(Timestamp now, const Input& input) const {
  Decider decider(*this, now);
  std::visit(decider, input);
  decider.settle();
  return std::move(decider.out);
}

Placement Engine::fresh_placement(std::uint32_t slots) const {
  Placement fresh(config_.inventory);
  fresh.set_slots(slots, config_.request);
  for (const AttemptId id : state_.open_attempts()) {
    const AttemptStatus& attempt = *state_.attempt(id);
    if (!attempt.released) fresh.lend(attempt.allocation);
  }
  fresh.set_held(state_.held());
  return fresh;
}

void Engine::requeue(TrialNumber number, Timestamp now) {
  const TrialStatus& trial = *state_.trial(number);
  const bool startable =
      trial.state == TrialState::waiting && trial.open == 0 && state_.in_space(trial);
  queue_.update(trial, startable, now);
}

void Engine::apply(const Entry& entry) {
  state_.apply(entry);
  queue_.advance(entry.at);
  const Record& record = entry.record;
  TrialNumber changed = 0;
  if (const auto* proposed = std::get_if<TrialProposed>(&record)) {
    changed = proposed->trial;
  } else if (const auto* kept = std::get_if<TrialKept>(&record)) {
    changed = kept->trial;
  } else if (const auto* planned = std::get_if<AttemptPlanned>(&record)) {
    placement_.lend(planned->allocation);
    changed = planned->attempt.trial;
  } else if (const auto* ended = std::get_if<AttemptEnded>(&record)) {
    changed = ended->attempt.trial;
  } else if (const auto* released = std::get_if<AllocationReleased>(&record)) {
    placement_.give_back(state_.attempt(released->attempt)->allocation);
    changed = released->attempt.trial;
  } else if (const auto* requeued = std::get_if<TrialRequeued>(&record)) {
    changed = requeued->trial;
  } else if (const auto* finished = std::get_if<TrialFinished>(&record)) {
    changed = finished->trial;
    if (finished->state == TrialState::completed) queue_.learn(state_, *state_.trial(changed));
  } else if (const auto* reopened = std::get_if<TrialReopened>(&record)) {
    changed = reopened->trial;
  } else if (const auto* started = std::get_if<RunStarted>(&record)) {
    placement_ = fresh_placement(started->slots);
  } else if (const auto* width = std::get_if<WidthSet>(&record)) {
    placement_.set_slots(width->slots, config_.request);
  } else if (const auto* held = std::get_if<ResourcesHeld>(&record)) {
    placement_.set_held(held->held);
  } else if (std::holds_alternative<SpaceSet>(record)) {
    queue_.clear();
    for (const auto& [number, trial] : state_.trials()) requeue(number, entry.at);
  }
  if (changed != 0) requeue(changed, entry.at);
}

std::uint32_t Engine::fitting_slots() const {
  return std::max<std::uint32_t>(1,
                                 static_cast<std::uint32_t>(placement_.fitting(config_.request)));
}

std::string Engine::width_warning(std::uint32_t slots) const {
  const std::size_t fitting = placement_.fitting(config_.request);
  if (slots <= fitting) return {};
  const std::size_t cores = config_.inventory.cores.size();
  return fmt::format(
      "{} slots share {} core{} ({} would fit): trials are not pinned and slow each "
      "other",
      slots, cores, cores == 1 ? "" : "s", fitting);
}

std::string Engine::why_waiting(TrialNumber number, Timestamp now) const {
  const TrialStatus* trial = state_.trial(number);
  if (trial == nullptr) return fmt::format("there is no trial {}", number);
  const Tally& tally = state_.tally();
  if (trial->state == TrialState::running) {
    const AttemptStatus& attempt = trial->attempts.back();
    return fmt::format("it runs: attempt {} in slot {}", attempt.number, attempt.allocation.slot);
  }
  if (trial->state != TrialState::waiting) {
    return fmt::format("it is {}; `seedbed retry` runs it again", trial_state_word(trial->state));
  }
  if (!state_.in_space(*trial)) return "it is outside the present space";
  if (!tally.active) return "no controller runs; `seedbed run` goes on with it";
  if (tally.stopping) return "nothing starts any more: " + tally.stopping->reason;
  if (tally.paused) return "the study is paused; `seedbed resume` goes on";
  if (trial->open > 0) return "processes of its last attempt are still ending";
  if (trial->not_before > now) {
    return fmt::format("it waits {} before it is tried again",
                       format_duration(trial->not_before - now));
  }
  const std::size_t ahead = queue_.ahead_of(number);
  const std::string order =
      ahead == 0 ? "it is next"
                 : fmt::format("{} trial{} before it", ahead, ahead == 1 ? " is" : "s are");
  std::string shortage = placement_.shortage(config_.request);
  if (shortage.empty() && tally.started_in_run == 0) {
    shortage = "the first trial of this run has yet to start";
  }
  if (shortage.empty()) return order;
  return fmt::format("{}; {}", shortage, order);
}

}  // namespace seedbed
