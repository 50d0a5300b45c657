#include "results/best_so_far.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/random.h"
#include "results/connection.h"
#include "results/measure.h"
#include "results/rows.h"
#include "results/study_reader.h"
#include "store/metric_rows.h"
#include "study/point.h"

namespace seedbed {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// One walk over the tables that keeps nothing of a trial: a snapshot of ten thousand takes several
// times as long to make as to judge.
class Search {
 public:
  explicit Search(const rows::Space& space) : space_(space) {}

  Status walk(const sqlite::Database& database, std::int64_t metric) {
    auto values = rows::Beside::prepare(
        database,
        fmt::format("SELECT trial, last_value FROM metrics WHERE metric={} ORDER BY trial",
                    metric));
    if (!values) return propagate(values);
    auto parameters =
        rows::Beside::prepare(database,
                              "SELECT trial, name, kind, spelling, canonical_json FROM parameters "
                              "ORDER BY trial, position");
    if (!parameters) return propagate(parameters);
    return database.each(
        "SELECT trial, state, revision, added, command_of FROM trials ORDER BY trial",
        [&](const sqlite::Statement& row) { return take(row, *values, *parameters); });
  }

  [[nodiscard]] std::optional<BestSoFar> found() const {
    if (single_.trial == 0) return std::nullopt;
    BestSoFar best{space_.metric, space_.goal, single_.value, single_.trial, replicated_, {}, 1,
                   false};
    if (!replicated_) return best;
    const Group* first = nullptr;
    for (const Group& group : groups_) {
      if (first == nullptr || before(group, *first)) first = &group;
    }
    if (!std::isfinite(first->mean.value())) return std::nullopt;
    best.value = first->mean.value();
    best.trial = first->best.trial;
    best.n = first->n;
    best.incomplete = !complete(*first);
    return best;
  }

 private:
  struct Leader {
    TrialNumber trial = 0;
    double value = kNone;
    void take(TrialNumber number, double other, Goal goal) {
      if (better(other, value, goal)) *this = {number, other};
    }
  };
  // Trials that differ only in the seed.
  struct Group {
    std::uint64_t trials = 0, seeded = 0, n = 0;
    Mean mean;
    Leader best;
  };

  [[nodiscard]] bool complete(const Group& group) const {
    return group.n == group.trials && (group.seeded == 0 || group.seeded == seeds_.size());
  }

  [[nodiscard]] bool before(const Group& a, const Group& b) const {
    return goes_before({a.mean.value(), complete(a)}, {b.mean.value(), complete(b)}, space_.goal);
  }

  Status take(const sqlite::Statement& row, rows::Beside& values, rows::Beside& parameters) {
    const std::int64_t trial = row.integer(0);
    const bool in_space =
        space_.holds(static_cast<std::uint32_t>(row.integer(2)), row.integer(3) != 0,
                     static_cast<std::uint32_t>(row.integer(4)));
    if (!in_space) return {};
    std::optional<double> value;
    if (row.view(1) == trial_state_word(TrialState::completed)) {
      const auto reported = values.next(trial);
      if (!reported) return propagate(reported);
      if (*reported != nullptr) value = (*reported)->real(1);
    }
    const auto number = static_cast<TrialNumber>(trial);
    if (value) single_.take(number, *value, space_.goal);
    if (space_.seed_parameter.empty()) return {};
    const auto group = group_of(trial, parameters);
    if (!group) return propagate(group);
    if (++(*group)->trials > 1) replicated_ = true;
    if (value) {
      ++(*group)->n;
      (*group)->mean.add(*value);
      (*group)->best.take(number, *value, space_.goal);
    }
    return {};
  }

  Result<Group*> group_of(std::int64_t trial, rows::Beside& parameters) {
    Point point;
    std::optional<std::string> seed;
    while (true) {
      const auto row = parameters.next(trial);
      if (!row) return propagate(row);
      if (*row == nullptr) break;
      auto parameter = rows::parameter_at(**row, 1);
      if (!parameter) continue;
      if (parameter->name == space_.seed_parameter) {
        if (!parameter->value.is_absent()) seed = parameter->value.canonical();
      } else {
        point.parameters.push_back(std::move(*parameter));
      }
    }
    const auto [known, fresh] =
        index_.emplace(hash_text(point.configuration_identity({})), groups_.size());
    if (fresh) groups_.emplace_back();
    Group& group = groups_[known->second];
    if (seed) {
      ++group.seeded;
      seeds_.insert(std::move(*seed));
    }
    return &group;
  }

  const rows::Space& space_;
  Leader single_;
  bool replicated_ = false;
  std::vector<Group> groups_;  // in the order of their first trials, which win a tie
  std::unordered_map<std::uint64_t, std::size_t> index_;
  std::unordered_set<std::string> seeds_;
};

Result<std::optional<BestSoFar>> find_best(const sqlite::Database& database) {
  const auto space = rows::read_space(database);
  if (!space) return propagate(space);
  const auto metric = find_metric(database, space->metric);
  if (!metric) return propagate(metric);
  if (space->metric.empty() || !*metric) return std::optional<BestSoFar>();
  Search search(*space);
  if (const Status walked = search.walk(database, **metric); !walked) return propagate(walked);
  auto best = search.found();
  if (!best || !best->of_configuration) return best;
  std::vector<TrialRow> trials(1);
  trials.front().number = best->trial;
  const Status read = rows::read_parameters(database, trials, best->trial);
  if (!read) return propagate(read);
  best->configuration = std::move(trials.front().point);
  std::erase_if(best->configuration.parameters,
                [&](const Parameter& one) { return one.name == space->seed_parameter; });
  return best;
}

}  // namespace

Result<std::optional<BestSoFar>> StudyReader::best_so_far() const {
  return read_record(study_dir_, find_best);
}

}  // namespace seedbed
