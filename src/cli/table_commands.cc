#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <memory>
#include <utility>

#include "base/local_time.h"
#include "base/number_text.h"
#include "base/shown_text.h"
#include "base/text.h"
#include "cli/invocation.h"
#include "cli/option_checks.h"
#include "cli/print_table.h"
#include "cli/result_print.h"
#include "cli/text_wrap.h"
#include "env/posix/posix.h"
#include "results/compare.h"
#include "results/study_reader.h"
#include "results/trials_table.h"

// trials, compare, best, export: tables of results.

namespace seedbed {
namespace {

std::vector<std::string> comma_words(const std::vector<std::string>& given) {
  std::vector<std::string> words;
  for (const std::string& one : given) {
    for (const std::string_view part : split(one, ',')) {
      if (!trim(part).empty()) words.emplace_back(trim(part));
    }
  }
  return words;
}

Result<StudyReader> open_reader(const Invocation& invocation) {
  auto dir = find_study(invocation);
  if (!dir) return propagate(dir);
  return StudyReader::open(*dir);
}

/// People read the time of their clock; JSON and CSV keep UTC.
void show_local_times(ResultTable& table) {
  constexpr std::array<std::string_view, 3> kTimes = {"proposed", "started", "finished"};
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const ResultColumn& column = table.columns[i];
    if (column.is_parameter ||
        std::find(kTimes.begin(), kTimes.end(), column.name) == kTimes.end()) {
      continue;
    }
    for (auto& row : table.rows) {
      if (auto* time = std::get_if<std::string>(&row[i])) *time = local_time_of(*time);
    }
  }
}

struct TrialsOptions {
  std::string where;
  std::vector<std::string> sort, columns;
  std::optional<std::uint64_t> limit;
};

Result<int> trials(const Invocation& invocation, const TrialsOptions& given) {
  auto reader = open_reader(invocation);
  if (!reader) return propagate(reader);
  TrialsTableOptions options;
  options.where = given.where;
  options.sort = comma_words(given.sort);
  options.columns = comma_words(given.columns);
  options.limit = given.limit;
  options.now = make_posix_clock()->wall();
  options.all_parameters = invocation.output != "text";
  auto snapshot = reader->snapshot(needed_for(options));
  if (!snapshot) return propagate(snapshot);
  auto table = trials_table(*snapshot, options);
  if (!table) return propagate(table);
  if (invocation.output == "text") show_local_times(*table);
  print_table(to_table(*table), invocation.output);
  return 0;
}

struct CompareWords {
  std::string metric, goal, by = "last";
  bool all = false, single = false;
};

Result<CompareOptions> read_compare(const CompareWords& words) {
  CompareOptions options;
  options.metric = words.metric;
  if (words.goal == "minimize") options.goal = Goal::minimize;
  if (words.goal == "maximize") options.goal = Goal::maximize;
  auto by = Measure::parse(words.by);
  if (!by) return tl::unexpected(by.error().with_context("--by"));
  options.by = *by;
  options.include_outside = words.all;
  return options;
}

/// With the last values of the metric where mean-last:N wants them; the objective's name is only
/// known after a first look.
Result<Snapshot> snapshot_for(const StudyReader& reader, const CompareOptions& options) {
  auto snapshot = reader.snapshot(needed_for(options, options.metric));
  if (!snapshot || !options.metric.empty() || options.by.kind != Measure::Kind::mean_last) {
    return snapshot;
  }
  return reader.snapshot(needed_for(options, snapshot->metric));
}

std::string goal_name(Goal goal) { return goal == Goal::maximize ? "maximize" : "minimize"; }

/// `seeds 1, 2 failed; seed 3 running`.
std::string missing_text(const Configuration& row) {
  std::vector<std::string> parts, reasons;
  for (const MissingSeed& missing : row.missing) {
    if (std::find(reasons.begin(), reasons.end(), missing.why) != reasons.end()) continue;
    reasons.push_back(missing.why);
    std::vector<std::string> seeds;
    for (const MissingSeed& other : row.missing) {
      if (other.why == missing.why && !other.seed.is_absent()) {
        seeds.push_back(one_line(other.seed.spelling(), 40));
      }
    }
    parts.push_back(seeds.empty() ? missing.why
                                  : fmt::format("seed{} {} {}", seeds.size() == 1 ? "" : "s",
                                                join(seeds, ", "), missing.why));
  }
  return join(parts, "; ");
}

Table comparison_table(const Comparison& comparison) {
  constexpr std::array<std::string_view, 5> kOwn = {"mean", "std", "n", "missing", "trials"};
  Table table;
  const std::string what = comparison.metric + " (" + comparison.by.text() + ")";
  for (const std::string& name : comparison.varying) {
    table.columns.push_back({parameter_column_name(name, kOwn)});
  }
  table.columns.push_back({"mean", "mean " + what, Align::right});
  table.columns.push_back({"std", "std (n-1)", Align::right});
  table.columns.push_back({"n", "n", Align::right});
  table.columns.push_back({"missing", "missing"});
  table.columns.push_back({"trials", "trials"});
  for (const Configuration& row : comparison.rows) {
    std::vector<Cell> cells;
    for (const std::string& name : comparison.varying) {
      const Value* value = row.point.find(name);
      cells.push_back(value == nullptr ? Cell() : Cell::value(*value));
    }
    cells.push_back(row.mean ? Cell::number(*row.mean) : Cell());
    cells.push_back(row.std ? Cell::number(*row.std) : Cell());
    cells.push_back(Cell::integer(static_cast<std::int64_t>(row.n)));
    cells.push_back(row.missing.empty() ? Cell() : Cell::text(missing_text(row), Style::warning));
    std::vector<std::string> numbers;
    for (const TrialNumber trial : row.trials) numbers.push_back(std::to_string(trial));
    cells.push_back(Cell::text(join(numbers, " ")));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

Result<int> compare_command(const Invocation& invocation, const CompareWords& words) {
  auto options = read_compare(words);
  if (!options) return propagate(options);
  auto reader = open_reader(invocation);
  if (!reader) return propagate(reader);
  auto snapshot = snapshot_for(*reader, *options);
  if (!snapshot) return propagate(snapshot);
  auto comparison = compare(*snapshot, *options);
  if (!comparison) return propagate(comparison);
  print_table(comparison_table(*comparison), invocation.output);
  if (invocation.output == "text") {
    std::printf("%s: %s, best first; std is the sample standard deviation over %s\n",
                one_line(comparison->metric).c_str(), goal_name(comparison->goal).c_str(),
                comparison->seed_parameter.empty() ? "equal settings"
                                                   : one_line(comparison->seed_parameter).c_str());
  }
  return 0;
}

/// Without a row: nothing has completed yet.
Table empty_best_table() {
  Table table;
  table.columns = {{"trial", "trial", Align::right},
                   {"metric"},
                   {"goal"},
                   {"by"},
                   {"value", "value", Align::right},
                   {"std", "std (n-1)", Align::right},
                   {"n", "n", Align::right}};
  return table;
}

Table best_table(const Best& found, const Snapshot& snapshot) {
  Table table = empty_best_table();
  std::vector<Cell> row = {Cell::integer(static_cast<std::int64_t>(found.trial)),
                           Cell::text(found.metric), Cell::text(goal_name(found.goal)),
                           Cell::text(found.by.text()), Cell::number(found.value)};
  const Point* point = &snapshot.trial(found.trial)->point;
  if (found.configuration) {
    point = &found.configuration->point;
    row.push_back(found.configuration->std ? Cell::number(*found.configuration->std) : Cell());
    row.push_back(Cell::integer(static_cast<std::int64_t>(found.configuration->n)));
  } else {
    row.emplace_back();
    row.push_back(Cell::integer(1));
  }
  std::vector<std::string> own;
  for (const Column& column : table.columns) own.push_back(column.name);
  for (const Parameter& parameter : point->parameters) {
    table.columns.push_back({parameter_column_name(parameter.name, own)});
    row.push_back(Cell::value(parameter.value));
  }
  table.rows.push_back(std::move(row));
  return table;
}

void print_best(const Best& found, const Snapshot& snapshot, const TrialDetails& details) {
  const bool grouped = found.configuration.has_value();
  std::printf("best %s by %s (%s), %s: %s%s\n", grouped ? "configuration" : "trial",
              one_line(found.metric).c_str(), found.by.text().c_str(),
              goal_name(found.goal).c_str(), number_text(found.value).c_str(),
              grouped ? " (mean over its seeds)" : "");
  if (grouped) {
    const Configuration& row = *found.configuration;
    std::printf("  n %llu%s%s\n", static_cast<unsigned long long>(row.n),
                row.std ? (", std " + number_text(*row.std)).c_str() : "",
                row.missing.empty() ? "" : ("; missing: " + missing_text(row)).c_str());
  }
  const Point& point = grouped ? found.configuration->point : snapshot.trial(found.trial)->point;
  for (const Parameter& parameter : point.parameters) {
    std::printf("  %s = %s\n", one_line(parameter.name).c_str(),
                parameter.value.is_absent() ? "(absent)"
                                            : shown_text(parameter.value.spelling(), 200).c_str());
  }
  if (found.not_finite > 0) {
    std::printf("  %llu completed trial%s ended in nan or inf and %s never best\n",
                static_cast<unsigned long long>(found.not_finite), found.not_finite == 1 ? "" : "s",
                found.not_finite == 1 ? "is" : "are");
  }
  std::printf("%srepeat trial %llu:\n%s\n", grouped ? "its best trial; " : "",
              static_cast<unsigned long long>(found.trial),
              wrap_shell_line(details.repeat_line(), "  ").c_str());
}

Result<int> best_command(const Invocation& invocation, const CompareWords& words) {
  auto options = read_compare(words);
  if (!options) return propagate(options);
  auto reader = open_reader(invocation);
  if (!reader) return propagate(reader);
  auto snapshot = snapshot_for(*reader, *options);
  if (!snapshot) return propagate(snapshot);
  const bool any = std::any_of(
      snapshot->trials.begin(), snapshot->trials.end(), [&words](const TrialRow& trial) {
        return trial.state == TrialState::completed && (trial.in_space || words.all);
      });
  if (!any && invocation.output == "text") {
    std::printf("no trial has completed yet\n");
    return 0;
  }
  if (!any) {
    print_table(empty_best_table(), invocation.output);
    return 0;
  }
  auto found = words.single ? best_trial(*snapshot, *options) : best(*snapshot, *options);
  if (!found) return propagate(found);
  if (invocation.output != "text") {
    print_table(best_table(*found, *snapshot), invocation.output);
    return 0;
  }
  auto details = reader->trial(found->trial);
  if (!details) return propagate(details);
  print_best(*found, *snapshot, *details);
  return 0;
}

Table points_table(const KeptCurve& curve) {
  Table table;
  table.columns = {{"trial"}, {"attempt"}, {"metric"}, {"step"}, {"value"}, {"time"}};
  for (const KeptCurve::Point& point : curve.points) {
    table.rows.push_back({Cell::integer(static_cast<std::int64_t>(curve.trial)),
                          Cell::integer(point.attempt), Cell::text(curve.metric),
                          Cell::number(point.step), Cell::number(point.value),
                          Cell::text(format_timestamp(point.at))});
  }
  return table;
}

/// A row per kept point of every curve, written curve by curve: there may be millions.
Result<int> export_points(const StudyReader& reader, const std::string& form) {
  const bool csv = form == "csv", array = form == "json";
  if (csv) print_table(points_table({}), form);  // the header
  if (array) std::fputs("[", stdout);
  bool first = true;
  const Status read = reader.each_curve([&](const KeptCurve& curve) {
    std::string text = csv ? csv_table(points_table(curve)) : json_lines_table(points_table(curve));
    if (csv) text.erase(0, text.find('\n') + 1);
    for (const std::string_view line : split(text, '\n')) {
      if (line.empty()) continue;
      if (array) std::fputs(std::exchange(first, false) ? "\n" : ",\n", stdout);
      std::fwrite(line.data(), 1, line.size(), stdout);
      if (!array) std::fputc('\n', stdout);
    }
  });
  if (array) std::fputs("\n]\n", stdout);
  if (!read) return propagate(read);
  return 0;
}

Result<int> export_command(const Invocation& invocation, bool points) {
  auto reader = open_reader(invocation);
  if (!reader) return propagate(reader);
  if (points) return export_points(*reader, invocation.output);
  auto snapshot = reader->snapshot();
  if (!snapshot) return propagate(snapshot);
  print_table(to_table(export_table(*snapshot)), invocation.output);
  return 0;
}

void add_compare_options(CLI::App& command, CompareWords& words) {
  command.add_option("--metric", words.metric, "Another metric than the study's");
  one_of(command.add_option("--goal", words.goal, "minimize or maximize"),
         {"minimize", "maximize"});
  command.add_option("--by", words.by, "last, best or mean-last:N")->capture_default_str();
  command.add_flag("--all", words.all, "Trials outside the present space too");
}

}  // namespace

void add_trials_command(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<TrialsOptions>();
  CLI::App* command = app.add_subcommand("trials", "Table of trials");
  add_study_options(*command, invocation);
  command->add_option("--where", options->where, "Only rows where this holds");
  repeatable(
      command->add_option("--sort", options->sort, "Columns, with commas; -NAME: descending"));
  repeatable(command->add_option("--columns", options->columns, "Columns to show, with commas"));
  whole_number(command->add_option("--limit", options->limit, "At most so many rows"), 0,
               std::numeric_limits<std::uint64_t>::max());
  add_output_option(*command, invocation, {"text", "json", "jsonl", "csv"});
  command->footer(
      "Example:\n  seedbed trials --where \"lr < 0.01 and state == 'completed'\" "
      "--sort=-acc --limit 10");
  command->callback([&invocation, options] {
    invocation.action = [&invocation, options] { return trials(invocation, *options); };
  });
}

void add_compare_command(CLI::App& app, Invocation& invocation) {
  auto words = std::make_shared<CompareWords>();
  CLI::App* command =
      app.add_subcommand("compare", "One row per setting: mean, std and n over the seeds");
  add_study_options(*command, invocation);
  add_compare_options(*command, *words);
  add_output_option(*command, invocation, {"text", "json", "jsonl", "csv"});
  command->footer("Example:\n  seedbed compare digits --metric val/acc --by mean-last:10");
  command->callback([&invocation, words] {
    invocation.action = [&invocation, words] { return compare_command(invocation, *words); };
  });
}

void add_best_command(CLI::App& app, Invocation& invocation) {
  auto words = std::make_shared<CompareWords>();
  CLI::App* command = app.add_subcommand("best", "The best setting, and the line that repeats it");
  add_study_options(*command, invocation);
  add_compare_options(*command, *words);
  command->add_flag("--single", words->single, "Compare single trials, not means over seeds");
  add_output_option(*command, invocation, {"text", "json", "jsonl", "csv"});
  command->footer("Example:\n  seedbed best digits --metric val/acc --goal maximize");
  command->callback([&invocation, words] {
    invocation.action = [&invocation, words] { return best_command(invocation, *words); };
  });
}

void add_export_command(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("export", "Everything, in stable columns");
  add_study_options(*command, invocation);
  one_of(command->add_option("--format,--output", invocation.output,
                             "Form of the output (default: csv)"),
         {"csv", "json", "jsonl"});
  auto points = std::make_shared<bool>(false);
  command->add_flag("--points", *points, "A row per metric point, instead of per trial");
  command->footer("Example:\n  seedbed export digits --format csv > digits.csv");
  command->callback([&invocation, points] {
    invocation.action = [&invocation, points] {
      if (invocation.output == "text") invocation.output = "csv";
      return export_command(invocation, *points);
    };
  });
}

}  // namespace seedbed
