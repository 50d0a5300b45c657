#include "results/trials_table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "results/column.h"
#include "study/expression.h"

namespace seedbed {
namespace {

constexpr std::size_t kMostOtherMetrics = 4;  // of the default columns

std::vector<std::string> default_columns(const Snapshot& snapshot,
                                         const std::set<std::string>& parameters) {
  std::vector<std::string> names = {"trial", "state"};
  bool outside = false, again = false, reason = false, versions = false;
  for (const TrialRow& trial : snapshot.trials) {
    outside = outside || !trial.in_space;
    again = again || trial.attempts > 1;
    reason = reason || !trial.reason.empty();
    versions = versions || (!trial.code.empty() && trial.code != snapshot.trials.front().code);
  }
  if (outside) names.emplace_back("in_space");
  for (const std::string& name : snapshot.parameters) {
    if (!parameters.contains(name)) continue;
    names.push_back(parameter_column_name(name, own_columns()));
  }
  if (!snapshot.metric.empty()) {
    names.push_back("metric." + snapshot.metric);
    names.push_back("metric." + snapshot.metric + ":best");
  }
  std::size_t others = 0;
  for (const std::string& name : snapshot.metric_names) {
    if (name == snapshot.metric || others == kMostOtherMetrics) continue;
    names.push_back("metric." + name);
    ++others;
  }
  names.emplace_back("duration");
  if (again) names.emplace_back("attempts");
  if (versions) names.emplace_back("code");
  if (reason) names.emplace_back("reason");
  return names;
}

// The parameters that the rows need to be told apart, and those that the user asks about.
std::set<std::string> default_parameters(const Snapshot& snapshot,
                                         const std::vector<const TrialRow*>& rows,
                                         const std::vector<std::string>& asked) {
  std::vector<const Point*> points;
  for (const TrialRow* row : rows) points.push_back(&row->point);
  std::set<std::string> shown(snapshot.varying.begin(), snapshot.varying.end());
  for (std::string& name : differing_parameters(snapshot.parameters, points)) {
    shown.insert(std::move(name));
  }
  for (const std::string& name : snapshot.parameters) {
    if (std::find(asked.begin(), asked.end(), name) != asked.end() ||
        std::find(asked.begin(), asked.end(), "param." + name) != asked.end()) {
      shown.insert(name);
    }
  }
  return shown;
}

// A metric is shown under its bare name unless that is another column's already.
void shorten_metric(ResultColumn& head, const Snapshot& snapshot) {
  constexpr std::string_view kPrefix = "metric.";
  if (!head.name.starts_with(kPrefix)) return;
  const std::string_view bare = std::string_view(head.name).substr(kPrefix.size());
  const auto is_it = [bare](const std::string& name) { return name == bare; };
  if (std::any_of(own_columns().begin(), own_columns().end(), is_it) ||
      std::any_of(snapshot.parameters.begin(), snapshot.parameters.end(), is_it)) {
    return;
  }
  head.name.erase(0, kPrefix.size());
}

// What an expression sees of a cell; nothing: absent.
std::optional<Value> value_of(const ResultCell& cell) {
  if (cell_empty(cell)) return std::nullopt;
  if (const auto* value = std::get_if<Value>(&cell)) return *value;
  if (const auto* truth = std::get_if<bool>(&cell)) return Value::boolean(*truth);
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return Value::integer(*integer);
  if (const auto* text = std::get_if<std::string>(&cell)) return Value::from_text(*text);
  constexpr double kMost = std::numeric_limits<double>::max();
  return Value::real(std::clamp(std::get<double>(cell), -kMost, kMost));
}

class Filter {
 public:
  static Result<Filter> make(const Snapshot& snapshot, const TrialsTableOptions& options) {
    Filter filter;
    if (options.where.empty()) return filter;
    auto expression = Expression::parse(options.where);
    if (!expression) return tl::unexpected<Error>(expression.error().with_context("--where"));
    for (const std::string& name : expression->names()) {
      auto column = find_column(snapshot, name, options.now);
      if (!column) return tl::unexpected<Error>(column.error().with_context("--where"));
      filter.columns_.emplace(name, std::move(*column));
    }
    filter.expression_ = std::move(*expression);
    return filter;
  }

  [[nodiscard]] Result<bool> keeps(const TrialRow& trial) const {
    if (!expression_) return true;
    std::map<std::string, Value, std::less<>> values;
    for (const auto& [name, column] : columns_) {
      if (auto value = value_of(column.cell(trial))) values.emplace(name, std::move(*value));
    }
    return expression_->holds([&](std::string_view name) -> const Value* {
      const auto found = values.find(name);
      return found == values.end() ? nullptr : &found->second;
    });
  }

  void add_parameters(std::vector<std::string>& names) const {
    for (const auto& [name, column] : columns_) {
      if (column.head.is_parameter) names.push_back(column.head.name);
    }
  }

 private:
  std::optional<Expression> expression_;
  std::map<std::string, TrialColumn> columns_;
};

struct SortKey {
  TrialColumn column;
  bool descending = false;
};

Result<std::vector<SortKey>> sort_keys(const Snapshot& snapshot,
                                       const TrialsTableOptions& options) {
  std::vector<SortKey> keys;
  for (const std::string& word : options.sort) {
    // A column that really begins with a dash goes before the dash that turns the order.
    auto column = find_column(snapshot, word, options.now);
    const bool descending = !column && !word.empty() && word[0] == '-';
    if (descending) column = find_column(snapshot, std::string_view(word).substr(1), options.now);
    if (!column) return tl::unexpected<Error>(column.error().with_context("--sort"));
    keys.push_back({std::move(*column), descending});
  }
  return keys;
}

void sort_trials(std::vector<const TrialRow*>& trials, const std::vector<SortKey>& keys) {
  std::vector<std::vector<ResultCell>> cells;
  cells.reserve(trials.size());
  for (const TrialRow* trial : trials) {
    std::vector<ResultCell> row;
    for (const SortKey& key : keys) row.push_back(key.column.cell(*trial));
    cells.push_back(std::move(row));
  }
  std::vector<std::size_t> order(trials.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    for (std::size_t k = 0; k < keys.size(); ++k) {
      const ResultCell& x = cells[a][k];
      const ResultCell& y = cells[b][k];
      if (cell_empty(x) != cell_empty(y)) return cell_empty(y);
      if (cell_empty(x)) continue;
      if (cell_less(x, y)) return !keys[k].descending;
      if (cell_less(y, x)) return keys[k].descending;
    }
    return false;
  });
  std::vector<const TrialRow*> sorted;
  sorted.reserve(trials.size());
  for (const std::size_t i : order) sorted.push_back(trials[i]);
  trials = std::move(sorted);
}

Result<std::vector<TrialColumn>> shown_columns(const Snapshot& snapshot,
                                               const TrialsTableOptions& options,
                                               const Filter& filter,
                                               const std::vector<SortKey>& keys,
                                               const std::vector<const TrialRow*>& rows) {
  std::vector<std::string> names = options.columns;
  const bool by_default = names.empty();
  if (by_default && options.all_parameters) {
    names = default_columns(snapshot, {snapshot.parameters.begin(), snapshot.parameters.end()});
  } else if (by_default) {
    std::vector<std::string> asked;
    filter.add_parameters(asked);
    for (const SortKey& key : keys) {
      if (key.column.head.is_parameter) asked.push_back(key.column.head.name);
    }
    names = default_columns(snapshot, default_parameters(snapshot, rows, asked));
  }
  std::vector<TrialColumn> columns;
  for (const std::string& name : names) {
    auto column = find_column(snapshot, name, options.now);
    if (!column) return tl::unexpected<Error>(column.error().with_context("--columns"));
    if (by_default) shorten_metric(column->head, snapshot);
    columns.push_back(std::move(*column));
  }
  return columns;
}

}  // namespace

SnapshotOptions needed_for(const TrialsTableOptions& options) {
  SnapshotOptions needed;
  const auto look = [&](std::string_view name) {
    if (!name.empty() && name[0] == '-') name.remove_prefix(1);
    const auto column = mean_last_column(name);
    if (!column) return;
    std::uint64_t& count = needed.tails[column->metric];
    count = std::max(count, column->count);
  };
  for (const std::string& name : options.columns) look(name);
  for (const std::string& name : options.sort) look(name);
  if (const auto expression = Expression::parse(options.where); expression) {
    for (const std::string& name : expression->names()) look(name);
  }
  return needed;
}

Result<ResultTable> trials_table(const Snapshot& snapshot, const TrialsTableOptions& options) {
  const auto filter = Filter::make(snapshot, options);
  if (!filter) return propagate(filter);
  const auto keys = sort_keys(snapshot, options);
  if (!keys) return propagate(keys);

  std::vector<const TrialRow*> trials;
  for (const TrialRow& trial : snapshot.trials) {
    const auto keeps = filter->keeps(trial);
    if (!keeps) {
      return tl::unexpected<Error>(
          keeps.error().with_context("--where at trial " + std::to_string(trial.number)));
    }
    if (*keeps) trials.push_back(&trial);
  }
  if (!keys->empty()) sort_trials(trials, *keys);
  if (options.limit && trials.size() > *options.limit) trials.resize(*options.limit);
  const auto columns = shown_columns(snapshot, options, *filter, *keys, trials);
  if (!columns) return propagate(columns);

  ResultTable table;
  for (const TrialColumn& column : *columns) table.columns.push_back(column.head);
  table.rows.reserve(trials.size());
  for (const TrialRow* trial : trials) {
    std::vector<ResultCell> row;
    row.reserve(columns->size());
    for (const TrialColumn& column : *columns) row.push_back(column.cell(*trial));
    table.rows.push_back(std::move(row));
  }
  return table;
}

ResultTable export_table(const Snapshot& snapshot) {
  ResultTable table;
  std::vector<TrialColumn> columns;
  const auto add = [&](const std::string& lookup, std::string name) {
    auto column = find_column(snapshot, lookup, {});
    if (!column) return;
    column->head.heading = name;
    column->head.name = std::move(name);
    columns.push_back(std::move(*column));
  };
  for (const std::string& name : own_columns()) add(name, name);
  for (const std::string& name : snapshot.parameters) add("param." + name, "param." + name);
  for (const std::string& name : snapshot.metric_names) {
    for (const char* part : {"last", "last_step", "min", "min_step", "max", "max_step", "n"}) {
      add("metric." + name + ":" + part, "metric." + name + "." + part);
    }
  }
  for (const TrialColumn& column : columns) table.columns.push_back(column.head);
  table.rows.reserve(snapshot.trials.size());
  for (const TrialRow& trial : snapshot.trials) {
    std::vector<ResultCell> row;
    row.reserve(columns.size());
    for (const TrialColumn& column : columns) row.push_back(column.cell(trial));
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace seedbed
