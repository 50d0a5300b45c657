#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/decider.h"

namespace seedbed {
namespace {

constexpr std::uint64_t kAskAtMost = 4096;  // points per question: a walk past many known ones
constexpr std::uint64_t kFirstAsk = 64;     // the first answer should come at once
// A sampler that learns may propose one known point for ever; then the space counts as walked.
constexpr std::uint64_t kFruitless = 1000;

}  // namespace

void Engine::Decider::settle() {
  if (!leads()) return;
  mind_limits();
  start_trials();
  walk_on();
  end_run();
  set_alarm();
}

void Engine::Decider::mind_limits() {
  const EngineConfig& config = engine_.config_;
  if (!tally_.stopping) {
    std::string reached = config.halt.reached(tally_.failed_in_run, tally_.finished_in_run);
    if (!reached.empty()) {
      wind_down(StopMode::drain, 6, std::move(reached), StopCause::halted);
    }
  }
  const bool may_stop = !tally_.stopping || tally_.stopping->mode == StopMode::drain;
  if (config.study_limit && may_stop && now_ - tally_.run_began_at >= *config.study_limit) {
    wind_down(StopMode::stop, 6,
              fmt::format("study limit of {} reached", format_duration(*config.study_limit)),
              StopCause::halted);
  }
}

void Engine::Decider::start_trials() {
  if (tally_.stopping || tally_.paused) return;
  const Placement& before = placement_ ? *placement_ : engine_.placement_;
  if (before.lent() >= before.slots()) return;
  const std::size_t room = before.slots() - before.lent();

  std::set<TrialNumber> changed;
  std::vector<StartQueue::Key> candidates;
  for (const auto& [number, trial] : trials_) {
    changed.insert(number);
    const bool startable = trial.state == TrialState::waiting && trial.in_space &&
                           trial.open == 0 && trial.not_before <= now_;
    if (startable) candidates.push_back(trial.key);
  }
  if (!space_changed_) {  // else none but added trials is in the new space yet
    for (const StartQueue::Key& key : engine_.queue_.first(room, now_, changed)) {
      candidates.push_back(key);
    }
  }
  const std::size_t first = std::min(room, candidates.size());
  std::partial_sort(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(first),
                    candidates.end());
  for (std::size_t i = 0; i < first; ++i) {
    // Until the program has begun once in this run, one attempt shows whether it can (case D16).
    if (tally_.started_in_run == 0 && tally_.unstarted > 0) break;
    auto allocation = placement().place(engine_.config_.request);
    if (!allocation) break;  // all trials ask for the same
    const TrialNumber number = candidates[i].trial;
    const AttemptId id{number, look(number).attempts + 1};
    put(AttemptPlanned{id, *allocation});
    act(StartAttempt{id, std::move(*allocation)});
  }
}

bool Engine::Decider::limit_reached() const {
  const auto& limit = engine_.config_.limit;
  return limit && tally_.walk.distinct >= *limit;
}

std::uint64_t Engine::Decider::points_wanted() const {
  const EngineConfig& config = engine_.config_;
  const std::uint64_t waiting = tally_.count(TrialState::waiting);
  std::uint64_t wanted = 0;
  if (config.sampler_uses_history) {
    if (tally_.paused || tally_.open + waiting >= tally_.slots) return 0;
    wanted = tally_.slots - tally_.open - waiting;
  } else {
    if (waiting >= (config.lookahead + 1) / 2) return 0;
    wanted = config.lookahead - waiting;
    const std::uint64_t known = state_.trials().size() + proposed_.size();
    if (known > tally_.walk.distinct) {
      wanted = std::max(wanted, known - tally_.walk.distinct);
    } else if (tally_.walk.next == 0) {
      wanted = std::min(wanted, std::max<std::uint64_t>(kFirstAsk, 2 * tally_.slots));
    }
    wanted = std::min(wanted, std::max(kAskAtMost, config.lookahead));
  }
  if (config.limit) wanted = std::min(wanted, *config.limit - tally_.walk.distinct);
  return wanted;
}

void Engine::Decider::walk_on() {
  WalkMoved walk = tally_.walk;
  walk.revision = space_changed_ ? state_.revision() + 1 : state_.revision();
  const bool goes_on = !tally_.walk_done && !tally_.stopping && walk.asked == 0;
  const bool fruitless =
      engine_.config_.sampler_uses_history && walk.next > kFruitless + 10 * walk.distinct;
  if (goes_on && (limit_reached() || fruitless)) {
    if (walk_unsaid_) put(walk);
    put(SpaceWalked{walk.revision, walk.distinct});
    return;
  }
  if (goes_on) walk.asked = points_wanted();
  if (walk.asked > 0 && goes_on) {
    put(walk);
    act(AskSampler{walk.next, walk.asked});
  } else if (walk_unsaid_) {
    put(walk);
  }
}

std::string Engine::Decider::natural_end(int& exit_code) const {
  const std::uint64_t failed = tally_.count(TrialState::failed);
  exit_code = failed > 0 || tally_.metric_missing > 0 ? 1 : 0;
  if (failed > 0) {
    return fmt::format("{} trial{} failed", failed, failed == 1 ? "" : "s");
  }
  if (tally_.metric_missing > 0) {
    return fmt::format("{} trial{} reported no `{}`", tally_.metric_missing,
                       tally_.metric_missing == 1 ? "" : "s", engine_.config_.objective.metric);
  }
  return "every trial of the space has ended";
}

void Engine::Decider::end_run() {
  if (!tally_.active || tally_.open > 0) return;
  const bool left = !tally_.walk_done || tally_.count(TrialState::waiting) > 0;
  if (!tally_.stopping && left) return;
  int code = 0;
  std::string reason = natural_end(code);
  if (tally_.stopping) {
    // Codes 2, 4, 5 and 70 name the cause of the stop; the others only say that work is left.
    const int said = tally_.stopping->exit_code;
    if (left || said == 2 || said == 4 || said == 5 || said == 70) {
      code = said;
      reason = tally_.stopping->reason;
    }
  }
  put(RunEnded{tally_.run, code, std::move(reason)});
  act(EndRun{code});
}

void Engine::Decider::set_alarm() {
  if (!tally_.active) return;
  std::optional<Timestamp> wake;
  const auto earlier = [&wake, this](Timestamp at) {
    if (at > now_ && (!wake || at < *wake)) wake = at;
  };
  const auto& limit = engine_.config_.study_limit;
  const bool limited = limit && (!tally_.stopping || tally_.stopping->mode == StopMode::drain);
  if (limited) earlier(tally_.run_began_at + *limit);
  if (!tally_.stopping) {
    if (const auto due = engine_.queue_.next_due(now_)) earlier(*due);
  }
  const std::optional<Timestamp> known = wake;  // an earlier decision has set it
  if (!tally_.stopping) {
    for (const auto& [number, trial] : trials_) {
      const bool waits = trial.state == TrialState::waiting && trial.in_space && trial.open == 0;
      if (waits) earlier(trial.not_before);
    }
  }
  if (wake && (wake_always_ || wake != known)) act(WakeAt{*wake});
}

}  // namespace seedbed
