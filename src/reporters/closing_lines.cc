#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "reporters/configuration_text.h"
#include "reporters/lines.h"

namespace seedbed {
namespace {

constexpr std::size_t kMostFailures = 20;
constexpr std::size_t kMostColumns = 300;  // of the parameters; `seedbed best` shows all

}  // namespace

std::string configuration_text(const Point& point, std::string_view seed_parameter,
                               std::size_t most_columns) {
  std::string text;
  for (const Parameter& parameter : point.parameters) {
    if (parameter.name == seed_parameter || parameter.value.is_absent()) continue;
    if (!text.empty()) text += ' ';
    text += parameter.name + "=" + shell_quote(parameter.value.spelling());
  }
  return one_line(text.empty() ? "(no parameters)" : text, most_columns);
}

namespace {

/// What trials without the named metric reported: the nearest to it, else the first by name.
std::string metric_seen(const StudyState& state) {
  std::set<std::string> names;
  for (const auto& [number, trial] : state.trials()) {
    if (!trial.metric_missing || !state.in_space(trial)) continue;
    for (const auto& [name, value] : trial.last_metrics) names.insert(name);
  }
  if (names.empty() || !state.space()) return {};
  const std::string& metric = state.space()->metric;
  if (auto near = nearest(metric, {names.begin(), names.end()})) return *near;
  const auto holds = std::find_if(names.begin(), names.end(), [&metric](const std::string& name) {
    return name.find(metric) != std::string::npos;
  });
  return holds == names.end() ? *names.begin() : *holds;
}

}  // namespace

void Lines::add_best(const Closing& closing, const StudyState& state, Text& text) const {
  if (!state.space() || state.space()->metric.empty()) return;
  const SpaceSet& space = *state.space();
  const std::string what = fmt::format("{} last {}", goal_text(space.goal), space.metric);
  if (closing.best_trial == 0) {
    if (state.count(TrialState::completed) > 0) {
      text.push_back(paint_line(
          {{fmt::format("best     none: no completed trial has a finite {}", space.metric)}}));
    }
    return;
  }
  bool of_another = false;  // the best trial is not one of the best configuration
  if (closing.best_configuration) {
    const ConfigurationMean& best = *closing.best_configuration;
    const TrialStatus* trial = state.trial(best.first);
    const TrialStatus* single = state.trial(closing.best_trial);
    if (trial != nullptr) {
      of_another =
          single != nullptr && single->point.configuration_identity(space.seed_parameter) !=
                                   trial->point.configuration_identity(space.seed_parameter);
      std::string value = number_text(best.mean);
      if (best.deviation) value += " ± " + number_text(*best.deviation);
      value += fmt::format(" (n={}{})", best.n, best.incomplete ? ", a seed is missing" : "");
      text.push_back(paint_line(
          {{"best     "},
           {configuration_text(trial->point, space.seed_parameter, kMostColumns), Style::strong},
           {"  " + value, Style::good},
           {fmt::format("  ({}, mean over {})", what, space.seed_parameter)}}));
    }
  }
  if (const TrialStatus* trial = state.trial(closing.best_trial)) {
    if (of_another) {
      text.push_back(paint_line({{"  best single trial "},
                                 {number_text(closing.best_value), Style::good},
                                 {": "},
                                 {trial_label(*trial), Style::strong}}));
      return;
    }
    text.push_back(paint_line({{closing.best_configuration ? "  trial  " : "best     "},
                               {trial_label(*trial), Style::strong},
                               {"  " + number_text(closing.best_value), Style::good},
                               {fmt::format("  ({})", what)}}));
  }
}

Lines::Text Lines::closing(const StudyState& state, const Progress& numbers,
                           Milliseconds took) const {
  Text text;
  const Closing closing = make_closing(state, kMostFailures);
  const std::uint64_t waiting = numbers.waiting(state).value_or(state.count(TrialState::waiting));
  std::vector<Span> head{{"study    "}, {facts_->study, Style::strong}};
  const bool nothing_run = state.tally().started_in_run == 0 && waiting == 0 && !facts_->attached;
  head.push_back({nothing_run ? ": nothing was left to run: "
                              : fmt::format(": ended after {}: ", format_duration(took))});
  for (const Span& span : counts_text(state, numbers)) head.push_back(span);
  text.push_back(paint_line(head));
  if (state.run_ended()) {
    const RunEnded& end = *state.run_ended();
    if (end.exit_code != 0 || !end.reason.empty()) {
      text.push_back(paint_line(
          {{"end      "},
           {end.reason.empty() ? fmt::format("exit code {}", end.exit_code)
                               : fmt::format("{} (exit code {})", end.reason, end.exit_code)}}));
    }
  }
  const std::uint64_t missing = state.tally().metric_missing;
  if (missing > 0 && state.space()) {
    text.push_back(paint_line({{"warning  ", Style::warning},
                               {fmt::format("{} completed trial{} never reported {}", missing,
                                            missing == 1 ? "" : "s", state.space()->metric)}}));
  }
  for (const ClosingFailure& failure : closing.failures) {
    std::string log;
    if (failure.attempt > 0) {
      log = "; log " + log_path(facts_->study_dir, failure.folder, failure.attempt);
    }
    text.push_back(paint_line({{"failed   ", Style::bad},
                               {failure.folder, Style::strong},
                               {": " + failure.reason + log}}));
  }
  if (closing.failures_left_out > 0) {
    text.push_back(fmt::format("         and {} more: seedbed status {}", closing.failures_left_out,
                               word_for_commands()));
  }
  add_best(closing, state, text);
  text.push_back(paint_line({{"records  "}, {facts_->study_dir}}));
  const std::string word = word_for_commands();
  const std::string run_again =
      facts_->run_again.empty() ? "seedbed run --study " + word : facts_->run_again;
  if (waiting > 0) {
    text.push_back("continue " + run_again);
  } else if (!closing.failures.empty()) {
    text.push_back(fmt::format("again    {} --retry-failed", run_again));
  } else if (const std::string seen = missing > 0 ? metric_seen(state) : ""; !seen.empty()) {
    text.push_back(fmt::format("again    {} --metric {} --goal {}", run_again, shell_quote(seen),
                               goal_text(state.space()->goal)));
  }
  text.push_back(state.space() && !state.space()->metric.empty()
                     ? fmt::format("more     seedbed compare {0}, seedbed best {0}", word)
                     : fmt::format("more     seedbed trials {}", word));
  return text;
}

}  // namespace seedbed
