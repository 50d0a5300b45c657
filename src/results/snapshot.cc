#include "results/snapshot.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "env/posix/study_lock.h"
#include "results/column.h"
#include "results/connection.h"
#include "results/rows.h"
#include "results/study_reader.h"
#include "store/metric_rows.h"
#include "store/schema.h"

namespace seedbed {
namespace {

void find_names(Snapshot& snapshot) {
  std::set<std::string_view> known;
  std::set<std::string> metrics;
  std::vector<const Point*> in_space;
  for (const TrialRow& trial : snapshot.trials) {
    for (const Parameter& parameter : trial.point.parameters) {
      if (known.insert(parameter.name).second) snapshot.parameters.push_back(parameter.name);
    }
    if (trial.in_space) in_space.push_back(&trial.point);
    for (const MetricNumbers& numbers : trial.metrics) metrics.insert(numbers.name);
  }
  snapshot.varying = differing_parameters(snapshot.parameters, in_space);
  snapshot.metric_names.assign(metrics.begin(), metrics.end());
}

// The last values of one metric of every trial: one walk over its points, and the curves of those
// that are thinned.
Status read_tails(const sqlite::Database& database, const std::string& name, std::uint64_t count,
                  Snapshot& snapshot) {
  const auto metric = find_metric(database, name);
  if (!metric) return propagate(metric);
  if (!*metric) return {};
  std::map<TrialNumber, MetricNumbers*> wanted;
  for (TrialRow& trial : snapshot.trials) {
    for (MetricNumbers& numbers : trial.metrics) {
      if (numbers.name != name) continue;
      if (numbers.n > kPointsKeptWhole) {
        const auto curve = read_curve(database, trial.number, **metric);
        if (!curve) return propagate(curve);
        for (const StoredPoint& point : *curve) numbers.tail.push_back(point.value);
      } else {
        wanted[trial.number] = &numbers;
      }
    }
  }
  auto rows = database.prepare("SELECT attempt, value FROM points WHERE metric=? ORDER BY id");
  if (!rows) return propagate(rows);
  rows->bind(1, **metric);
  const Status read = rows->each([&](const sqlite::Statement& row) {
    const auto found = wanted.find(attempt_of_key(row.integer(0)).trial);
    if (found != wanted.end()) found->second->tail.push_back(row.real(1));
  });
  if (!read) return read;
  for (TrialRow& trial : snapshot.trials) {
    for (MetricNumbers& numbers : trial.metrics) {
      if (numbers.name != name || numbers.tail.size() <= count) continue;
      numbers.tail.erase(numbers.tail.begin(),
                         numbers.tail.end() - static_cast<std::ptrdiff_t>(count));
    }
  }
  return {};
}

Result<Snapshot> read_snapshot(const sqlite::Database& database, const SnapshotOptions& options,
                               bool unwatched) {
  auto space = rows::read_space(database);
  if (!space) return propagate(space);
  Snapshot snapshot;
  snapshot.revision = space->revision;
  snapshot.metric = space->metric;
  snapshot.goal = space->goal;
  snapshot.seed_parameter = space->seed_parameter;
  auto trials = rows::read_trials(database, *space);
  if (!trials) return propagate(trials);
  snapshot.trials = std::move(*trials);
  Status read = rows::read_attempts(database, snapshot.trials, unwatched);
  if (read) read = rows::read_code(database, snapshot.trials);
  if (read) read = rows::read_parameters(database, snapshot.trials);
  if (read) read = rows::read_metrics(database, snapshot.trials);
  for (const auto& [name, count] : options.tails) {
    if (read) read = read_tails(database, name, count, snapshot);
  }
  if (!read) return propagate(read);
  find_names(snapshot);
  return snapshot;
}

}  // namespace

const MetricNumbers* TrialRow::metric(std::string_view name) const {
  const auto found = std::lower_bound(
      metrics.begin(), metrics.end(), name,
      [](const MetricNumbers& numbers, std::string_view wanted) { return numbers.name < wanted; });
  return found != metrics.end() && found->name == name ? &*found : nullptr;
}

const TrialRow* Snapshot::trial(TrialNumber number) const {
  const auto found = std::lower_bound(
      trials.begin(), trials.end(), number,
      [](const TrialRow& trial, TrialNumber wanted) { return trial.number < wanted; });
  return found != trials.end() && found->number == number ? &*found : nullptr;
}

Result<Snapshot> StudyReader::snapshot(const SnapshotOptions& options) const {
  const bool unwatched = !StudyLock::holder(study_dir_);
  return read_record(study_dir_, [&](const sqlite::Database& database) {
    return read_snapshot(database, options, unwatched);
  });
}

}  // namespace seedbed
