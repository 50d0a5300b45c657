#include <fmt/format.h>

#include <utility>

#include "engine/curve_points.h"
#include "engine/decider.h"

namespace seedbed {
namespace {

constexpr int kLostInRow = 3;
constexpr std::uint64_t kStartFailuresInRow = 3;

std::string names_of(const std::map<std::string, double>& metrics) {
  std::string names;
  for (const auto& [name, value] : metrics) {
    if (!names.empty()) names += ", ";
    names += name;
  }
  return names;
}

/// What a shell, env or nohup answers when it cannot run the command that it was given.
bool is_command_not_found(const Outcome& outcome) {
  return outcome.kind == OutcomeKind::exited && (outcome.code == 127 || outcome.code == 126);
}

}  // namespace

Reaction Engine::Decider::react(AttemptId id, News news) const {
  if (!leads()) return Reaction::ignore;
  return reaction(stage_of(state_.trial(id.trial), id), news);
}

void Engine::Decider::end(AttemptId id, Outcome outcome, const Usage& usage) {
  put(AttemptEnded{id, std::move(outcome), usage});
}

void Engine::Decider::release(AttemptId id) {
  if (!attempt_view(id).released) put(AllocationReleased{id});
}

void Engine::Decider::ask_to_stop(AttemptId id, StopCause cause, std::string reason) {
  put(AttemptStopping{id, cause, std::move(reason)});
  act(StopAttempt{id, cause});
}

void Engine::Decider::repeat_stop(AttemptId id) {
  if (tally_.stopping && tally_.stopping->mode >= StopMode::kill) {
    act(KillAttempt{id});
  } else {
    act(StopAttempt{id, state_.attempt(id)->stopping->cause});
  }
}

void Engine::Decider::operator()(const AttemptIsRunning& input) {
  const AttemptId id = input.started.attempt;
  switch (react(id, News::runs)) {
    case Reaction::begin:
      return put(input.started);
    case Reaction::begin_stop:
      put(input.started);
      return repeat_stop(id);
    case Reaction::stop_again:
      return repeat_stop(id);
    default:
      return;
  }
}

void Engine::Decider::operator()(const AttemptDidNotStart& input) {
  const AttemptId id = input.attempt;
  if (react(id, News::did_not_start) != Reaction::refuse) return;
  const Outcome outcome{OutcomeKind::start_failed, 0, input.detail};
  end(id, outcome, {});
  release(id);
  settle_fate(id, Ending::failure, outcome, nullptr);
  if (!input.this_trial_only) mind_start_failure(id, input.detail);
}

/// A program that cannot be started fails every trial alike: one tells as much as a thousand.
void Engine::Decider::mind_start_failure(AttemptId id, const std::string& detail) {
  if (look(id.trial).state != TrialState::failed || tally_.stopping) return;
  if (tally_.started_in_run == 0) {
    wind_down(StopMode::drain, 5, "the program cannot be started: " + detail, StopCause::halted);
  } else if (tally_.start_failures >= kStartFailuresInRow) {
    wind_down(StopMode::drain, 6,
              fmt::format("{} starts in a row failed: {}", tally_.start_failures, detail),
              StopCause::halted);
  }
}

/// The same for a program that another one starts, where only the exit code tells: it may be one
/// trial's own, so some are tried, and nothing else may have come of the run yet.
void Engine::Decider::mind_command_not_found(AttemptId id, const Outcome& outcome) {
  if (!is_command_not_found(outcome) || tally_.stopping) return;
  if (look(id.trial).state != TrialState::failed) return;
  if (tally_.failed_in_run < kStartFailuresInRow || tally_.failed_in_run != tally_.finished_in_run)
    return;
  for (const auto& [number, trial] : state_.trials()) {
    if (trial.state != TrialState::failed || trial.finished_at < tally_.run_began_at) continue;
    if (!is_command_not_found(trial.attempts.back().outcome)) return;
  }
  wind_down(StopMode::drain, 6,
            fmt::format("all {} trials ended with exit code {}, {}; see seedbed logs {}",
                        tally_.failed_in_run, outcome.code,
                        outcome.code == 127
                            ? "which shells, env and nohup give for a command they cannot find"
                            : "which shells, env and nohup give for a command they cannot run",
                        id.trial),
            StopCause::halted);
}

/// Its folder was removed before its metrics were read to the end: what was read is no result.
bool Engine::Decider::is_result_gone(const AttemptFinished& input) const {
  return input.output_gone && input.outcome.succeeded() &&
         !engine_.config_.objective.metric.empty();
}

void Engine::Decider::lose_result(const AttemptFinished& input) {
  const char* why = "its folder was removed while it ran, and its output with it";
  push(NoteAdded{input.attempt.trial, "output_gone", why});
  const Outcome outcome{OutcomeKind::lost, 0, why};
  end(input.attempt, outcome, input.usage);
  settle_fate(input.attempt, Ending::lost, outcome, nullptr);
}

void Engine::Decider::operator()(const AttemptFinished& input) {
  switch (react(input.attempt, News::finished)) {
    case Reaction::finish:
      if (is_result_gone(input)) return lose_result(input);
      end(input.attempt, input.outcome, input.usage);
      settle_fate(input.attempt, ending_of(input.outcome), input.outcome, &input);
      if (input.outcome.kind == OutcomeKind::start_failed) {
        mind_start_failure(input.attempt, input.outcome.detail);
      }
      mind_command_not_found(input.attempt, input.outcome);
      return;
    case Reaction::finish_late:
      return finish_late(input);
    default:
      return;
  }
}

void Engine::Decider::operator()(const AttemptTreeGone& input) {
  if (react(input.attempt, News::tree_gone) == Reaction::release) release(input.attempt);
}

void Engine::Decider::operator()(const AttemptIsLost& input) {
  const AttemptId id = input.attempt;
  const Reaction reaction = react(id, News::is_lost);
  if (reaction == Reaction::release) return release(id);
  if (reaction != Reaction::lose) return;
  const Outcome outcome{OutcomeKind::lost, 0, input.detail};
  end(id, outcome, {});
  release(id);
  settle_fate(id, Ending::lost, outcome, nullptr);
}

void Engine::Decider::operator()(const AttemptWasUnclaimed& input) {
  const AttemptId id = input.attempt;
  const Reaction reaction = react(id, News::unclaimed);
  if (reaction == Reaction::release) return release(id);
  if (reaction == Reaction::lose) return (*this)(AttemptIsLost{id, "no slot holds it"});
  if (reaction != Reaction::give_up) return;
  const Outcome outcome{OutcomeKind::stopped, 0, "never began: no slot took it"};
  end(id, outcome, {});
  release(id);
  settle_fate(id, Ending::unclaimed, outcome, nullptr);
}

void Engine::Decider::settle_fate(AttemptId id, Ending ending, const Outcome& outcome,
                                  const AttemptFinished* finished) {
  // Another attempt has completed the trial meanwhile, or a newer one runs.
  const TrialStatus& trial = *state_.trial(id.trial);
  if (look(id.trial).state != TrialState::running || id.attempt != trial.attempts.size()) return;
  const AttemptStatus& attempt = trial.attempts[id.attempt - 1];
  const auto requeue = [&](RequeueCause cause) { put(TrialRequeued{id.trial, cause, now_}); };
  switch (fate(asked_of(attempt), ending)) {
    case Fate::complete:
      return complete(id.trial, finished);
    case Fate::fail:
      return fail_or_retry(id.trial, outcome.kind, describe(outcome));
    case Fate::prune:
      return put(TrialFinished{id.trial, TrialState::pruned,
                               attempt.stopping ? attempt.stopping->reason : outcome.detail,
                               false});
    case Fate::cancel:
      return put(TrialFinished{id.trial, TrialState::cancelled, attempt.stopping->reason, false});
    case Fate::requeue_interrupted:
      return requeue(RequeueCause::interrupted);
    case Fate::requeue_lost:
      return lose(id.trial, outcome.detail);
    case Fate::requeue_preempted:
      return requeue(RequeueCause::preempted);
    case Fate::requeue_unclaimed:
      return requeue(RequeueCause::unclaimed);
  }
}

void Engine::Decider::complete(TrialNumber number, const AttemptFinished* finished) {
  if (finished != nullptr && !finished->failure_line.empty()) {
    return fail_or_retry(number, OutcomeKind::exited,
                         "exit code 0, but its output says: " + finished->failure_line);
  }
  const TrialStatus& trial = *state_.trial(number);
  const std::string& metric = engine_.config_.objective.metric;
  TrialFinished record{number, TrialState::completed, "", false};
  if (!metric.empty() && !trial.last_metrics.contains(metric)) {
    std::string seen = finished == nullptr ? "" : finished->seen_metrics;
    if (seen.empty()) seen = names_of(trial.last_metrics);
    record.metric_missing = true;
    record.reason = fmt::format("no value of `{}` was reported; {}", metric,
                                seen.empty() ? "nothing else was either" : "seen: " + seen);
  }
  // The reason stands in every table.
  const char* odd = "exit code 0, but its log holds a traceback";
  const bool traceback = finished != nullptr && finished->traceback_seen;
  const bool has_reason = !record.reason.empty();
  if (traceback && !has_reason) record.reason = odd;
  put(std::move(record));
  if (traceback && has_reason) push(NoteAdded{number, "traceback", odd});
}

void Engine::Decider::fail_or_retry(TrialNumber number, OutcomeKind kind, std::string reason) {
  const RetrySpec& retries = engine_.config_.retries;
  if (retries.on.contains(kind) && state_.trial(number)->retries_used < retries.count) {
    return put(TrialRequeued{number, RequeueCause::retry, now_ + retries.wait});
  }
  put(TrialFinished{number, TrialState::failed, std::move(reason), false});
}

void Engine::Decider::lose(TrialNumber number, const std::string& detail) {
  if (state_.trial(number)->lost_in_row + 1 < kLostInRow) {
    return put(TrialRequeued{number, RequeueCause::lost, now_});
  }
  put(TrialFinished{
      number, TrialState::failed,
      fmt::format("lost {} times in a row{}{}", kLostInRow, detail.empty() ? "" : ": ", detail),
      false});
}

void Engine::Decider::finish_late(const AttemptFinished& input) {
  if (is_result_gone(input)) return;  // it stays lost
  const AttemptId id = input.attempt;
  const TrialStatus& trial = *state_.trial(id.trial);
  const bool latest = id.attempt == trial.attempts.size();
  end(id, input.outcome, input.usage);
  const std::string why = fmt::format("attempt {}, believed lost, has ended after all", id.attempt);
  if (input.outcome.succeeded() && input.failure_line.empty()) {
    if (trial.state == TrialState::running) {
      const AttemptId newer{id.trial, static_cast<std::uint32_t>(trial.attempts.size())};
      if (trial.attempts.back().phase != AttemptPhase::stopping) {
        ask_to_stop(newer, StopCause::cancelled, why);
      }
      return complete(id.trial, &input);
    }
    if (trial.state == TrialState::waiting) return complete(id.trial, &input);
    if (trial.state == TrialState::failed && latest) {
      put(TrialReopened{id.trial, why});
      return complete(id.trial, &input);
    }
    return;
  }
  // A late failure counts while no newer attempt has been planned.
  const bool waits = trial.state == TrialState::waiting && latest;
  if (waits && input.outcome.succeeded()) return complete(id.trial, &input);
  if (waits && ending_of(input.outcome) == Ending::failure) {
    fail_or_retry(id.trial, input.outcome.kind, describe(input.outcome));
  }
}

void Engine::Decider::operator()(const MetricsArrived& input) {
  const MetricsReported& reported = input.reported;
  const Reaction reaction = react(reported.attempt, News::metrics);
  if (reaction == Reaction::ignore) return;
  if (reported.points.empty() && reported.positions.empty()) return;
  push(reported);
  if (reaction == Reaction::measure) judge(reported);
}

void Engine::Decider::judge(const MetricsReported& reported) {
  if (engine_.pruners_.empty()) return;
  const TrialNumber number = reported.attempt.trial;
  Curve curve;
  curve.trial = number;
  const auto known = state_.curves().find(number);
  if (known != state_.curves().end()) curve = known->second;
  bool grew = false;
  for (const MetricPoint& point : reported.points) {
    if (point.name != engine_.config_.objective.metric) continue;
    add_curve_point(curve, {point.step, point.value});
    grew = true;
  }
  if (!grew) return;
  std::vector<const Curve*> peers;
  peers.reserve(state_.curves().size());
  for (const auto& [peer, its] : state_.curves()) {
    if (peer != number) peers.push_back(&its);
  }
  for (const auto& pruner : engine_.pruners_) {
    Verdict verdict = pruner->judge(curve, peers);
    if (!verdict.stop) continue;
    return ask_to_stop(reported.attempt, StopCause::pruned, std::move(verdict.reason));
  }
}

}  // namespace seedbed
