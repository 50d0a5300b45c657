#include "engine/state.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "engine/curve_points.h"
#include "engine/table.h"

namespace seedbed {
namespace {

std::size_t index_of(TrialState state) { return static_cast<std::size_t>(state); }

bool open(const AttemptStatus& attempt) {
  return attempt.phase != AttemptPhase::ended || !attempt.released;
}

}  // namespace

struct StudyState::Applier {
  StudyState& state;
  Timestamp at;

  TrialStatus& must_trial(TrialNumber number) const {
    const auto found = state.trials_.find(number);
    SEEDBED_CHECK(found != state.trials_.end());
    return found->second;
  }

  static AttemptStatus& must_attempt(TrialStatus& trial, AttemptId id) {
    SEEDBED_CHECK(id.attempt >= 1 && id.attempt <= trial.attempts.size());
    return trial.attempts[id.attempt - 1];
  }

  void uncount(const TrialStatus& trial) const { count(trial, -1); }
  void count(const TrialStatus& trial, int sign = 1) const {
    if (!state.in_space(trial)) return;
    Tally& tally = state.tally_;
    tally.trials[index_of(trial.state)] += static_cast<std::uint64_t>(sign);
    if (trial.metric_missing) tally.metric_missing += static_cast<std::uint64_t>(sign);
  }

  /// The one place where a trial's state changes, by the table.
  static void move(TrialStatus& trial, TrialEvent event, TrialState given) {
    const Next next = next_state(trial.state, event);
    SEEDBED_CHECK(next != Next::wrong);
    if (next == Next::running) trial.state = TrialState::running;
    if (next == Next::waiting) trial.state = TrialState::waiting;
    if (next == Next::given) trial.state = given;
  }
  static void move(TrialStatus& trial, TrialEvent event) { move(trial, event, trial.state); }

  void close_if_over(TrialStatus& trial, const AttemptStatus& attempt) const {
    if (open(attempt)) return;
    SEEDBED_CHECK(trial.open > 0 && state.tally_.open > 0);
    --trial.open;
    --state.tally_.open;
    state.open_.erase({trial.number, attempt.number});
  }

  void operator()(const SpaceSet& r) const {
    SEEDBED_CHECK(r.revision > state.revision());
    state.space_ = r;
    if (!state.metric_chosen_ && r.metric != state.metric_) {
      state.metric_ = r.metric;
      state.curves_.clear();
    }
    auto known = std::find(state.commands_.begin(), state.commands_.end(), r.command_identity);
    if (known == state.commands_.end()) {
      known = state.commands_.insert(known, r.command_identity);
    }
    const auto command = static_cast<std::uint32_t>(known - state.commands_.begin());
    if (command != state.command_) {
      state.command_ = command;
      state.by_identity_.clear();
      for (const auto& [number, trial] : state.trials_) {
        if (trial.command == command) {
          state.by_identity_.emplace(trial.point.identity(), number);
        }
      }
    }
    Tally& tally = state.tally_;
    tally.walk = {};
    tally.walk_done = false;
    tally.trials.fill(0);
    tally.metric_missing = 0;
    for (const auto& [number, trial] : state.trials_) count(trial);
  }

  void operator()(const RunStarted& r) const {
    state.run_ = r;
    state.run_ended_.reset();
    Tally& tally = state.tally_;
    tally.run = r.run;
    tally.active = true;
    tally.run_began_at = at;
    tally.retry_failed = r.retry_failed;
    tally.stopping.reset();
    tally.slots = r.slots;
    tally.walk.asked = 0;
    tally.walk_done = false;
    tally.started_in_run = 0;
    tally.start_failures = 0;
    tally.finished_in_run = 0;
    tally.failed_in_run = 0;
  }

  void operator()(const RunStopping& r) const {
    SEEDBED_CHECK(!state.tally_.stopping || state.tally_.stopping->mode <= r.mode);
    state.tally_.stopping = r;
  }

  void operator()(const RunEnded& r) const {
    state.run_ended_ = r;
    state.tally_.active = false;
  }

  void operator()(const TrialProposed& r) const {
    TrialStatus trial;
    trial.number = r.trial;
    trial.point = r.point;
    trial.folder = r.folder;
    trial.proposal = r.proposal;
    trial.revision = r.revision;
    trial.added = r.added;
    trial.command = state.command_;
    const bool fresh_number = state.trials_.emplace(r.trial, std::move(trial)).second;
    const bool fresh_point = state.by_identity_.emplace(r.identity, r.trial).second;
    SEEDBED_CHECK(r.trial > 0 && fresh_number && fresh_point);
    count(must_trial(r.trial));
  }

  void operator()(const TrialKept& r) const {
    TrialStatus& trial = must_trial(r.trial);
    uncount(trial);
    move(trial, TrialEvent::kept);
    trial.revision = r.revision;
    trial.proposal = r.proposal;
    trial.added = trial.added || r.added;
    count(trial);
  }

  void operator()(const WalkMoved& r) const { state.tally_.walk = r; }

  void operator()(const SpaceWalked& r) const {
    state.walked_revision_ = r.revision;
    state.tally_.walk_done = true;
  }

  void operator()(const AttemptPlanned& r) const {
    TrialStatus& trial = must_trial(r.attempt.trial);
    SEEDBED_CHECK(trial.open == 0);  // at most one live attempt per trial
    SEEDBED_CHECK(r.attempt.attempt == trial.attempts.size() + 1);
    uncount(trial);
    move(trial, TrialEvent::planned);
    count(trial);
    AttemptStatus attempt;
    attempt.number = r.attempt.attempt;
    attempt.allocation = r.allocation;
    attempt.planned_at = at;
    trial.attempts.push_back(std::move(attempt));
    ++trial.open;
    ++state.tally_.open;
    ++state.tally_.unstarted;
    state.open_.insert(r.attempt);
  }

  void operator()(const AttemptStarted& r) const {
    TrialStatus& trial = must_trial(r.attempt.trial);
    AttemptStatus& attempt = must_attempt(trial, r.attempt);
    SEEDBED_CHECK(!attempt.started && attempt.phase != AttemptPhase::ended);
    if (attempt.phase == AttemptPhase::planned) attempt.phase = AttemptPhase::running;
    attempt.started = r;
    attempt.started->details_json.clear();
    attempt.started_at = at;
    --state.tally_.unstarted;
    ++state.tally_.started_in_run;
    state.tally_.start_failures = 0;
  }

  void operator()(const AttemptStopping& r) const {
    TrialStatus& trial = must_trial(r.attempt.trial);
    AttemptStatus& attempt = must_attempt(trial, r.attempt);
    SEEDBED_CHECK(attempt.phase != AttemptPhase::ended);
    attempt.phase = AttemptPhase::stopping;
    attempt.stopping = r;
  }

  void operator()(const AttemptEnded& r) const {
    TrialStatus& trial = must_trial(r.attempt.trial);
    AttemptStatus& attempt = must_attempt(trial, r.attempt);
    const bool late = attempt.phase == AttemptPhase::ended;
    SEEDBED_CHECK(!late || attempt.outcome.kind == OutcomeKind::lost);
    if (!late && !attempt.started) {
      --state.tally_.unstarted;
      if (proves_start(r.outcome.kind)) {
        ++state.tally_.started_in_run;
        state.tally_.start_failures = 0;
      }
    }
    if (r.outcome.kind == OutcomeKind::start_failed) ++state.tally_.start_failures;
    attempt.phase = AttemptPhase::ended;
    attempt.outcome = r.outcome;
    attempt.usage = r.usage;
    attempt.ended_at = at;
    if (r.outcome.kind == OutcomeKind::lost) {
      ++trial.lost_in_row;
    } else if (r.outcome.kind != OutcomeKind::stopped) {
      trial.lost_in_row = 0;
    }
    if (!late) close_if_over(trial, attempt);
  }

  void operator()(const AllocationReleased& r) const {
    TrialStatus& trial = must_trial(r.attempt.trial);
    AttemptStatus& attempt = must_attempt(trial, r.attempt);
    SEEDBED_CHECK(!attempt.released);
    attempt.released = true;
    close_if_over(trial, attempt);
  }

  void operator()(const TrialRequeued& r) const {
    TrialStatus& trial = must_trial(r.trial);
    uncount(trial);
    move(trial, TrialEvent::requeued);
    count(trial);
    trial.not_before = r.not_before;
    if (r.cause == RequeueCause::retry) ++trial.retries_used;
  }

  void operator()(const TrialFinished& r) const {
    SEEDBED_CHECK(is_terminal(r.state));
    TrialStatus& trial = must_trial(r.trial);
    uncount(trial);
    move(trial, TrialEvent::finished, r.state);
    trial.metric_missing = r.metric_missing;
    trial.reason = r.reason;
    trial.finished_at = at;
    count(trial);
    const auto curve = state.curves_.find(r.trial);
    if (curve != state.curves_.end()) {
      curve->second.finished = r.state == TrialState::completed;
    }
    if (r.state != TrialState::cancelled) ++state.tally_.finished_in_run;
    if (r.state == TrialState::failed) ++state.tally_.failed_in_run;
  }

  void operator()(const TrialReopened& r) const {
    TrialStatus& trial = must_trial(r.trial);
    uncount(trial);
    move(trial, TrialEvent::reopened);
    trial.metric_missing = false;
    trial.reason.clear();
    trial.retries_used = 0;
    trial.lost_in_row = 0;
    trial.not_before = {};
    trial.finished_at = {};
    ++trial.openings;
    count(trial);
    const auto curve = state.curves_.find(r.trial);
    if (curve != state.curves_.end()) curve->second.finished = false;
  }

  void operator()(const MetricsReported& r) const {
    TrialStatus& trial = must_trial(r.attempt.trial);
    for (const MetricPoint& point : r.points) {
      trial.last_metrics[point.name] = point.value;
      if (point.name != state.metric_ || state.metric_.empty()) continue;
      trial.last_step = point.step;
      if (!state.keeps_curves_) continue;
      Curve& curve = state.curves_[trial.number];
      curve.trial = trial.number;
      curve.finished = trial.state == TrialState::completed;
      add_curve_point(curve, {point.step, point.value});
    }
  }

  void operator()(const PauseSet& r) const {
    state.tally_.paused = r.paused;
    state.tally_.frozen = r.frozen;
  }
  void operator()(const WidthSet& r) const { state.tally_.slots = r.slots; }

  void operator()(const ResourcesHeld& r) const { state.held_ = r.held; }

  void operator()(const NoteAdded& r) const {
    if (state.notes_.size() < kNotes) state.notes_.push_back({at, r});
  }
};

void StudyState::apply(const Entry& entry) { std::visit(Applier{*this, entry.at}, entry.record); }

void StudyState::follow(std::string metric) {
  SEEDBED_CHECK(trials_.empty());
  metric_ = std::move(metric);
  metric_chosen_ = true;
}

void StudyState::keep_curves() {
  SEEDBED_CHECK(trials_.empty());
  keeps_curves_ = true;
}

const TrialStatus* StudyState::trial(TrialNumber number) const {
  const auto found = trials_.find(number);
  return found == trials_.end() ? nullptr : &found->second;
}

const TrialStatus* StudyState::by_identity(const std::string& identity) const {
  const auto found = by_identity_.find(identity);
  return found == by_identity_.end() ? nullptr : trial(found->second);
}

const AttemptStatus* StudyState::attempt(AttemptId id) const {
  const TrialStatus* owner = trial(id.trial);
  if (owner == nullptr || id.attempt == 0 || id.attempt > owner->attempts.size()) return nullptr;
  return &owner->attempts[id.attempt - 1];
}

bool StudyState::in_space(const TrialStatus& trial) const {
  return trial.command == command_ && (trial.added || trial.revision == revision());
}

const std::string& StudyState::command_of(const TrialStatus& trial) const {
  static const std::string kNone;
  return trial.command < commands_.size() ? commands_[trial.command] : kNone;
}

std::vector<AttemptId> StudyState::open_attempts() const { return {open_.begin(), open_.end()}; }

}  // namespace seedbed
