#include "reporters/lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace seedbed {
namespace {

constexpr std::size_t kTailLines = 8;
constexpr std::size_t kTailColumns = 2000;     // of one line of a log; the log itself has all
constexpr std::uint64_t kTailedFailures = 50;  // later failures show their log's path alone

std::string plural(std::uint64_t count, std::string_view word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

std::string after_wall_time(const AttemptStatus* attempt) {
  return attempt == nullptr ? "" : " after " + format_duration(wall_time(*attempt));
}

std::string attempt_note(const AttemptStatus* attempt) {
  return attempt == nullptr || attempt->number < 2 ? ""
                                                   : fmt::format(" (attempt {})", attempt->number);
}

/// `note     others hold cores 0-3 and GPU-a: nothing is placed there`.
std::string held_line(const Held& held) {
  if (held.empty()) return "note     nobody else holds cores or GPUs any more";
  std::vector<std::string> parts;
  if (!held.cores.empty()) {
    parts.push_back(fmt::format("core{} {}", held.cores.size() == 1 ? "" : "s",
                                number_ranges({held.cores.begin(), held.cores.end()})));
  }
  if (!held.devices.empty()) {
    parts.push_back(fmt::format("GPU{} {}", held.devices.size() == 1 ? "" : "s",
                                one_line(join({held.devices.begin(), held.devices.end()}, ", "))));
  }
  return fmt::format("note     others hold {}: nothing is placed there", join(parts, " and "));
}

bool is_information(const NoteAdded& note) {
  return note.kind == "info" || note.kind.rfind("info_", 0) == 0;
}

}  // namespace

std::string log_path(const std::string& study_dir, const std::string& folder,
                     std::uint32_t attempt) {
  return fmt::format("{}/trials/{}/attempt-{}.log", study_dir, folder, attempt);
}

std::string trial_label(const TrialStatus& trial) {
  return trial.folder.empty() ? fmt::format("{:05}", trial.number) : one_line(trial.folder);
}

std::string_view goal_text(Goal goal) { return goal == Goal::minimize ? "minimize" : "maximize"; }

std::string metrics_text(const TrialStatus& trial, const StudyState& state) {
  if (state.space() && !state.space()->metric.empty()) {
    const std::optional<double> value = last_objective(trial, state);
    return value ? one_line(state.space()->metric) + "=" + number_text(*value) : "";
  }
  std::string text;
  int shown = 0;
  for (const auto& [name, value] : trial.last_metrics) {
    if (++shown > 2) break;
    text += (text.empty() ? "" : " ") + one_line(name) + "=" + number_text(value);
  }
  return text;
}

std::string progress_text(const TrialStatus& trial, const StudyState& state) {
  std::string text;
  if (trial.last_step) text = "step " + number_text(*trial.last_step);
  const std::string metrics = metrics_text(trial, state);
  if (!metrics.empty()) text += (text.empty() ? "" : "  ") + metrics;
  return text;
}

std::vector<Span> counts_text(const StudyState& state, const Progress& numbers) {
  struct One {
    std::uint64_t count;
    std::string_view word;
    Style style;
    bool always;
  };
  const std::uint64_t waiting = numbers.waiting(state).value_or(state.count(TrialState::waiting));
  const One all[] = {
      {state.count(TrialState::completed), "completed", Style::good, true},
      {state.count(TrialState::failed), "failed", Style::bad, false},
      {state.count(TrialState::pruned), "pruned", Style::warning, false},
      {state.count(TrialState::cancelled), "cancelled", Style::warning, false},
      {state.count(TrialState::running), "running", Style::active, false},
      {waiting, "waiting", Style::plain, false},
  };
  std::vector<Span> spans;
  for (const One& one : all) {
    if (one.count == 0 && !one.always) continue;
    if (!spans.empty()) spans.push_back({", "});
    spans.push_back({fmt::format("{} {}", one.count, one.word), one.style});
  }
  return spans;
}

Lines::Lines(const ReportFacts& facts, LogTail tail, bool colour)
    : facts_(&facts), tail_(std::move(tail)), colour_(colour) {}

std::string Lines::paint_line(const std::vector<Span>& spans) const {
  return compose(spans, 0, colour_);
}

std::string Lines::word_for_commands() const {
  return shell_quote(facts_->study_word.empty() ? facts_->study : facts_->study_word);
}

std::string Lines::counter(const StudyState& state, const Progress& numbers,
                           std::uint64_t done) const {
  const std::optional<std::uint64_t> total = numbers.total(state);
  if (!total) return fmt::format("[{:>3}/?] ", done);
  const std::string all = std::to_string(*total);
  return fmt::format("[{:>{}}/{}{}] ", done, all.size(), numbers.total_is_bound(state) ? "≤" : "",
                     all);
}

Lines::Text Lines::start(const StudyState& state, const Progress& numbers) const {
  Text text;
  const std::optional<std::uint64_t> total = numbers.total(state);
  std::string size = "trials not counted";
  if (total) {
    size = (numbers.total_is_bound(state) ? "at most " : "") + plural(*total, "trial");
  }
  const std::uint64_t done = Progress::done(state);
  if (done > 0) size += fmt::format(", {} done before", done);
  size += ", " + plural(state.slots(), "slot");
  text.push_back(paint_line({{"study    "}, {facts_->study, Style::strong}, {": " + size}}));
  text.push_back(paint_line({{"records  "}, {facts_->study_dir}}));
  if (state.run()) {
    std::string machine = "machine  " + state.run()->host;
    if (facts_->attached) machine += fmt::format(" (pid {})", state.run()->pid);
    if (!state.run()->machine.empty()) machine += ": " + state.run()->machine;
    text.push_back(paint_line({{machine}}));
  }
  if (state.space() && !state.space()->metric.empty()) {
    text.push_back(paint_line(
        {{fmt::format("goal     {} {}", goal_text(state.space()->goal), state.space()->metric)}}));
  }
  return text;
}

Lines::Text Lines::entry(const Entry& entry, const StudyState& state, const Progress& numbers,
                         std::uint64_t done) {
  Text text;
  const std::string number = counter(state, numbers, done);
  if (const auto* finish = std::get_if<TrialFinished>(&entry.record)) {
    finished(*finish, state, number, text);
  } else if (const auto* again = std::get_if<TrialRequeued>(&entry.record)) {
    requeued(*again, entry.at, state, number, text);
  } else if (const auto* opened = std::get_if<TrialReopened>(&entry.record)) {
    const TrialStatus* trial = state.trial(opened->trial);
    if (trial == nullptr) return text;
    text.push_back(paint_line(
        {{number}, {trial_label(*trial), Style::strong}, {" waits again: " + opened->why}}));
  } else if (const auto* note = std::get_if<NoteAdded>(&entry.record)) {
    const TrialStatus* trial = note->trial == 0 ? nullptr : state.trial(note->trial);
    std::vector<Span> spans;
    if (trial != nullptr) {
      spans = {{number}, {trial_label(*trial), Style::strong}, {" note: " + note->text}};
    } else if (is_information(*note)) {
      spans = {{"note     " + note->text}};
    } else {
      spans = {{"warning  ", Style::warning}, {note->text}};
    }
    text.push_back(paint_line(spans));
  } else if (const auto* pause = std::get_if<PauseSet>(&entry.record)) {
    text.push_back(!pause->paused  ? "resumed: new starts again"
                   : pause->frozen ? "paused: no new starts, running trials stand still"
                                   : "paused: no new starts");
  } else if (const auto* others = std::get_if<ResourcesHeld>(&entry.record)) {
    text.push_back(held_line(others->held));
  } else if (const auto* width = std::get_if<WidthSet>(&entry.record)) {
    text.push_back(fmt::format("now {}", plural(width->slots, "slot")));
  } else if (std::holds_alternative<SpaceWalked>(entry.record)) {
    const Outside outside = trials_outside(state);
    if (outside.trials > 0) {
      text.push_back(fmt::format("note     {} of earlier runs outside the present space{}",
                                 plural(outside.trials, "trial"),
                                 never_run_text(outside.trials, outside.never_run)));
    }
  }
  return text;
}

void Lines::finished(const TrialFinished& record, const StudyState& state,
                     const std::string& number, Text& text) {
  const TrialStatus* trial = state.trial(record.trial);
  if (trial == nullptr) return;
  const AttemptStatus* attempt = last_ended(*trial);
  const bool ran_now = !trial->attempts.empty() && attempt == &trial->attempts.back();
  const std::string reason = record.reason.empty() ? "" : ": " + record.reason;
  std::string metrics = metrics_text(*trial, state);
  if (!metrics.empty()) metrics.insert(0, "  ");
  std::vector<Span> spans{{number}, {trial_label(*trial), Style::strong}, {" "}};
  const auto say = [&](std::string_view word, Style style, const std::string& rest) {
    spans.push_back({std::string(word), style});
    spans.push_back({rest});
  };
  switch (record.state) {
    case TrialState::completed: {
      const std::string took =
          attempt == nullptr ? "" : " in " + format_duration(wall_time(*attempt));
      std::string missing;
      if (record.metric_missing && reason.empty() && state.space()) {
        missing = ", but never reported " + state.space()->metric;
      }
      say("completed", record.metric_missing ? Style::warning : Style::good,
          took + attempt_note(attempt) + missing + reason + metrics);
      break;
    }
    case TrialState::failed: {
      std::string why = reason;
      if (why.empty() && attempt != nullptr) why = ": " + describe(attempt->outcome);
      say("failed", Style::bad, after_wall_time(attempt) + attempt_note(attempt) + why);
      break;
    }
    case TrialState::pruned:
      say("pruned", Style::warning, after_wall_time(attempt) + reason + metrics);
      break;
    case TrialState::cancelled:
      say("cancelled", Style::warning, (ran_now ? after_wall_time(attempt) : "") + reason);
      break;
    case TrialState::waiting:
    case TrialState::running:
      return;  // not an end
  }
  text.push_back(paint_line(spans));
  if (record.state == TrialState::failed && attempt != nullptr) add_tail(*trial, *attempt, text);
}

void Lines::requeued(const TrialRequeued& record, Timestamp at, const StudyState& state,
                     const std::string& number, Text& text) {
  const TrialStatus* trial = state.trial(record.trial);
  if (trial == nullptr) return;
  const AttemptStatus* attempt = last_ended(*trial);
  std::vector<Span> spans{{number}, {trial_label(*trial), Style::strong}, {" "}};
  if (attempt == nullptr || record.cause == RequeueCause::unclaimed) {
    spans.push_back({"never began; waits again"});
    text.push_back(paint_line(spans));
    return;
  }
  if (record.cause != RequeueCause::retry) {
    spans.push_back({std::string(requeue_cause_word(record.cause)), Style::warning});
    spans.push_back({after_wall_time(attempt) + "; waits again"});
    text.push_back(paint_line(spans));
    return;
  }
  spans.push_back({fmt::format("attempt {} ", attempt->number)});
  spans.push_back({"failed", Style::bad});
  std::string when = fmt::format("; retry {}", trial->retries_used);
  if (record.not_before > at) when += " in " + format_duration(record.not_before - at);
  spans.push_back({after_wall_time(attempt) + ": " + describe(attempt->outcome) + when});
  text.push_back(paint_line(spans));
  add_tail(*trial, *attempt, text);
}

void Lines::add_tail(const TrialStatus& trial, const AttemptStatus& attempt, Text& text) {
  const std::string prefix = "  " + trial_label(trial) + " | ";
  if (tail_ && tails_shown_ < kTailedFailures) {
    ++tails_shown_;
    for (const std::string& line : tail_(trial.folder, attempt.number, kTailLines)) {
      text.push_back(paint_line({{prefix, Style::faint}, {one_line(line, kTailColumns)}}));
    }
    if (tails_shown_ == kTailedFailures) {
      text.push_back(
          fmt::format("  (after {} failures the last lines of their logs are no longer shown here)",
                      kTailedFailures));
    }
  }
  const std::string path = log_path(facts_->study_dir, trial.folder, attempt.number);
  text.push_back(paint_line({{prefix + "log: " + path, Style::faint}}));
}

std::string Lines::progress(Timestamp now, const StudyState& state, const Progress& numbers) const {
  constexpr std::size_t kMostTrials = 8;
  std::vector<std::string> trials;
  std::size_t more = 0;
  for (const AttemptId id : state.open_attempts()) {
    const TrialStatus* trial = state.trial(id.trial);
    const AttemptStatus* attempt = state.attempt(id);
    if (trial == nullptr || attempt == nullptr || attempt->phase == AttemptPhase::ended) continue;
    if (trials.size() >= kMostTrials) {
      ++more;
      continue;
    }
    const Timestamp from = attempt->started_at.ms != 0 ? attempt->started_at : attempt->planned_at;
    std::string one =
        trial_label(*trial) + " " + format_duration(std::max(now - from, Milliseconds(0)));
    const std::string progress = progress_text(*trial, state);
    if (!progress.empty()) one += " " + progress;
    trials.push_back(std::move(one));
  }
  if (more > 0) trials.push_back(fmt::format("and {} more", more));
  std::vector<Span> spans{{counter(state, numbers, Progress::done(state))}};
  for (const Span& span : counts_text(state, numbers)) spans.push_back(span);
  spans.push_back({"; " + numbers.estimate(now, state).text()});
  if (!trials.empty()) spans.push_back({"; now " + join(trials, ", ")});
  return paint_line(spans);
}

std::string Lines::stopping(const RunStopping& stopping, Timestamp since, Timestamp now,
                            std::uint64_t running) const {
  const std::string trials = plural(running, "running trial");
  std::string text;
  if (running == 0 && stopping.mode != StopMode::leave) {
    text = "no new starts";
    return one_line(stopping.reason.empty() ? text : text + " (" + stopping.reason + ")");
  }
  switch (stopping.mode) {
    case StopMode::drain:
      text =
          fmt::format("draining: {} may finish, no new starts; Ctrl-C asks them to stop", trials);
      break;
    case StopMode::stop: {
      const Milliseconds left = std::max(facts_->grace - (now - since), Milliseconds(0));
      text = fmt::format("stopping: {} asked to end, killed in {}s; Ctrl-C again kills now", trials,
                         std::chrono::ceil<std::chrono::seconds>(left).count());
      break;
    }
    case StopMode::kill:
      text = fmt::format("killing {} now; Ctrl-C again leaves at once", trials);
      break;
    case StopMode::leave:
      text = "leaving: the slots end their trials by themselves";
      break;
  }
  return one_line(stopping.reason.empty() ? text : text + " (" + stopping.reason + ")");
}

std::string Lines::trouble(const std::string& text) const {
  return paint_line({{"warning  ", Style::warning}, {text}});
}

Lines::Text Lines::left() const {
  const std::string word = word_for_commands();
  return {fmt::format("the study goes on without this view: seedbed attach {}", word),
          fmt::format("to stop it: seedbed stop {}", word)};
}

}  // namespace seedbed
