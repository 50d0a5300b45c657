#include "results/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "results/column.h"
#include "study/readers.h"

namespace seedbed {
namespace {

std::string names_seen(const Snapshot& snapshot) {
  if (snapshot.metric_names.empty()) return "no trial has reported any metric";
  constexpr std::size_t kMostNames = 20;
  std::vector<std::string> names;
  for (const std::string& name : snapshot.metric_names) {
    if (names.size() == kMostNames) break;
    names.push_back(one_line(name, 60));
  }
  return "metrics seen: " + join(names, ", ") +
         (snapshot.metric_names.size() > kMostNames ? ", …" : "");
}

Error unknown_metric(const Snapshot& snapshot, const std::string& metric) {
  std::string message =
      fmt::format("no trial has reported \"{}\"; {}", one_line(metric, 60), names_seen(snapshot));
  if (const auto near = nearest(metric, snapshot.metric_names)) {
    message += fmt::format("; did you mean \"{}\"?", one_line(*near, 60));
  }
  return {ErrorCode::usage, std::move(message)};
}

Result<std::string> metric_of(const Snapshot& snapshot, const CompareOptions& options) {
  const std::string& metric = options.metric.empty() ? snapshot.metric : options.metric;
  if (metric.empty()) {
    return fail(ErrorCode::usage, "the study names no metric; name one with --metric NAME (" +
                                      names_seen(snapshot) + ")");
  }
  // Before the first report the objective's own name is as good as it gets.
  const bool seen =
      std::binary_search(snapshot.metric_names.begin(), snapshot.metric_names.end(), metric);
  if (!seen && !options.metric.empty()) {
    return tl::unexpected<Error>(unknown_metric(snapshot, metric));
  }
  return metric;
}

bool takes_part(const TrialRow& trial, const CompareOptions& options) {
  return trial.in_space || options.include_outside;
}

std::optional<double> value_of(const TrialRow& trial, const Comparison& comparison) {
  if (trial.state != TrialState::completed) return std::nullopt;
  const MetricNumbers* numbers = trial.metric(comparison.metric);
  if (numbers == nullptr) return std::nullopt;
  return measured(*numbers, comparison.by, comparison.goal);
}

Point without(const Point& point, const std::string& name) {
  Point rest;
  for (const Parameter& parameter : point.parameters) {
    if (parameter.name != name) rest.parameters.push_back(parameter);
  }
  return rest;
}

// Trials by configuration, in the order of their first trials.
class Grouping {
 public:
  Grouping(const Snapshot& snapshot, const CompareOptions& options, Comparison& comparison)
      : comparison_(comparison) {
    for (const TrialRow& trial : snapshot.trials) {
      if (takes_part(trial, options)) add(trial);
    }
    find_seeds();
    for (Group& group : groups_) finish(group);
  }

 private:
  struct Group {
    Configuration row;
    std::vector<const TrialRow*> trials;
  };

  void add(const TrialRow& trial) {
    const std::string& seed = comparison_.seed_parameter;
    std::string key = trial.point.configuration_identity(seed);
    // The same point under an earlier command is another experiment.
    const int copy = copies_[trial.point.identity()]++;
    if (copy > 0) key += fmt::format("\ncopy {}", copy);
    const auto [known, fresh] = index_.emplace(std::move(key), groups_.size());
    if (fresh) {
      groups_.push_back({});
      groups_.back().row.point = without(trial.point, seed);
    }
    groups_[known->second].trials.push_back(&trial);
  }

  void find_seeds() {
    if (comparison_.seed_parameter.empty()) return;
    std::set<Value> seeds;
    for (const Group& group : groups_) {
      for (const TrialRow* trial : group.trials) {
        const Value* seed = trial->point.find(comparison_.seed_parameter);
        if (seed != nullptr && !seed->is_absent()) seeds.insert(*seed);
      }
    }
    comparison_.seeds.assign(seeds.begin(), seeds.end());
  }

  [[nodiscard]] std::string why_missing(const TrialRow& trial) const {
    if (trial.state == TrialState::completed) return "no metric";
    return std::string(trial_state_word(trial.state));
  }

  void finish(Group& group) {
    Configuration& row = group.row;
    std::set<Value> present;
    bool has_seed = false;
    for (const TrialRow* trial : group.trials) {
      row.trials.push_back(trial->number);
      const Value* seed = trial->point.find(comparison_.seed_parameter);
      const bool seeded = seed != nullptr && !seed->is_absent();
      has_seed = has_seed || seeded;
      if (seeded) present.insert(*seed);
      if (const auto value = value_of(*trial, comparison_)) {
        row.counted.push_back(trial->number);
        row.values.push_back(*value);
      } else {
        row.missing.push_back({seeded ? *seed : Value(), why_missing(*trial), trial->number});
      }
    }
    for (const Value& seed : comparison_.seeds) {
      if (has_seed && !present.contains(seed)) row.missing.push_back({seed, "no trial", 0});
    }
    std::stable_sort(row.missing.begin(), row.missing.end(),
                     [](const MissingSeed& a, const MissingSeed& b) { return a.seed < b.seed; });
    row.n = row.values.size();
    if (row.n > 0) {
      Mean over;
      for (const double value : row.values) over.add(value);
      row.mean = over.value();
      row.std = sample_deviation(row.values, *row.mean);
    }
    comparison_.rows.push_back(std::move(row));
  }

  Comparison& comparison_;
  std::vector<Group> groups_;
  std::map<std::string, std::size_t> index_;
  std::map<std::string, int> copies_;
};

bool has_mean(const Configuration& row) { return row.mean && std::isfinite(*row.mean); }

// Those without any result are the last of all.
void sort_rows(Comparison& comparison) {
  std::stable_sort(comparison.rows.begin(), comparison.rows.end(),
                   [&](const Configuration& a, const Configuration& b) {
                     if (!a.mean || !b.mean) return a.mean && !b.mean;
                     return goes_before({*a.mean, a.missing.empty()}, {*b.mean, b.missing.empty()},
                                        comparison.goal);
                   });
}

/// The study's goal is that of its own metric; another one has the direction of its name.
Goal goal_of(const Snapshot& snapshot, const CompareOptions& options, const std::string& metric) {
  if (options.goal) return *options.goal;
  if (metric == snapshot.metric) return snapshot.goal;
  return more_is_better(metric) ? Goal::maximize : Goal::minimize;
}

Comparison start(const Snapshot& snapshot, const CompareOptions& options, std::string metric) {
  Comparison comparison;
  comparison.metric = std::move(metric);
  comparison.goal = goal_of(snapshot, options, comparison.metric);
  comparison.by = options.by;
  comparison.seed_parameter = snapshot.seed_parameter;
  for (const std::string& name : snapshot.parameters) {
    if (name != snapshot.seed_parameter) comparison.parameters.push_back(name);
  }
  return comparison;
}

// Fills in what trials there are; an error says why none can be best.
Result<Best> judge_trials(const Snapshot& snapshot, const CompareOptions& options,
                          const Comparison& comparison) {
  Best best;
  best.metric = comparison.metric;
  best.goal = comparison.goal;
  best.by = comparison.by;
  std::uint64_t completed = 0;
  for (const TrialRow& trial : snapshot.trials) {
    if (!takes_part(trial, options)) continue;
    if (trial.state == TrialState::completed) ++completed;
    const auto value = value_of(trial, comparison);
    if (!value) continue;
    ++best.candidates;
    if (!std::isfinite(*value)) ++best.not_finite;
    if (best.trial == 0 ? std::isfinite(*value) : better(*value, best.value, best.goal)) {
      best.trial = trial.number;
      best.value = *value;
    }
  }
  if (best.trial != 0) return best;
  if (completed == 0) return fail(ErrorCode::usage, "no trial has completed yet");
  if (best.candidates == 0) {
    return tl::unexpected<Error>(unknown_metric(snapshot, comparison.metric));
  }
  return fail(ErrorCode::usage,
              fmt::format("none of {} completed trial{} has a finite {} of \"{}\": NaN and "
                          "infinities are never best",
                          best.candidates, best.candidates == 1 ? "" : "s", best.by.text(),
                          one_line(best.metric, 60)));
}

}  // namespace

Result<Comparison> compare(const Snapshot& snapshot, const CompareOptions& options) {
  auto metric = metric_of(snapshot, options);
  if (!metric) return propagate(metric);
  Comparison comparison = start(snapshot, options, std::move(*metric));
  const Grouping grouped(snapshot, options, comparison);
  sort_rows(comparison);
  std::vector<const Point*> points;
  for (const Configuration& row : comparison.rows) points.push_back(&row.point);
  comparison.varying = differing_parameters(comparison.parameters, points);
  return comparison;
}

Result<Best> best_trial(const Snapshot& snapshot, const CompareOptions& options) {
  auto metric = metric_of(snapshot, options);
  if (!metric) return propagate(metric);
  return judge_trials(snapshot, options, start(snapshot, options, std::move(*metric)));
}

Result<std::vector<TrialNumber>> ranked_trials(const Snapshot& snapshot,
                                               const CompareOptions& options) {
  auto metric = metric_of(snapshot, options);
  if (!metric) return propagate(metric);
  const Comparison comparison = start(snapshot, options, std::move(*metric));
  std::vector<std::pair<double, TrialNumber>> ranked;
  for (const TrialRow& trial : snapshot.trials) {
    const auto value = value_of(trial, comparison);
    if (!takes_part(trial, options) || !value || !std::isfinite(*value)) continue;
    ranked.emplace_back(*value, trial.number);
  }
  std::stable_sort(ranked.begin(), ranked.end(), [&](const auto& a, const auto& b) {
    return better(a.first, b.first, comparison.goal);
  });
  std::vector<TrialNumber> trials;
  for (const auto& [value, trial] : ranked) trials.push_back(trial);
  return trials;
}

Result<Best> best(const Snapshot& snapshot, const CompareOptions& options) {
  const auto comparison = compare(snapshot, options);
  if (!comparison) return propagate(comparison);
  auto result = judge_trials(snapshot, options, *comparison);
  const bool replicated =
      std::any_of(comparison->rows.begin(), comparison->rows.end(),
                  [](const Configuration& row) { return row.trials.size() > 1; });
  if (!result || !replicated) return result;
  const Configuration& first = comparison->rows.front();
  if (!has_mean(first)) {
    return fail(ErrorCode::usage,
                fmt::format("no configuration has a finite mean of \"{}\": each has a seed whose "
                            "{} is NaN or infinite",
                            one_line(result->metric, 60), result->by.text()));
  }
  result->configuration = first;
  result->value = *first.mean;
  result->trial = 0;
  double best_value = 0;
  for (std::size_t i = 0; i < first.values.size(); ++i) {
    if (result->trial != 0 && !better(first.values[i], best_value, result->goal)) continue;
    result->trial = first.counted[i];
    best_value = first.values[i];
  }
  return result;
}

SnapshotOptions needed_for(const CompareOptions& options, const std::string& objective_metric) {
  SnapshotOptions needed;
  const std::string& metric = options.metric.empty() ? objective_metric : options.metric;
  if (options.by.kind == Measure::Kind::mean_last && !metric.empty()) {
    needed.tails[metric] = options.by.count;
  }
  return needed;
}

}  // namespace seedbed
