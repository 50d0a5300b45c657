#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "reporters/make_reporter.h"
#include "reporters/spoken.h"

// The live area is the last lines of the terminal. A frame goes back to its first line, writes what
// scrolls up for good, then the area anew, all in one write: nothing is ever cleared before its
// replacement is there, so nothing flickers.

namespace seedbed {
namespace {

constexpr std::size_t kMostScrolled =
    400;                               // lines kept for one frame; each is said again by status
constexpr std::size_t kMostRows = 64;  // slots shown, whatever the height
constexpr Milliseconds kLastWords{5'000};

constexpr std::string_view kHideCursor = "\x1b[?25l";
constexpr std::string_view kNoWrap = "\x1b[?7l";  // a wrongly guessed width must not add a line
constexpr std::string_view kWrap = "\x1b[?7h";
constexpr std::string_view kClearLineEnd = "\x1b[K";
constexpr std::string_view kClearBelow = "\x1b[J";

using Row = std::vector<Span>;

/// One line of the live area as it is written.
struct Drawn {
  std::string bytes;
  std::size_t columns = 0;
};

std::string bar(const StudyState& state, std::uint64_t total, std::size_t width, bool colour) {
  struct Part {
    std::uint64_t count;
    char mark;
    Style style;
  };
  const Part parts[] = {
      {state.count(TrialState::completed), '=', Style::good},
      {state.count(TrialState::failed), 'x', Style::bad},
      {state.count(TrialState::pruned) + state.count(TrialState::cancelled), '~', Style::warning},
      {state.count(TrialState::running), '>', Style::active}};
  std::string text = "[";
  double sum = 0;
  std::size_t drawn = 0;
  for (const Part& part : parts) {
    sum += static_cast<double>(part.count);
    const auto end = std::min(
        width,
        static_cast<std::size_t>(sum / static_cast<double>(std::max<std::uint64_t>(total, 1)) *
                                     static_cast<double>(width) +
                                 0.5));
    if (end > drawn) {
      text += paint(part.style, std::string(end - drawn, part.mark), colour);
      drawn = end;
    }
  }
  return text + std::string(width - drawn, '.') + "]";
}

class LiveReporter final : public Reporter {
 public:
  LiveReporter(Output& output, ReportFacts facts, LogTail tail)
      : output_(output), spoken_(std::move(facts), std::move(tail), output.colour(), false) {}

  ~LiveReporter() override {
    if (cursor_hidden_ && !silent_) output_.write(kRestoreTerminal);
  }
  LiveReporter(const LiveReporter&) = delete;
  LiveReporter& operator=(const LiveReporter&) = delete;

  void committed(const std::vector<Entry>& entries, const StudyState& state) override {
    if (silent_) return;
    scroll(spoken_.take(entries, state));
  }

  void tick(Timestamp now, const StudyState& state) override {
    if (silent_) return;
    scroll(spoken_.take_time(now, state));
    if (!spoken_.started()) return;
    if (output_.busy()) {  // a slow or stopped terminal gets the next frame, not all of them
      silent_ = !output_.write({});
      return;
    }
    draw(frame(now, state));
  }

  void trouble(const std::string& text) override {
    if (!silent_) scroll({spoken_.lines().trouble(text)});
  }

  void ended(const StudyState& state) override { finish(spoken_.closing(state)); }
  void left(const StudyState& /*state*/) override { finish(spoken_.lines().left()); }

 private:
  void scroll(std::vector<std::string> text) {
    for (std::string& line : text) {
      if (scrolled_.size() < kMostScrolled) {
        scrolled_.push_back(std::move(line));
      } else {
        ++scrolled_left_out_;
      }
    }
  }

  [[nodiscard]] std::vector<Drawn> frame(Timestamp now, const StudyState& state) const;
  void add_slots(Timestamp now, const StudyState& state, std::size_t most,
                 std::vector<Row>& rows) const;
  [[nodiscard]] Row slot_row(SlotNumber slot, AttemptId id, std::size_t label_width, Timestamp now,
                             const StudyState& state) const;
  [[nodiscard]] Row best_row(const StudyState& state) const;
  [[nodiscard]] Row hint_row(Timestamp now, const StudyState& state) const;
  [[nodiscard]] Drawn head_line(const StudyState& state, std::size_t width) const;

  void draw(const std::vector<Drawn>& lines);
  void finish(const std::vector<std::string>& last);
  [[nodiscard]] std::string back_to_top(std::size_t width) const;
  [[nodiscard]] std::string take_scrolled();

  Output& output_;
  Spoken spoken_;
  std::vector<std::string> scrolled_;  ///< to be put above the live area
  std::size_t scrolled_left_out_ = 0;
  std::vector<std::size_t> drawn_;  ///< columns of each line that stands on the terminal
  std::string shown_;               ///< the live area as last written
  bool cursor_hidden_ = false;
  bool silent_ = false;
};

std::vector<Drawn> LiveReporter::frame(Timestamp now, const StudyState& state) const {
  // One column stays free: a terminal that stands at its edge handles what follows in its own way.
  const std::size_t width = std::max<std::size_t>(output_.width(), 2) - 1;
  // One line stays free under the area, for the cursor.
  const std::size_t room = std::max<std::size_t>(output_.height(), 2) - 1;
  std::vector<Row> rows;
  const Row best = best_row(state);
  const std::size_t others = best.empty() ? 3 : 4;
  if (room > others) add_slots(now, state, std::min(room - others, kMostRows), rows);
  if (room >= 4 && !best.empty()) rows.push_back(best);
  if (room >= 3) rows.push_back({{spoken_.numbers().estimate(now, state).text()}});
  if (room >= 2) rows.push_back(hint_row(now, state));
  std::vector<Drawn> lines{head_line(state, width)};
  for (const Row& row : rows) {
    lines.push_back({compose(row, width, output_.colour()), std::min(columns_of(row), width)});
  }
  return lines;
}

void LiveReporter::add_slots(Timestamp now, const StudyState& state, std::size_t most,
                             std::vector<Row>& rows) const {
  std::map<SlotNumber, AttemptId> by_slot;
  std::size_t label_width = 0;
  for (const AttemptId id : state.open_attempts()) {
    const AttemptStatus* attempt = state.attempt(id);
    const TrialStatus* trial = state.trial(id.trial);
    if (attempt == nullptr || trial == nullptr) continue;
    by_slot[attempt->allocation.slot] = id;
    label_width = std::max(label_width, display_width(trial_label(*trial)));
  }
  // Elapsed time and metric must stay in sight beside a long name.
  const std::size_t width = output_.width();
  label_width = std::min(label_width, std::max<std::size_t>(width > 44 ? width - 44 : 0, 12));
  const bool all_fit = std::max<std::size_t>(state.slots(), by_slot.size()) <= most;
  if (all_fit) {
    for (SlotNumber slot = 0; slot < state.slots(); ++slot) by_slot.try_emplace(slot);
  }
  const bool cut = by_slot.size() > most;
  for (const auto& [slot, id] : by_slot) {
    if (rows.size() + (cut ? 1 : 0) >= most) break;
    if (id.trial == 0) {
      rows.push_back({{fmt::format("{:>4}  idle", slot), Style::faint}});
    } else {
      rows.push_back(slot_row(slot, id, label_width, now, state));
    }
  }
  if (cut) {
    rows.push_back(
        {{fmt::format("      and {} more", by_slot.size() - rows.size()), Style::faint}});
  }
}

Row LiveReporter::slot_row(SlotNumber slot, AttemptId id, std::size_t label_width, Timestamp now,
                           const StudyState& state) const {
  const AttemptStatus& attempt = *state.attempt(id);
  const TrialStatus& trial = *state.trial(id.trial);
  Row row{{fmt::format("{:>4}  ", slot), Style::faint},
          {pad_right(trial_label(trial), label_width), Style::active}};
  const Timestamp from = attempt.started_at.ms != 0 ? attempt.started_at : attempt.planned_at;
  row.push_back({pad_left(format_duration(std::max(now - from, Milliseconds(0))), 9) + "  "});
  switch (attempt.phase) {
    case AttemptPhase::planned:
      row.push_back({"starting", Style::faint});
      return row;
    case AttemptPhase::ended:
      row.push_back({"ended; its last processes are being ended", Style::faint});
      return row;
    case AttemptPhase::stopping:
      row.push_back({attempt.stopping
                         ? fmt::format("stopping ({})  ", stop_cause_word(attempt.stopping->cause))
                         : std::string("stopping  "),
                     Style::warning});
      break;
    case AttemptPhase::running:
      break;
  }
  row.push_back({progress_text(trial, state)});
  if (id.attempt > 1) row.push_back({fmt::format("  attempt {}", id.attempt), Style::faint});
  return row;
}

Row LiveReporter::best_row(const StudyState& state) const {
  const TrialStatus* trial = state.trial(spoken_.numbers().best());
  if (trial == nullptr || !state.space()) return {};
  const std::optional<double> value = last_objective(*trial, state);
  if (!value) return {};
  return {{"best  "},
          {number_text(*value), Style::good},
          {fmt::format("  ({} last {})  {}", goal_text(state.space()->goal), state.space()->metric,
                       trial_label(*trial))}};
}

Row LiveReporter::hint_row(Timestamp now, const StudyState& state) const {
  if (state.stopping()) {
    return {{spoken_.lines().stopping(*state.stopping(), spoken_.stopping_since(), now,
                                      running_attempts(state)),
             Style::warning}};
  }
  if (state.paused()) {
    const char* what = state.frozen() ? "paused: no new starts, running trials stand still; "
                                      : "paused: no new starts; ";
    return {{what, Style::warning}, {"p resumes, q leaves the view"}};
  }
  return {{"q leave the view, d drain, p pause, Ctrl-C stop", Style::faint}};
}

std::string LiveReporter::back_to_top(std::size_t width) const {
  // Terminals that became narrower have broken our lines anew; one that did not has at most blank
  // lines above the area afterwards.
  std::size_t lines = 0;
  for (const std::size_t columns : drawn_) {
    lines += std::max<std::size_t>(1, (columns + width - 1) / width);
  }
  return lines == 0 ? "\r" : fmt::format("\r\x1b[{}A", lines);
}

Drawn LiveReporter::head_line(const StudyState& state, std::size_t width) const {
  constexpr std::size_t kLeastBar = 10;
  constexpr std::size_t kMostBar = 40;
  constexpr std::size_t kAround = 4;  // two blanks and two brackets
  const std::optional<std::uint64_t> total = spoken_.numbers().total(state);
  Row head{{spoken_.facts().study, Style::strong}, {"  "}};
  for (const Span& span : counts_text(state, spoken_.numbers())) head.push_back(span);
  Drawn line{compose(head, width, output_.colour()), std::min(columns_of(head), width)};
  if (!total || line.columns + kLeastBar + kAround > width) return line;
  const std::size_t bar_width = std::min(width - line.columns - kAround, kMostBar);
  line.bytes += "  " + bar(state, *total, bar_width, output_.colour());
  line.columns += bar_width + kAround;
  return line;
}

void LiveReporter::draw(const std::vector<Drawn>& lines) {
  std::string area;
  for (const Drawn& line : lines) {
    area += line.bytes;
    area += kClearLineEnd;
    area += '\n';
  }
  if (scrolled_.empty() && area == shown_) return;
  std::string bytes;
  if (!cursor_hidden_) bytes += kHideCursor;
  cursor_hidden_ = true;
  bytes += back_to_top(std::max<std::size_t>(output_.width(), 1));
  bytes += take_scrolled();
  bytes += kNoWrap;
  bytes += area;
  bytes += kClearBelow;
  bytes += kWrap;
  shown_ = std::move(area);
  drawn_.clear();
  for (const Drawn& line : lines) drawn_.push_back(line.columns);
  silent_ = !output_.write(bytes);
}

std::string LiveReporter::take_scrolled() {
  if (scrolled_.empty()) return "";
  // These lines may be wider than the terminal and wrap, so what they cover is cleared before.
  std::string bytes(kClearBelow);
  for (const std::string& line : scrolled_) bytes += line + '\n';
  if (scrolled_left_out_ > 0) {
    bytes += fmt::format("(and {} line{} more; seedbed status has all)\n", scrolled_left_out_,
                         scrolled_left_out_ == 1 ? "" : "s");
  }
  scrolled_.clear();
  scrolled_left_out_ = 0;
  return bytes;
}

void LiveReporter::finish(const std::vector<std::string>& last) {
  if (silent_) return;
  std::string bytes = back_to_top(std::max<std::size_t>(output_.width(), 1));
  bytes += take_scrolled();
  bytes += kClearBelow;
  for (const std::string& line : last) bytes += line + '\n';
  bytes += kRestoreTerminal;
  drawn_.clear();
  cursor_hidden_ = false;
  output_.write(bytes);
  output_.drain(kLastWords);
  silent_ = true;
}

}  // namespace

std::unique_ptr<Reporter> make_live_reporter(Output& output, ReportFacts facts, LogTail tail) {
  return std::make_unique<LiveReporter>(output, std::move(facts), std::move(tail));
}

}  // namespace seedbed
