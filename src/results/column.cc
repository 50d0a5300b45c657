#include "results/column.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/text.h"

namespace seedbed {
namespace {

using CellOf = ResultCell (*)(const TrialRow& trial, Timestamp now);

ResultCell time_cell(const std::optional<Timestamp>& time) {
  if (!time) return {};
  return format_timestamp(*time);
}

double seconds(std::int64_t ms) { return static_cast<double>(ms) / 1000.0; }

ResultCell duration_cell(const TrialRow& trial, Timestamp now) {
  if (trial.usage) return seconds(trial.usage->wall_ms);
  if (trial.state != TrialState::running || !trial.started_at || trial.ended_unseen) return {};
  return seconds(std::max<std::int64_t>(0, now.ms - trial.started_at->ms));
}

template <typename Number>
ResultCell usage_cell(const TrialRow& trial, Number Usage::*field) {
  if (!trial.usage) return {};
  return static_cast<std::int64_t>((*trial.usage).*field);
}

struct OwnColumn {
  const char* name;
  const char* heading;
  CellOf cell;
};

constexpr OwnColumn kOwnColumns[] = {
    {"trial", "trial",
     [](const TrialRow& t, Timestamp) -> ResultCell {
       return static_cast<std::int64_t>(t.number);
     }},
    {"state", "state",
     [](const TrialRow& t, Timestamp) -> ResultCell {
       // What the record cannot know: its process has ended, and no controller saw it.
       return std::string(t.ended_unseen ? "interrupted" : trial_state_word(t.state));
     }},
    {"in_space", "in space", [](const TrialRow& t, Timestamp) -> ResultCell { return t.in_space; }},
    {"added", "added", [](const TrialRow& t, Timestamp) -> ResultCell { return t.added; }},
    {"attempts", "attempts",
     [](const TrialRow& t, Timestamp) -> ResultCell {
       return static_cast<std::int64_t>(t.attempts);
     }},
    {"reason", "reason", [](const TrialRow& t, Timestamp) -> ResultCell { return t.reason; }},
    {"metric_missing", "metric missing",
     [](const TrialRow& t, Timestamp) -> ResultCell { return t.metric_missing; }},
    {"outcome", "outcome",
     [](const TrialRow& t, Timestamp) -> ResultCell {
       if (!t.outcome) return {};
       return std::string(outcome_word(t.outcome->kind));
     }},
    {"exit_code", "exit code",
     [](const TrialRow& t, Timestamp) -> ResultCell {
       if (!t.outcome || t.outcome->kind != OutcomeKind::exited) return {};
       return static_cast<std::int64_t>(t.outcome->code);
     }},
    {"host", "host",
     [](const TrialRow& t, Timestamp) -> ResultCell {
       if (t.host.empty()) return {};
       return t.host;
     }},
    {"slot", "slot",
     [](const TrialRow& t, Timestamp) -> ResultCell {
       if (!t.slot) return {};
       return static_cast<std::int64_t>(*t.slot);
     }},
    {"proposed", "proposed",
     [](const TrialRow& t, Timestamp) -> ResultCell { return time_cell(t.proposed_at); }},
    {"started", "started",
     [](const TrialRow& t, Timestamp) -> ResultCell { return time_cell(t.started_at); }},
    {"finished", "finished",
     [](const TrialRow& t, Timestamp) -> ResultCell { return time_cell(t.finished_at); }},
    {"duration", "duration (s)", duration_cell},
    {"cpu", "cpu (s)",
     [](const TrialRow& t, Timestamp) -> ResultCell {
       if (!t.usage) return {};
       return seconds(t.usage->cpu_ms);
     }},
    {"peak_memory", "peak memory (bytes)",
     [](const TrialRow& t, Timestamp) -> ResultCell {
       if (!t.usage || t.usage->peak_memory == 0) return {};
       return usage_cell(t, &Usage::peak_memory);
     }},
    {"log_bytes", "log (bytes)",
     [](const TrialRow& t, Timestamp) { return usage_cell(t, &Usage::log_bytes); }},
    {"folder", "folder", [](const TrialRow& t, Timestamp) -> ResultCell { return t.folder; }},
    {"code", "code",
     [](const TrialRow& t, Timestamp) -> ResultCell {
       if (t.code.empty()) return {};
       return t.code;
     }},
};

const OwnColumn* own_column(std::string_view name) {
  for (const OwnColumn& column : kOwnColumns) {
    if (column.name == name) return &column;
  }
  return nullptr;
}

template <typename Names>
bool holds(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

TrialColumn parameter_column(std::string_view name, std::string_view head) {
  // People must be able to tell it from our own column of that name, too.
  return {{std::string(head), parameter_column_name(name, own_columns()), true},
          [wanted = std::string(name)](const TrialRow& trial) -> ResultCell {
            const Value* value = trial.point.find(wanted);
            if (value == nullptr) return {};
            return *value;
          }};
}

ResultCell real_cell(const std::optional<double>& value) {
  if (!value) return {};
  return *value;
}

// The part of a metric column behind its name: `` (last), `:best`, `:mean-last:3` …
std::optional<std::function<ResultCell(const MetricNumbers&)>> metric_part(std::string_view part,
                                                                           Goal goal) {
  using Part = std::function<ResultCell(const MetricNumbers&)>;
  if (part.empty() || part == "last") {
    return Part([](const MetricNumbers& m) -> ResultCell { return m.last; });
  }
  if (part == "first") return Part([](const MetricNumbers& m) -> ResultCell { return m.first; });
  if (part == "min") return Part([](const MetricNumbers& m) { return real_cell(m.min); });
  if (part == "max") return Part([](const MetricNumbers& m) { return real_cell(m.max); });
  if (part == "min_step") return Part([](const MetricNumbers& m) { return real_cell(m.min_step); });
  if (part == "max_step") return Part([](const MetricNumbers& m) { return real_cell(m.max_step); });
  if (part == "step" || part == "last_step") {
    return Part([](const MetricNumbers& m) -> ResultCell { return m.last_step; });
  }
  if (part == "n") {
    return Part(
        [](const MetricNumbers& m) -> ResultCell { return static_cast<std::int64_t>(m.n); });
  }
  const auto measure = Measure::parse(part);
  if (!measure) return std::nullopt;
  return Part(
      [by = *measure, goal](const MetricNumbers& m) { return real_cell(measured(m, by, goal)); });
}

std::optional<TrialColumn> metric_column(const Snapshot& snapshot, std::string_view name,
                                         std::string_view head) {
  // The longest name that fits: names of metrics may hold colons themselves.
  std::string metric;
  for (const std::string& known : snapshot.metric_names) {
    const bool fits = name == known || (name.size() > known.size() && name[known.size()] == ':' &&
                                        name.substr(0, known.size()) == known);
    if (fits && known.size() >= metric.size()) metric = known;
  }
  // The objective may be asked for before anybody has reported it.
  const std::string& objective = snapshot.metric;
  if (metric.empty() && !objective.empty() && name.substr(0, objective.size()) == objective &&
      (name.size() == objective.size() || name[objective.size()] == ':')) {
    metric = objective;
  }
  if (metric.empty()) return std::nullopt;
  std::string_view part = name.substr(metric.size());
  if (!part.empty()) part.remove_prefix(1);
  const Goal goal = snapshot.goal;
  auto cell = metric_part(part, goal);
  if (!cell) return std::nullopt;
  std::string words(part.empty() ? "last" : part);
  if (words == "best") words += fmt::format(", {}", goal_word(goal));
  return TrialColumn{{std::string(head), fmt::format("{} ({})", metric, words), false},
                     [metric, cell = std::move(*cell)](const TrialRow& trial) -> ResultCell {
                       const MetricNumbers* numbers = trial.metric(metric);
                       if (numbers == nullptr) return {};
                       return cell(*numbers);
                     }};
}

Error unknown_column(const Snapshot& snapshot, std::string_view name) {
  std::vector<std::string> known = own_columns();
  for (const std::string& parameter : snapshot.parameters) {
    known.push_back(parameter_column_name(parameter, own_columns()));
  }
  known.insert(known.end(), snapshot.metric_names.begin(), snapshot.metric_names.end());
  std::string message = fmt::format("there is no column \"{}\"", one_line(name, 60));
  if (const auto near = nearest(name, known)) {
    message += fmt::format("; did you mean \"{}\"?", one_line(*near, 60));
  } else {
    if (known.size() > 40) known.resize(40);
    for (std::string& one : known) one = one_line(one, 60);
    message += "; there are: " + join(known, ", ");
  }
  return {ErrorCode::usage, std::move(message)};
}

double number_of(const ResultCell& cell) {
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*integer);
  return std::get<double>(cell);
}

bool is_plain_number(const ResultCell& cell) {
  return std::holds_alternative<std::int64_t>(cell) || std::holds_alternative<double>(cell);
}

}  // namespace

const std::vector<std::string>& own_columns() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const OwnColumn& column : kOwnColumns) list.emplace_back(column.name);
    return list;
  }();
  return names;
}

std::optional<MeanLastColumn> mean_last_column(std::string_view name) {
  constexpr std::string_view kPart = ":mean-last:";
  const std::size_t at = name.rfind(kPart);
  if (at == std::string_view::npos || at == 0) return std::nullopt;
  const auto measure = Measure::parse(name.substr(at + 1));
  if (!measure) return std::nullopt;
  std::string_view metric = name.substr(0, at);
  constexpr std::string_view kPrefix = "metric.";
  if (metric.substr(0, kPrefix.size()) == kPrefix) metric.remove_prefix(kPrefix.size());
  return MeanLastColumn{std::string(metric), measure->count};
}

Result<TrialColumn> find_column(const Snapshot& snapshot, std::string_view name, Timestamp now) {
  constexpr std::string_view kParameter = "param.";
  constexpr std::string_view kMetric = "metric.";
  if (name.starts_with(kParameter)) {
    const std::string_view rest = name.substr(kParameter.size());
    if (holds(snapshot.parameters, rest)) return parameter_column(rest, name);
  }
  if (name.starts_with(kMetric)) {
    if (auto column = metric_column(snapshot, name.substr(kMetric.size()), name)) return *column;
  }
  if (const OwnColumn* own = own_column(name)) {
    return TrialColumn{{own->name, own->heading, false},
                       [cell = own->cell, now](const TrialRow& trial) { return cell(trial, now); }};
  }
  if (holds(snapshot.parameters, name)) return parameter_column(name, name);
  if (auto column = metric_column(snapshot, name, name)) return *column;
  return tl::unexpected<Error>(unknown_column(snapshot, name));
}

std::vector<std::string> differing_parameters(const std::vector<std::string>& names,
                                              const std::vector<const Point*>& points) {
  const auto value_in = [](const Point& point, const std::string& name) -> const Value* {
    const Value* value = point.find(name);
    return value == nullptr || value->is_absent() ? nullptr : value;
  };
  std::vector<std::string> differing;
  for (const std::string& name : names) {
    if (points.empty()) break;
    const Value* first = value_in(*points.front(), name);
    const bool differs = std::any_of(points.begin(), points.end(), [&](const Point* point) {
      const Value* other = value_in(*point, name);
      if (first == nullptr || other == nullptr) return first != other;
      return first->canonical() != other->canonical();
    });
    if (differs) differing.push_back(name);
  }
  return differing;
}

bool cell_empty(const ResultCell& cell) {
  if (std::holds_alternative<std::monostate>(cell)) return true;
  if (const auto* real = std::get_if<double>(&cell)) return std::isnan(*real);
  if (const auto* value = std::get_if<Value>(&cell)) return value->is_absent();
  return false;
}

bool cell_less(const ResultCell& a, const ResultCell& b) {
  if (is_plain_number(a) && is_plain_number(b)) return number_of(a) < number_of(b);
  if (a.index() != b.index()) return a.index() < b.index();
  if (const auto* value = std::get_if<Value>(&a)) return *value < std::get<Value>(b);
  if (const auto* text = std::get_if<std::string>(&a)) return *text < std::get<std::string>(b);
  if (const auto* truth = std::get_if<bool>(&a)) return !*truth && std::get<bool>(b);
  return false;
}

}  // namespace seedbed
