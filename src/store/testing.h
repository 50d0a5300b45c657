#pragma once

#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "engine/records.h"

// For tests of store/ and results/ only.

namespace seedbed::testing {

/// A folder that goes away with its owner.
class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "seedbed-XXXXXX").string();
    path_ = mkdtemp(pattern.data()) != nullptr ? pattern : "";
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline SpaceSet sample_space(std::uint32_t revision = 1) {
  return {
      revision, "parameters:\n  lr: [0.1]\n", "python3 train.py ${args}", "loss", Goal::minimize,
      "seed"};
}

inline RunStarted sample_run(std::uint64_t run = 1) {
  RunStarted record;
  record.run = run;
  record.host = "node1";
  record.pid = 4711;
  record.version = "0.1.0";
  record.slots = 2;
  record.machine = "2 cores";
  record.details_json = R"({"argv":["seedbed","run"]})";
  return record;
}

inline Point sample_point(std::uint64_t number, std::uint64_t seeds = 2) {
  return {{{"lr", Value::from_plain(std::to_string(number / seeds) + "e-3")},
           {"seed", Value::integer(static_cast<std::int64_t>(number % seeds))}}};
}

inline TrialProposed sample_trial(TrialNumber trial) {
  TrialProposed record;
  record.trial = trial;
  record.point = sample_point(trial);
  record.identity = record.point.identity();
  record.proposal = trial - 1;
  record.revision = 1;
  record.folder = std::to_string(trial) + "-folder";
  return record;
}

inline Allocation sample_allocation(TrialNumber trial) {
  Allocation allocation;
  allocation.slot = static_cast<SlotNumber>(trial % 2);
  allocation.cores = {static_cast<int>(trial % 2)};
  return allocation;
}

inline AttemptStarted sample_start(AttemptId attempt) {
  return {attempt, 1000 + static_cast<std::int64_t>(attempt.trial),
          77,      "b0071d",
          "node1", R"({"argv":["python3","train.py","--lr=1e-3"],"folder":"/home/me/exp"})"};
}

/// The records of a trial that runs once and succeeds; with its metric when `points` > 0.
inline std::vector<Entry> sample_life(TrialNumber trial, std::int64_t at_ms, int points = 0) {
  const AttemptId attempt{trial, 1};
  std::vector<Entry> life = {
      {{at_ms}, sample_trial(trial)},
      {{at_ms + 1}, AttemptPlanned{attempt, sample_allocation(trial)}},
      {{at_ms + 2}, sample_start(attempt)},
  };
  if (points > 0) {
    MetricsReported report;
    report.attempt = attempt;
    for (int i = 1; i <= points; ++i) {
      report.points.push_back({"loss", static_cast<double>(i), 1.0 / i, {at_ms + 2 + i}});
    }
    report.positions = {
        {"log", static_cast<std::uint64_t>(points) * 10, "step " + std::to_string(points)}};
    life.push_back({{at_ms + 2 + points}, report});
  }
  life.push_back({{at_ms + 900}, AttemptEnded{attempt, {}, {900, 800, 1 << 20, 123}}});
  life.push_back({{at_ms + 901}, TrialFinished{trial, TrialState::completed, "", points == 0}});
  life.push_back({{at_ms + 902}, AllocationReleased{attempt}});
  return life;
}

/// One record of every kind, with texts of any bytes and numbers at their limits.
inline std::vector<Record> records_of_every_kind() {
  const std::string odd("a\0b\xff\xc3 \"\\\n\t\x01\x7f\xe6\x9d\x8e", 16);
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  Allocation allocation;
  allocation.slot = std::numeric_limits<SlotNumber>::max();
  allocation.cores = {0, 7, -1};
  allocation.cpus = 0.1;
  allocation.devices = {{"0", 0.2}, {"GPU-3", 1}};
  allocation.memory = kMost;
  allocation.named = {{odd, 2.5}, {"licence", 1}};
  TrialProposed proposed = sample_trial(kMost);
  proposed.point.parameters = {
      {"lr", Value::from_plain("1e-3")},
      {"n", Value::integer(std::numeric_limits<std::int64_t>::max())},
      {"word", Value::from_text("007")},
      {odd, Value::from_text(odd)},
      {"empty", Value::from_text("")},
      {"flag", Value::boolean(false)},
      {"none", Value::null()},
      {"gone", Value::absent()},
      {"list", Value::structure("[32, 32]", "[32,32]")},
  };
  proposed.identity = proposed.point.identity();
  proposed.added = true;
  RunStarted run = sample_run(kMost);
  run.pid = kLeast;
  run.retry_failed = true;
  run.details_json = odd;
  const AttemptId attempt{kMost, std::numeric_limits<std::uint32_t>::max()};
  return {
      SpaceSet{3, odd, "", odd, Goal::maximize, ""},
      run,
      RunStopping{2, StopMode::kill, 143, odd},
      RunEnded{2, -1, "finished"},
      proposed,
      TrialKept{1, 2, kMost, true},
      WalkMoved{1, kMost, 7, kMost},
      SpaceWalked{1, kMost},
      AttemptPlanned{attempt, allocation},
      AttemptStarted{attempt, 1, kMost, odd, "", "{}"},
      AttemptStopping{attempt, StopCause::pruned, odd},
      AttemptEnded{attempt, {OutcomeKind::signalled, 11, odd}, {kLeast, 0, kMost, kMost}},
      AllocationReleased{attempt},
      TrialRequeued{9, RequeueCause::preempted, {kLeast}},
      TrialFinished{9, TrialState::pruned, odd, true},
      TrialReopened{9, "retry"},
      MetricsReported{attempt,
                      {{odd, kNan, -kInfinity, {5}}, {"loss", 1e300, 0.1, {kLeast}}},
                      {{odd, kMost, odd}}},
      PauseSet{true, true},
      WidthSet{12},
      ResourcesHeld{{{0, 5}, {odd, "GPU-1"}}},
      NoteAdded{0, odd, odd},
  };
}

}  // namespace seedbed::testing
