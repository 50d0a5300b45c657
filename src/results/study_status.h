#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "engine/records.h"

namespace seedbed {

/// A controller's time with the study. Whether it still lives is not in the record: ask the lock.
struct RunInfo {
  std::uint64_t run = 0;
  std::string host;
  std::int64_t pid = 0;
  std::string version;
  std::uint32_t slots = 0;
  std::string machine;
  std::string details_json;
  Timestamp started_at;
  std::optional<StopMode> stopping;  ///< it was told to wind down
  std::string stop_reason;
  std::optional<Timestamp> ended_at;  ///< nothing: it runs, or it died
  int exit_code = 0;
  std::string reason;  ///< why it ended
};

/// A failed trial in one line.
struct FailureLine {
  TrialNumber trial = 0;
  std::string folder;
  std::string reason;  ///< one line; may hold any bytes of the program's: print through one_line()
  std::uint32_t attempts = 0;
};

/// A trial that has an attempt under way.
struct RunningLine {
  TrialNumber trial = 0;
  std::uint32_t attempt = 0;
  SlotNumber slot = 0;
  std::optional<Timestamp> started_at;
  /// No controller lives, and the process has ended: how, the next run records.
  bool ended_unseen = false;
};

/// One screen about a study. Counts are of the present space; the others are `outside`.
struct StudyStatus {
  std::uint32_t revision = 0;  ///< of the space; 0: none yet
  std::string metric;          ///< empty: none named
  Goal goal = Goal::minimize;
  std::string seed_parameter;
  std::string command_identity;

  std::array<std::uint64_t, 6> trials{};  ///< by TrialState
  std::uint64_t metric_missing = 0;       ///< completed, but the named metric never came
  std::uint64_t outside = 0;              ///< trials outside the present space
  std::uint64_t outside_never_run = 0;    ///< of them, those that no attempt was made of
  /// Points of the space that no trial stands for yet. Nothing: not known (an endless space without
  /// a limit, or a space that cannot be read). `unproposed_exact` is false when filters may make
  /// it smaller.
  std::optional<std::uint64_t> unproposed;
  bool unproposed_exact = true;

  bool paused = false;
  bool frozen = false;  ///< paused, and the running trials stand still
  std::uint32_t slots = 0;
  std::vector<RunningLine> running;   ///< by trial
  std::vector<FailureLine> failures;  ///< by trial, of the present space
  std::optional<RunInfo> last_run;
  std::vector<Entry> notes;             ///< NoteAdded about the study, oldest first, at most 100
  std::optional<Timestamp> changed_at;  ///< of the last record

  // For the estimate of the end (L7); not read once nothing is left.
  std::uint64_t finished_attempts = 0;  ///< that completed or pruned a trial of the present space
  Milliseconds mean_wall{0};            ///< their mean wall time

  [[nodiscard]] std::uint64_t count(TrialState state) const {
    return trials[static_cast<std::size_t>(state)];
  }
  /// Of the running trials, those whose process has ended unseen: interrupted, until the next run
  /// records how.
  [[nodiscard]] std::uint64_t interrupted() const;
  /// Trials of the present space, proposed or not, as far as known.
  [[nodiscard]] std::uint64_t total() const;
  /// Nothing is left to do in the present space.
  [[nodiscard]] bool finished() const;
  /// What `run`, `attach` and `status` exit with (contract, section 2): 0, 1 or 6. 130/143 and the
  /// like are the last run's own.
  [[nodiscard]] int exit_code() const;
  /// Work was left by `add` or `retry` after the last run had ended.
  [[nodiscard]] bool left_since() const;
  /// Of `status` and `attach`: a live study has work left (6) until it ends; one that has ended
  /// exits as it ended, unless work came after that.
  [[nodiscard]] int exit_code_now(bool live) const;
};

}  // namespace seedbed
