#include "reporters/spoken.h"

#include <algorithm>
#include <span>

namespace seedbed {
namespace {

bool is_end(const Entry& entry, const StudyState& state) {
  const auto* finished = std::get_if<TrialFinished>(&entry.record);
  if (finished == nullptr) return false;
  const TrialStatus* trial = state.trial(finished->trial);
  return trial != nullptr && state.in_space(*trial);
}

bool is_plain_success(const Entry& entry) {
  const auto* finished = std::get_if<TrialFinished>(&entry.record);
  return finished != nullptr && finished->state == TrialState::completed &&
         !finished->metric_missing && finished->reason.empty();
}

}  // namespace

Spoken::Spoken(ReportFacts facts, LogTail tail, bool colour, bool every_end)
    : facts_(std::move(facts)),
      progress_(facts_),
      lines_(facts_, std::move(tail), colour),
      every_end_(every_end) {}

void Spoken::start(const StudyState& state, std::vector<std::string>& text) {
  started_ = true;
  for (std::string& line : lines_.start(state, progress_)) text.push_back(std::move(line));
}

std::size_t Spoken::first_news(const std::vector<Entry>& entries) const {
  if (started_) return 0;
  if (facts_.attached) return entries.size();
  for (std::size_t i = entries.size(); i > 0; --i) {
    if (std::holds_alternative<RunStarted>(entries[i - 1].record)) return i - 1;
  }
  return entries.size();
}

std::vector<std::string> Spoken::take(const std::vector<Entry>& entries, const StudyState& state) {
  std::vector<std::string> text;
  for (const Entry& entry : entries) now_ = std::max(now_, entry.at);
  progress_.take(entries, state);
  const std::size_t first = first_news(entries);
  if (facts_.attached && !started_) start(state, text);
  const auto news = std::span(entries).subspan(first);
  // Several trials may end in one commit; each gets its own number.
  auto still_to_say = static_cast<std::uint64_t>(std::count_if(
      news.begin(), news.end(), [&](const Entry& entry) { return is_end(entry, state); }));
  const std::uint64_t done = Progress::done(state);
  for (const Entry& entry : news) {
    if (std::holds_alternative<RunStarted>(entry.record) && !facts_.attached) start(state, text);
    if (is_end(entry, state)) --still_to_say;
    if (!every_end_ && is_plain_success(entry)) continue;
    const std::uint64_t at_entry = done > still_to_say ? done - still_to_say : 0;
    for (std::string& line : lines_.entry(entry, state, progress_, at_entry)) {
      text.push_back(std::move(line));
    }
  }
  take_stopping(state, text);
  return text;
}

void Spoken::take_stopping(const StudyState& state, std::vector<std::string>& text) {
  if (state.stopping() == stopping_) return;
  stopping_ = state.stopping();
  stopping_since_ = now_;
  if (!stopping_ || !started_) return;
  const std::uint64_t running = running_attempts(state);
  // The last trial has ended: a stop changes nothing any more.
  if (running == 0 && progress_.waiting(state) == std::uint64_t{0}) return;
  text.push_back(lines_.stopping(*stopping_, stopping_since_, now_, running));
}

std::vector<std::string> Spoken::take_time(Timestamp now, const StudyState& state) {
  std::vector<std::string> text;
  now_ = std::max(now_, now);
  if (facts_.attached && !started_) {
    progress_.take({}, state);
    start(state, text);
    take_stopping(state, text);
  }
  return text;
}

std::vector<std::string> Spoken::closing(const StudyState& state) const {
  const Timestamp began = state.tally().run_began_at;
  return lines_.closing(state, progress_,
                        now_ > began && began.ms > 0 ? now_ - began : Milliseconds(0));
}

}  // namespace seedbed
