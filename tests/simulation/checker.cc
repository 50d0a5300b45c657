#include "checker.h"

#include <fmt/format.h>

#include "engine/engine_testing.h"

namespace seedbed::simulation {
namespace {

void require(bool holds, const std::string& what) {
  if (!holds) throw Violation(what);
}

}  // namespace

std::string dump(const StudyState& state) {
  std::string text;
  for (const auto& [number, trial] : state.trials()) {
    text += fmt::format("{} {} {} p{} r{} a{} m{} '{}' u{} l{} o{} c{} open{} nb{} fin{}\n", number,
                        trial.point.identity(), trial_state_word(trial.state), trial.proposal,
                        trial.revision, trial.added, trial.metric_missing, trial.reason,
                        trial.retries_used, trial.lost_in_row, trial.openings, trial.command,
                        trial.open, trial.not_before.ms, trial.finished_at.ms);
    for (const AttemptStatus& attempt : trial.attempts) {
      text += fmt::format("  {} ph{} rel{} slot{} pid{} {} {} '{}'\n", attempt.number,
                          static_cast<int>(attempt.phase), attempt.released,
                          attempt.allocation.slot, attempt.started ? attempt.started->pid : 0,
                          outcome_word(attempt.outcome.kind), attempt.usage.wall_ms,
                          attempt.stopping ? attempt.stopping->reason : "");
    }
  }
  for (const auto& [number, curve] : state.curves()) {
    text += fmt::format("curve {} {}:", number, curve.finished);
    for (const CurvePoint& point : curve.points) {
      text += fmt::format(" {}={}", point.step, point.value);
    }
    text += "\n";
  }
  const Tally& tally = state.tally();
  text += fmt::format(
      "run {} active{} paused{} slots{} walk {} {} {} done{} started{} sf{} fin{} "
      "fail{} open{} un{} missing{}",
      tally.run, tally.active, tally.paused, tally.slots, tally.walk.next, tally.walk.asked,
      tally.walk.distinct, tally.walk_done, tally.started_in_run, tally.start_failures,
      tally.finished_in_run, tally.failed_in_run, tally.open, tally.unstarted,
      tally.metric_missing);
  for (const std::uint64_t count : tally.trials) text += fmt::format(" {}", count);
  if (tally.stopping) text += " stopping " + tally.stopping->reason;
  return text;
}

Checker::Attempt& Checker::must(AttemptId id, const char* what) {
  const auto found = attempts_.find(id);
  require(found != attempts_.end(), fmt::format("{} of {} without a plan", what, id.text()));
  return found->second;
}

void Checker::check_proposal(const TrialProposed& record) {
  if (record.added) return;
  const auto latest = latest_proposal_.find(record.revision);
  require(latest == latest_proposal_.end() || latest->second < record.proposal,
          fmt::format("trial {}: proposals are taken out of order", record.trial));
  latest_proposal_[record.revision] = record.proposal;
  if (replaying_) return;  // an earlier space may have been larger
  const auto point = point_of(options_, record.proposal);
  require(point.has_value() && point->identity() == record.identity,
          fmt::format("trial {} is not what proposal {} always stands for", record.trial,
                      record.proposal));
}

void Checker::check_end(const AttemptEnded& record, const Attempt& attempt) const {
  if (replaying_ || power_was_cut_) return;
  const AttemptId id = record.attempt;
  const OutcomeKind kind = record.outcome.kind;
  if (record.outcome.detail.starts_with("never began")) {
    require(!machine_.began(id), id.text() + " is voided although its program began");
    return;
  }
  if (kind == OutcomeKind::lost || kind == OutcomeKind::start_failed) return;
  require(machine_.true_end(id) == record.outcome, id.text() + " ended otherwise in truth");
  require(attempt.points == machine_.written(id).size(),
          fmt::format("{} ended with {} of {} points", id.text(), attempt.points,
                      machine_.written(id).size()));
}

void Checker::take_trial(const Record& record) {
  if (const auto* r = std::get_if<TrialProposed>(&record)) {
    check_proposal(*r);
    require(identities_.insert(r->identity).second, "a point is proposed twice");
    require(folders_.insert(r->folder).second, "a folder is given twice");
    require(r->trial == trials_.size() + 1, "trial numbers have a hole");
    trials_[r->trial] = {};
  } else if (const auto* finished = std::get_if<TrialFinished>(&record)) {
    Trial& trial = trials_.at(finished->trial);
    ++trial.ends;
    require(trial.ends == trial.openings, fmt::format("trial {} has {} ends in {} openings",
                                                      finished->trial, trial.ends, trial.openings));
  } else if (const auto* reopened = std::get_if<TrialReopened>(&record)) {
    Trial& trial = trials_.at(reopened->trial);
    require(trial.ends == trial.openings, "an open trial is opened again");
    ++trial.openings;
    trial.failures = 0;
    trial.not_before = {};
  } else if (const auto* requeued = std::get_if<TrialRequeued>(&record)) {
    Trial& trial = trials_.at(requeued->trial);
    require(trial.ends + 1 == trial.openings, "a finished trial waits again");
    if (requeued->cause == RequeueCause::retry) {
      ++trial.failures;
      require(trial.failures <= options_.config.retries.count, "more retries than allowed");
      trial.not_before = requeued->not_before;
    }
  }
}

void Checker::take_attempt(const Record& record) {
  if (const auto* planned = std::get_if<AttemptPlanned>(&record)) {
    require(!stopping_ && !run_over_, "a plan in a run that stops");
    Trial& trial = trials_.at(planned->attempt.trial);
    require(trial.live == 0, "two live attempts of trial " + planned->attempt.text());
    require(planned->attempt.attempt == ++trial.attempts, "attempt numbers have a hole");
    require(trial.ends + 1 == trial.openings, "a finished trial is started");
    require(options_.clock_jump > 0 || at_ >= trial.not_before, "a retry does not wait");
    require(planned->allocation.slot < slots_, "more trials at once than slots");
    ++trial.live;
    Attempt& attempt = attempts_[planned->attempt];
    attempt.planned = true;
    attempt.allocation = planned->allocation;
  } else if (const auto* started = std::get_if<AttemptStarted>(&record)) {
    Attempt& attempt = must(started->attempt, "a start");
    require(!attempt.started && !attempt.ended, "a second start of " + started->attempt.text());
    attempt.started = true;
  } else if (const auto* stopped = std::get_if<AttemptStopping>(&record)) {
    must(stopped->attempt, "a stop").stopping = true;
  } else if (const auto* ended = std::get_if<AttemptEnded>(&record)) {
    Attempt& attempt = must(ended->attempt, "an end");
    check_end(*ended, attempt);
    if (!attempt.ended && attempt.released) --trials_.at(ended->attempt.trial).live;
    attempt.ended = true;
  } else if (const auto* released = std::get_if<AllocationReleased>(&record)) {
    Attempt& attempt = must(released->attempt, "a release");
    require(!attempt.released, "a second release of " + released->attempt.text());
    attempt.released = true;
    if (attempt.ended) --trials_.at(released->attempt.trial).live;
  } else if (const auto* metrics = std::get_if<MetricsReported>(&record)) {
    Attempt& attempt = must(metrics->attempt, "points");
    for (const MetricPoint& point : metrics->points) {
      require(point.step == static_cast<double>(attempt.points + 1),
              fmt::format("{}: point {} follows point {}", metrics->attempt.text(), point.step,
                          attempt.points));
      ++attempt.points;
    }
  }
}

void Checker::take(const Record& record) {
  if (const auto* run = std::get_if<RunStarted>(&record)) {
    stopping_ = killing_ = run_over_ = false;
    slots_ = run->slots;
  } else if (const auto* width = std::get_if<WidthSet>(&record)) {
    slots_ = width->slots;
  } else if (const auto* stopping = std::get_if<RunStopping>(&record)) {
    stopping_ = true;
    killing_ = stopping->mode >= StopMode::kill;
  } else if (std::holds_alternative<RunEnded>(record)) {
    require(!run_over_, "a run ends twice");
    run_over_ = true;
  }
  take_trial(record);
  take_attempt(record);
}

void Checker::committing(const std::vector<Entry>& entries) {
  for (const Entry& entry : entries) {
    at_ = entry.at;
    take(entry.record);
    trace_ = mix(trace_, hash_text(std::visit(testing::RecordText{}, entry.record),
                                   static_cast<std::uint64_t>(entry.at.ms)));
  }
}

void Checker::starting(AttemptId id, const Allocation& allocation) {
  trace_ = mix(trace_, hash_text("start " + id.text()));
  const Attempt& attempt = must(id, "an action");
  require(attempt.allocation == allocation, id.text() + " starts elsewhere than planned");
}

void Checker::stopping(AttemptId id) {
  trace_ = mix(trace_, hash_text("stop " + id.text()));
  require(must(id, "an action").stopping, id.text() + " is stopped without a record");
}

void Checker::killing(AttemptId id) {
  trace_ = mix(trace_, hash_text("kill " + id.text()));
  require(killing_, id.text() + " is killed without a record");
}

void Checker::rebuild(const std::vector<Entry>& entries, bool power_cut) {
  power_was_cut_ = power_was_cut_ || power_cut;
  trials_.clear();
  attempts_.clear();
  identities_.clear();
  folders_.clear();
  latest_proposal_.clear();
  stopping_ = killing_ = false;
  run_over_ = true;
  replaying_ = true;
  for (const Entry& entry : entries) {
    at_ = entry.at;
    take(entry.record);
  }
  replaying_ = false;
}

void Checker::compare(const Engine& engine, const std::vector<Entry>& entries, bool full) const {
  const StudyState& state = engine.state();
  require(testing::tally_is_true(state), "the tally is not what counting gives");
  require(engine.placement().lent() <= state.tally().open, "more is lent than is open");
  if (!full) return;
  Engine fold(options_.config, pruners_of(options_));
  for (const Entry& entry : entries) fold.apply(entry);
  require(dump(fold.state()) == dump(state), "the state is not the fold of the records:\n" +
                                                 dump(state) + "\n-- fold --\n" +
                                                 dump(fold.state()));
}

void Checker::run_ended(const StudyState& state, int exit_code) const {
  require(run_over_ && state.run_ended().has_value(), "a run ends without a record");
  require(state.run_ended()->exit_code == exit_code, "another exit code than recorded");
  std::uint64_t bad = 0, open = 0;
  for (const auto& [number, trial] : state.trials()) {
    if (!state.in_space(trial)) continue;
    if (!is_terminal(trial.state)) ++open;
    if (trial.state == TrialState::failed || trial.metric_missing) ++bad;
  }
  if (exit_code == 0) require(bad == 0 && open == 0, "exit code 0 with work undone");
  if (exit_code == 1) require(bad > 0 && open == 0, "exit code 1 without a failure");
  if (!state.stopping()) require(exit_code <= 1, "a run that nobody stopped ends early");
}

void Checker::all_done(const StudyState& state) const {
  require(machine_.alive() == 0, "processes live on after the end");
  require(state.tally().open == 0, "attempts are open after the end");
  require(state.space_walked(), "the space is not walked");
  std::set<std::string> wanted;
  for (std::uint64_t number = 0; number < options_.size; ++number) {
    const auto point = point_of(options_, number);
    if (!point) continue;
    if (options_.config.limit && wanted.size() == *options_.config.limit) break;
    wanted.insert(point->identity());
  }
  for (const std::string& identity : wanted) {
    const TrialStatus* trial = state.by_identity(identity);
    require(trial != nullptr && state.in_space(*trial), identity + " was never proposed");
  }
  std::uint64_t inside = 0;
  for (const auto& [number, trial] : state.trials()) {
    if (!state.in_space(trial)) continue;
    require(is_terminal(trial.state), fmt::format("trial {} is not finished", number));
    if (!trial.added) ++inside;
    if (power_was_cut_ || options_.late_record > 0 || trial.openings > 1) continue;
    for (const AttemptStatus& attempt : trial.attempts) {
      const AttemptId id{number, attempt.number};
      require(!machine_.succeeded(id) || attempt.number == trial.attempts.size(),
              id.text() + " succeeded and was run again");
    }
  }
  require(inside <= wanted.size(), "more trials than the limit allows");
}

}  // namespace seedbed::simulation
