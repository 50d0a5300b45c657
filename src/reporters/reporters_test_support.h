#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/text.h"
#include "engine/state.h"
#include "reporters/make_reporter.h"

// What the tests of this room share: an output in memory, a small terminal, a study that is told by
// records, and golden files.

namespace seedbed::testing {

/// Keeps what is written. Width, height and colours are as the test says.
class MemoryOutput final : public Output {
 public:
  bool write(std::string_view bytes) override {
    if (gone) return false;
    if (!bytes.empty()) writes.emplace_back(bytes);
    return true;
  }
  [[nodiscard]] bool busy() const override { return is_busy; }
  [[nodiscard]] std::uint64_t dropped() const override { return dropped_writes; }
  void drain(Milliseconds) override { drained = true; }
  [[nodiscard]] std::size_t width() const override { return columns; }
  [[nodiscard]] std::size_t height() const override { return lines; }
  [[nodiscard]] bool is_terminal() const override { return terminal; }
  [[nodiscard]] bool colour() const override { return colours; }

  [[nodiscard]] std::string all() const {
    std::string text;
    for (const std::string& one : writes) text += one;
    return text;
  }

  std::vector<std::string> writes;
  std::size_t columns = 80, lines = 24;
  bool terminal = false, colours = false, gone = false, is_busy = false, drained = false;
  std::uint64_t dropped_writes = 0;
};

/// Compares with tests/golden/reporters/NAME; BLESS=1 in the environment writes it anew.
inline void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = "tests/golden/reporters/" + name;
  if (const char* bless = std::getenv("BLESS"); bless != nullptr && std::string(bless) == "1") {
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file) << path << " cannot be read; BLESS=1 writes it";
  std::ostringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(text, golden.str()) << "BLESS=1 accepts the new " << path;
}

/// A study told by records: applies them and hands them to a reporter, as the controller does.
class Story {
 public:
  explicit Story(Reporter* to = nullptr) : reporter(to) {}

  StudyState state;
  Timestamp now{1'760'000'000'000};
  Reporter* reporter;

  void wait(Milliseconds time) { now = now + time; }
  void tick() { reporter->tick(now, state); }

  /// One commit.
  void commit(std::vector<Record> records) {
    std::vector<Entry> entries;
    for (Record& record : records) entries.push_back({now, std::move(record)});
    for (const Entry& entry : entries) state.apply(entry);
    if (reporter != nullptr) reporter->committed(entries, state);
  }

  static RunStarted run(std::uint32_t slots = 2) {
    RunStarted run;
    run.run = 1;
    run.host = "box";
    run.pid = 4242;
    run.version = "0.1.0";
    run.slots = slots;
    run.machine = "64 cores seen, 4 usable (quota)";
    return run;
  }

  static SpaceSet space(std::string metric = "val_acc", Goal goal = Goal::maximize) {
    SpaceSet space;
    space.revision = 1;
    space.spec_yaml = "parameters: {}\n";
    space.command_identity = "train";
    space.metric = std::move(metric);
    space.goal = goal;
    space.seed_parameter = "seed";
    return space;
  }

  TrialProposed trial(TrialNumber number, const std::string& lr, const std::string& seed = "0") {
    TrialProposed made;
    made.trial = number;
    made.point.parameters = {{"lr", Value::from_plain(lr)}, {"seed", Value::from_plain(seed)}};
    made.identity = made.point.identity();
    made.proposal = number - 1;
    made.revision = 1;
    made.folder = std::string(5 - std::min<std::size_t>(5, std::to_string(number).size()), '0') +
                  std::to_string(number) + "-lr" + lr + "-s" + seed;
    return made;
  }

  /// The first commits of a study with these learning rates and seeds.
  void begin(const std::vector<std::string>& rates, const std::vector<std::string>& seeds,
             std::uint32_t slots = 2) {
    commit({run(slots), space()});
    std::vector<Record> records;
    TrialNumber number = 0;
    for (const auto& lr : rates) {
      for (const auto& seed : seeds) records.push_back(trial(++number, lr, seed));
    }
    SpaceWalked walked;
    walked.revision = 1;
    walked.trials = number;
    records.push_back(walked);
    commit(std::move(records));
  }

  void start(TrialNumber number, SlotNumber slot, std::uint32_t attempt = 1) {
    AttemptPlanned planned;
    planned.attempt = {number, attempt};
    planned.allocation.slot = slot;
    planned.allocation.cores = {static_cast<int>(slot)};
    AttemptStarted started;
    started.attempt = {number, attempt};
    started.pid = 5000 + static_cast<std::int64_t>(number);
    started.host = "box";
    commit({planned});
    commit({started});
  }

  void report(TrialNumber number, double step, double value, std::uint32_t attempt = 1) {
    MetricsReported metrics;
    metrics.attempt = {number, attempt};
    metrics.points = {{state.space()->metric, step, value, now}};
    commit({metrics});
  }

  static AttemptEnded ended(TrialNumber number, Outcome outcome, std::int64_t wall_ms,
                            std::uint32_t attempt = 1) {
    AttemptEnded end;
    end.attempt = {number, attempt};
    end.outcome = std::move(outcome);
    end.usage.wall_ms = wall_ms;
    end.usage.cpu_ms = wall_ms / 2;
    end.usage.peak_memory = 1 << 20;
    end.usage.log_bytes = 100;
    return end;
  }

  static TrialFinished fate(TrialNumber number, TrialState state, std::string reason = "") {
    TrialFinished finished;
    finished.trial = number;
    finished.state = state;
    finished.reason = std::move(reason);
    return finished;
  }

  void complete(TrialNumber number, std::int64_t wall_ms, std::uint32_t attempt = 1) {
    commit({ended(number, {}, wall_ms, attempt), fate(number, TrialState::completed)});
    commit({AllocationReleased{{number, attempt}}});
  }

  void fail(TrialNumber number, int code, std::int64_t wall_ms, std::uint32_t attempt = 1) {
    Outcome outcome;
    outcome.code = code;
    commit({ended(number, outcome, wall_ms, attempt),
            fate(number, TrialState::failed, describe(outcome))});
    commit({AllocationReleased{{number, attempt}}});
  }
};

inline LogTail fixed_tail(std::vector<std::string> lines) {
  return [lines = std::move(lines)](const std::string&, std::uint32_t, std::size_t most) {
    std::vector<std::string> last = lines;
    if (last.size() > most) {
      last.erase(last.begin(), last.end() - static_cast<std::ptrdiff_t>(most));
    }
    return last;
  };
}

/// As much of a terminal as the live view uses: cursor, erasing, wrapping, scrolling up. Lines that
/// scrolled away are kept.
class Screen {
 public:
  Screen(std::size_t width, std::size_t height) : width_(width), height_(height) {}

  void feed(std::string_view bytes) {
    std::size_t i = 0;
    while (i < bytes.size()) {
      if (bytes[i] == '\x1b') {
        i = escape(bytes, i);
      } else if (bytes[i] == '\n') {
        down();
        column_ = 0;  // the terminal's own translation of a line end
        ++i;
      } else if (bytes[i] == '\r') {
        column_ = 0;
        ++i;
      } else {
        std::size_t length = 1;
        while (i + length < bytes.size() &&
               (static_cast<unsigned char>(bytes[i + length]) & 0xc0U) == 0x80) {
          ++length;
        }
        put(bytes.substr(i, length));
        i += length;
      }
    }
  }

  /// All lines, also those that scrolled away; blanks and empty lines at the end left out.
  [[nodiscard]] std::string text() const {
    std::string all;
    std::size_t blank = 0;
    for (const auto& row : rows_) {
      std::string line;
      for (const auto& cell : row) line += cell;
      line.erase(line.find_last_not_of(' ') + 1);
      if (line.empty()) {
        ++blank;
        continue;
      }
      all.append(blank, '\n');
      blank = 0;
      all += line + '\n';
    }
    return all;
  }

  bool cursor_shown = true;
  bool wraps = true;
  bool unknown_escape = false;

 private:
  using Row = std::vector<std::string>;

  void down() {
    if (++row_ >= rows_.size()) rows_.resize(row_ + 1);
  }

  /// First row that is still on the screen: the cursor cannot go above it.
  [[nodiscard]] std::size_t top() const {
    return rows_.size() > height_ ? rows_.size() - height_ : 0;
  }

  void put(std::string_view character) {
    const std::size_t columns = display_width(character);
    if (column_ + columns > width_) {
      if (wraps) {
        down();
        column_ = 0;
      } else {
        column_ = width_ - columns;
      }
    }
    Row& row = rows_[row_];
    if (row.size() < column_ + columns) row.resize(column_ + columns, " ");
    row[column_] = std::string(character);
    for (std::size_t i = 1; i < columns; ++i) row[column_ + i] = "";
    column_ += columns;
  }

  std::size_t escape(std::string_view bytes, std::size_t at) {
    std::size_t i = at + 2;  // ESC [
    std::string argument;
    while (i < bytes.size() && (bytes[i] < 0x40 || bytes[i] > 0x7e)) argument += bytes[i++];
    const char kind = i < bytes.size() ? bytes[i] : '?';
    if (kind == 'A') {
      const std::size_t up = argument.empty() ? 1 : std::stoul(argument);
      row_ = row_ > top() + up ? row_ - up : top();
    } else if (kind == 'K') {
      if (rows_[row_].size() > column_) rows_[row_].resize(column_);
    } else if (kind == 'J') {
      if (rows_[row_].size() > column_) rows_[row_].resize(column_);
      for (std::size_t row = row_ + 1; row < rows_.size(); ++row) rows_[row].clear();
    } else if (argument == "?25") {
      cursor_shown = kind == 'h';
    } else if (argument == "?7") {
      wraps = kind == 'h';
    } else if (kind != 'm') {
      unknown_escape = true;
    }
    return i + 1;
  }

  std::size_t width_, height_;
  std::vector<Row> rows_{1};
  std::size_t row_ = 0, column_ = 0;
};

}  // namespace seedbed::testing
