#include "reporters/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "results/measure.h"

namespace seedbed {
namespace {

constexpr TrialState kTerminal[] = {TrialState::completed, TrialState::failed, TrialState::pruned,
                                    TrialState::cancelled};

bool counts_as_finished(TrialState state) {
  return state == TrialState::completed || state == TrialState::pruned;
}

}  // namespace

const AttemptStatus* last_ended(const TrialStatus& trial) {
  for (auto attempt = trial.attempts.rbegin(); attempt != trial.attempts.rend(); ++attempt) {
    if (attempt->phase == AttemptPhase::ended) return &*attempt;
  }
  return nullptr;
}

Milliseconds wall_time(const AttemptStatus& attempt) {
  if (attempt.usage.wall_ms > 0) return Milliseconds(attempt.usage.wall_ms);
  if (attempt.started_at.ms == 0 || attempt.ended_at < attempt.started_at) return Milliseconds(0);
  return attempt.ended_at - attempt.started_at;
}

std::uint64_t running_attempts(const StudyState& state) {
  std::uint64_t running = 0;
  for (const AttemptId id : state.open_attempts()) {
    if (state.attempt(id)->phase != AttemptPhase::ended) ++running;
  }
  return running;
}

std::optional<double> last_objective(const TrialStatus& trial, const StudyState& state) {
  if (!state.space() || state.space()->metric.empty()) return std::nullopt;
  const auto found = trial.last_metrics.find(state.space()->metric);
  if (found == trial.last_metrics.end()) return std::nullopt;
  return found->second;
}

void Progress::take(const std::vector<Entry>& entries, const StudyState& state) {
  for (const Entry& entry : entries) {
    // These take trials out of the sums, or change what the best is.
    if (std::holds_alternative<SpaceSet>(entry.record) ||
        std::holds_alternative<TrialReopened>(entry.record)) {
      counted_ = false;
    }
  }
  if (!counted_) {
    count_again(state);
    return;
  }
  for (const Entry& entry : entries) {
    TrialNumber number = 0;
    if (const auto* finished = std::get_if<TrialFinished>(&entry.record)) number = finished->trial;
    if (const auto* kept = std::get_if<TrialKept>(&entry.record)) number = kept->trial;
    const TrialStatus* trial = number == 0 ? nullptr : state.trial(number);
    if (trial != nullptr) add(*trial, state);
  }
}

void Progress::count_again(const StudyState& state) {
  finished_ = 0;
  finished_ms_ = 0;
  best_ = 0;
  for (const auto& [number, trial] : state.trials()) add(trial, state);
  counted_ = true;
}

void Progress::add(const TrialStatus& trial, const StudyState& state) {
  if (!counts_as_finished(trial.state) || !state.in_space(trial)) return;
  if (const AttemptStatus* attempt = last_ended(trial)) {
    ++finished_;
    finished_ms_ += wall_time(*attempt).count();
  }
  const std::optional<double> value = last_objective(trial, state);
  if (trial.state != TrialState::completed || !value || !std::isfinite(*value)) return;
  const bool tie_won = best_ != 0 && *value == best_value_ && trial.number < best_;
  if (best_ == 0 || tie_won || better(*value, best_value_, state.space()->goal)) {
    best_ = trial.number;
    best_value_ = *value;
  }
}

std::uint64_t Progress::done(const StudyState& state) {
  std::uint64_t sum = 0;
  for (const TrialState terminal : kTerminal) sum += state.count(terminal);
  return sum;
}

std::uint64_t Progress::known(const StudyState& state) {
  return done(state) + state.count(TrialState::waiting) + state.count(TrialState::running);
}

std::optional<std::uint64_t> Progress::total(const StudyState& state) const {
  if (state.space() && state.space_walked()) return known(state);
  if (!facts_->total) return std::nullopt;
  return std::max(*facts_->total, known(state));  // added trials may come on top
}

bool Progress::total_is_bound(const StudyState& state) const {
  return facts_->total_is_bound && !(state.space() && state.space_walked());
}

std::optional<std::uint64_t> Progress::waiting(const StudyState& state) const {
  const std::optional<std::uint64_t> all = total(state);
  if (!all) return std::nullopt;
  const std::uint64_t begun = done(state) + state.count(TrialState::running);
  return *all > begun ? *all - begun : 0;
}

Estimate Progress::estimate(Timestamp now, const StudyState& state) const {
  EstimateBasis basis;
  basis.finished = finished_;
  basis.mean =
      Milliseconds(finished_ == 0 ? 0 : finished_ms_ / static_cast<std::int64_t>(finished_));
  basis.slots = state.slots();
  basis.waiting = waiting(state);
  basis.paused = state.paused();
  if (state.stopping()) basis.stop(state.stopping()->mode);
  for (const AttemptId id : state.open_attempts()) {
    const AttemptStatus* attempt = state.attempt(id);
    if (attempt == nullptr || attempt->phase == AttemptPhase::ended) continue;
    const Timestamp from = attempt->started_at.ms != 0 ? attempt->started_at : attempt->planned_at;
    basis.busy.push_back(now - from);
  }
  return estimate_end(basis);
}

namespace {

struct Group {
  TrialNumber first = 0;
  std::size_t trials = 0, seeded = 0;
  std::vector<double> values;
};

// Ties go to the lower trial, so that the answer never depends on the order of the map.
bool better_mean(const ConfigurationMean& a, const ConfigurationMean& b, Goal goal) {
  const Standing one{a.mean, !a.incomplete}, other{b.mean, !b.incomplete};
  return goes_before(one, other, goal) || (!goes_before(other, one, goal) && a.first < b.first);
}

std::optional<ConfigurationMean> best_mean(const std::map<std::string, Group>& groups,
                                           std::size_t seeds, Goal goal) {
  std::size_t most = 0;
  for (const auto& [identity, group] : groups) most = std::max(most, group.trials);
  if (most < 2) return std::nullopt;  // no replicates: the best trial says it all
  std::optional<ConfigurationMean> best;
  for (const auto& [identity, group] : groups) {
    ConfigurationMean one;
    one.first = group.first;
    one.n = group.values.size();
    one.incomplete = one.n < group.trials || (group.seeded != 0 && group.seeded < seeds);
    Mean mean;
    for (const double value : group.values) mean.add(value);
    one.mean = mean.value();
    if (!std::isfinite(one.mean)) continue;  // NaN of none
    one.deviation = sample_deviation(group.values, one.mean);
    if (!best || better_mean(one, *best, goal)) best = one;
  }
  return best;
}

}  // namespace

std::string never_run_text(std::uint64_t trials, std::uint64_t never_run) {
  if (never_run == 0) return {};
  return never_run == trials ? ", never run" : fmt::format(", {} of them never run", never_run);
}

Outside trials_outside(const StudyState& state) {
  Outside outside;
  for (const auto& [number, trial] : state.trials()) {
    if (state.in_space(trial)) continue;
    ++outside.trials;
    if (trial.attempts.empty()) ++outside.never_run;
  }
  return outside;
}

Closing make_closing(const StudyState& state, std::size_t most_failures) {
  Closing closing;
  closing.outside = trials_outside(state);
  std::map<std::string, Group> groups;
  std::set<std::string> seeds;
  for (const auto& [number, trial] : state.trials()) {
    if (!state.in_space(trial)) continue;
    Group* group = nullptr;
    if (const std::string& seed_parameter = state.space()->seed_parameter;
        !seed_parameter.empty()) {
      group = &groups[trial.point.configuration_identity(seed_parameter)];
      if (group->trials++ == 0) group->first = number;
      const Value* seed = trial.point.find(seed_parameter);
      if (seed != nullptr && !seed->is_absent()) {
        ++group->seeded;
        seeds.insert(seed->canonical());
      }
    }
    if (trial.state == TrialState::failed) {
      if (closing.failures.size() >= most_failures) {
        ++closing.failures_left_out;
        continue;
      }
      const AttemptStatus* attempt = last_ended(trial);
      closing.failures.push_back(
          {number, trial.folder,
           !trial.reason.empty() || attempt == nullptr ? trial.reason : describe(attempt->outcome),
           attempt == nullptr ? 0 : attempt->number});
    }
    if (trial.state != TrialState::completed) continue;
    const std::optional<double> value = last_objective(trial, state);
    if (!value) continue;
    const Goal goal = state.space()->goal;
    if (std::isfinite(*value) &&
        (closing.best_trial == 0 || better(*value, closing.best_value, goal))) {
      closing.best_trial = number;
      closing.best_value = *value;
    }
    if (group != nullptr) group->values.push_back(*value);
  }
  if (state.space())
    closing.best_configuration = best_mean(groups, seeds.size(), state.space()->goal);
  return closing;
}

}  // namespace seedbed
