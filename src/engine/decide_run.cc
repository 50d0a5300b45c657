#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/decider.h"
#include "study/folder_name.h"

namespace seedbed {

void Engine::Decider::operator()(const RunBegan& input) {
  const EngineConfig& config = engine_.config_;
  RunStarted started = input.started;
  started.run = tally_.run + 1;
  if (started.slots == 0) started.slots = config.inventory.slots;
  started.retry_failed = started.retry_failed || input.retry_failed;
  put(std::move(started));
  // Every run walks anew, but for a sampler that learns: asked again it would answer otherwise.
  const bool resume_walk = config.sampler_uses_history && !input.space;
  if (!resume_walk) tally_.walk = {};
  if (input.space) {
    SpaceSet space = *input.space;
    space.revision = state_.revision() + 1;
    put(std::move(space));
  }
  walk_unsaid_ = true;
  wake_always_ = true;
  for (const NoteAdded& note : input.notes) push(note);
  if (input.held != state_.held()) hold(input.held);
  if (tally_.paused) put(PauseSet{false});
  if (tally_.retry_failed) {
    for (const auto& [number, trial] : state_.trials()) {
      if (trial.state == TrialState::failed && look(number).in_space) reopen(number, "retry");
    }
  }
  if (Status fits = engine_.placement_.can_ever_fit(config.request); !fits) {
    wind_down(StopMode::drain, exit_code(fits.error().code), fits.error().message,
              StopCause::halted);
  }
}

void Engine::Decider::hold(const Held& held) {
  const bool told = !state_.held().cores.empty();
  put(ResourcesHeld{held});
  if (!engine_.config_.inventory.insists || told || held.cores.empty()) return;
  push(NoteAdded{0, "warning",
                 "others hold cores of this machine: as --slots says, trials that find none free "
                 "run beside them, unpinned and niced"});
}

void Engine::Decider::reopen(TrialNumber trial, std::string why) {
  put(TrialReopened{trial, std::move(why)});
}

void Engine::Decider::operator()(const ProposalsMade& input) {
  const EngineConfig& config = engine_.config_;
  if (!leads() || tally_.walk_done || tally_.stopping) return;
  if (tally_.walk.asked == 0 || input.from != tally_.walk.next) return;  // an old question's
  walk_unsaid_ = true;
  tally_.walk.asked = 0;
  if (!input.error.empty()) {
    return wind_down(StopMode::drain, 2, input.error, StopCause::halted);
  }
  std::uint64_t next = std::max(input.next, input.from + (input.exhausted ? 0 : 1));
  bool cut = false;
  for (const ProposalsMade::One& one : input.points) {
    const bool full =
        !config.sampler_uses_history && tally_.count(TrialState::waiting) >= config.lookahead;
    if (full || limit_reached()) {
      next = one.number;  // the rest is asked for again when it is wanted
      cut = true;
      break;
    }
    take_point(one);
  }
  tally_.walk.revision = state_.revision();
  tally_.walk.next = next;
  if (input.exhausted && !cut) {
    put(WalkMoved(tally_.walk));
    put(SpaceWalked{state_.revision(), tally_.walk.distinct});
  }
}

void Engine::Decider::take_point(const ProposalsMade::One& one) {
  std::string identity = one.point.identity();
  const TrialNumber number = find(identity);
  if (number == 0) {
    ++tally_.walk.distinct;
    return propose(one.point, std::move(identity), one.number, false);
  }
  const TrialStatus* known = state_.trial(number);
  if (known == nullptr) return;  // twice in one answer
  if (known->revision == state_.revision()) {
    if (known->proposal == one.number) ++tally_.walk.distinct;
    if (known->proposal <= one.number) return;  // met before, in this walk or an earlier one
  }
  if (trials_.contains(number)) return;  // kept in this answer already
  ++tally_.walk.distinct;
  put(TrialKept{number, state_.revision(), one.number, false});
  if (tally_.retry_failed && known->state == TrialState::failed) reopen(number, "retry");
}

void Engine::Decider::propose(const Point& point, std::string identity, std::uint64_t proposal,
                              bool added) {
  TrialProposed record;
  record.trial = next_trial();
  record.point = point;
  record.identity = std::move(identity);
  record.proposal = proposal;
  record.revision = added ? 0 : state_.revision();
  record.added = added;
  record.folder = trial_folder_name(record.trial, point, engine_.config_.varying);
  put(std::move(record));
}

void Engine::Decider::operator()(const TimePassed& /*input*/) { wake_always_ = true; }

void Engine::Decider::wind_down(StopMode mode, int exit_code, std::string reason, StopCause cause) {
  put(RunStopping{tally_.run, mode, exit_code, reason});
  if (mode == StopMode::stop) {
    for (const AttemptId id : state_.open_attempts()) {
      if (attempt_view(id).ended) continue;
      if (attempt_view(id).stopping) {
        act(StopAttempt{id, cause});  // pruning has a longer grace than this
      } else {
        ask_to_stop(id, cause, reason);
      }
    }
  } else if (mode == StopMode::kill) {
    for (const AttemptId id : state_.open_attempts()) act(KillAttempt{id});
  } else if (mode == StopMode::leave) {
    put(RunEnded{tally_.run, exit_code, std::move(reason)});
    act(LeaveNow{exit_code});
  }
}

void Engine::Decider::operator()(const InterruptCame& input) {
  if (!leads()) return;
  const bool term = input.signal == 15;
  StopMode mode = input.drain ? StopMode::drain : StopMode::stop;
  if (tally_.stopping) {
    switch (tally_.stopping->mode) {
      case StopMode::drain:
        mode = StopMode::stop;
        break;
      case StopMode::stop:
        mode = StopMode::kill;
        break;
      case StopMode::kill:
      case StopMode::leave:
        mode = StopMode::leave;
        break;
    }
  }
  wind_down(mode, 128 + (term ? 15 : 2), term ? "interrupted (TERM)" : "interrupted (INT)",
            StopCause::interrupted);
}

void Engine::Decider::operator()(const StudyGone& input) {
  if (!leads() || (tally_.stopping && tally_.stopping->exit_code == 4)) return;
  const StopMode mode = tally_.stopping ? tally_.stopping->mode : StopMode::drain;
  wind_down(mode, exit_code(ErrorCode::damaged), input.detail, StopCause::halted);
}

void Engine::Decider::operator()(const StopAsked& input) {
  if (!leads()) return;
  const StopMode mode = input.drain ? StopMode::drain : StopMode::stop;
  if (tally_.stopping && tally_.stopping->mode >= mode) return;
  wind_down(mode, 6, input.drain ? "stop --drain was asked for" : "stop was asked for",
            StopCause::interrupted);
}

}  // namespace seedbed
