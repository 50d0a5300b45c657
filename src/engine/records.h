#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/outcome.h"
#include "base/time.h"
#include "resources/resources.h"
#include "study/point.h"
#include "study/study_spec.h"

// Records: facts that are now true. They are the only way state changes, live and on restart, and
// all that anyone looks at is made from them. A record never says what to do next.
// docs/record.md gives the stored form; a kind is never removed or given another meaning.

namespace seedbed {

enum class TrialState { waiting, running, completed, failed, pruned, cancelled };

[[nodiscard]] std::string_view trial_state_word(TrialState state);
[[nodiscard]] std::optional<TrialState> trial_state_from_word(std::string_view word);
[[nodiscard]] constexpr bool is_terminal(TrialState state) {
  return state != TrialState::waiting && state != TrialState::running;
}

/// The study's space, command or objective is now this one. Revisions count from 1.
struct SpaceSet {
  std::uint32_t revision = 0;
  std::string spec_yaml;         ///< canonical sweep file of this revision
  std::string command_identity;  ///< CommandTemplate::identity
  std::string metric;
  Goal goal = Goal::minimize;
  std::string seed_parameter;
  bool operator==(const SpaceSet&) const = default;
};

/// A controller took up the study. Runs count from 1.
struct RunStarted {
  std::uint64_t run = 0;
  std::string host;
  std::int64_t pid = 0;
  std::string version;  ///< of seedbed
  std::uint32_t slots = 0;
  std::string machine;        ///< one line: `64 cores seen, 4 usable (quota)`
  std::string details_json;   ///< command line, folder, git commit, hash of the program
  bool retry_failed = false;  ///< failed trials are opened again as the walk meets them
  bool operator==(const RunStarted&) const = default;
};

/// How far a run is told to wind down; it only ever goes further.
enum class StopMode {
  drain,  ///< no new starts; running trials finish
  stop,   ///< running trials are asked to end
  kill,   ///< their trees are ended now
  leave,  ///< the controller leaves at once
};

[[nodiscard]] std::string_view stop_mode_word(StopMode mode);
[[nodiscard]] std::optional<StopMode> stop_mode_from_word(std::string_view word);

/// The run starts nothing more. The latest one of a run counts.
struct RunStopping {
  std::uint64_t run = 0;
  StopMode mode = StopMode::drain;
  int exit_code = 6;   ///< the run's, when it ends with work left
  std::string reason;  ///< one line: `interrupted (INT)`, `halt rule: 3 trials failed`
  bool operator==(const RunStopping&) const = default;
};

struct RunEnded {
  std::uint64_t run = 0;
  int exit_code = 0;
  std::string reason;  ///< one line
  bool operator==(const RunEnded&) const = default;
};

/// A new trial exists, in state waiting.
struct TrialProposed {
  TrialNumber trial = 0;
  Point point;
  std::string identity;        ///< point.identity()
  std::uint64_t proposal = 0;  ///< the sampler's number; unused for added trials
  std::uint32_t revision = 0;  ///< 0 for added trials that no walk has met
  bool added = false;          ///< by `add`: stays in the space whatever later runs name
  std::string folder;          ///< under trials/
  bool operator==(const TrialProposed&) const = default;
};

/// A known trial is in the space of this revision too, or stays in it because it was added.
struct TrialKept {
  TrialNumber trial = 0;
  std::uint32_t revision = 0;
  std::uint64_t proposal = 0;  ///< its number in the walk of this revision
  bool added = false;          ///< by `add`: stays in the space whatever later runs name
  bool operator==(const TrialKept&) const = default;
};

/// The walk of the sampler over the space of this revision has reached its end: trials of older
/// revisions that were not kept are outside the present space.
struct SpaceWalked {
  std::uint32_t revision = 0;
  std::uint64_t trials = 0;  ///< in the space
  bool operator==(const SpaceWalked&) const = default;
};

/// The walk of a run over the space: proposals below `next` have been taken, and `asked` more (0:
/// none) are being asked for. Every run walks anew, so that nothing depends on an old sampler.
struct WalkMoved {
  std::uint32_t revision = 0;
  std::uint64_t next = 0;
  std::uint64_t asked = 0;
  std::uint64_t distinct =
      0;  ///< different points met so far, known ones too; `--limit` counts these
  bool operator==(const WalkMoved&) const = default;
};

struct AttemptPlanned {
  AttemptId attempt;
  Allocation allocation;
  bool operator==(const AttemptPlanned&) const = default;
};

struct AttemptStarted {
  AttemptId attempt;
  std::int64_t pid = 0;
  std::uint64_t start_ticks = 0;  ///< field 22 of /proc/PID/stat
  std::string boot_id;
  std::string host;
  std::string details_json;  ///< how to repeat it: argv, folder, changed variables, code version
  bool operator==(const AttemptStarted&) const = default;
};

enum class StopCause { pruned, cancelled, interrupted, halted };

[[nodiscard]] std::string_view stop_cause_word(StopCause cause);
[[nodiscard]] std::optional<StopCause> stop_cause_from_word(std::string_view word);

/// We decided to end a running attempt; how it then ends is AttemptEnded's to say.
struct AttemptStopping {
  AttemptId attempt;
  StopCause cause = StopCause::interrupted;
  std::string reason;  ///< in words, with the numbers
  bool operator==(const AttemptStopping&) const = default;
};

/// What an attempt used.
struct Usage {
  std::int64_t wall_ms = 0;
  std::int64_t cpu_ms = 0;        ///< user and system, of the tree as far as it was waited for
  std::uint64_t peak_memory = 0;  ///< bytes, of the largest process; 0: unknown
  std::uint64_t log_bytes = 0;
  bool operator==(const Usage&) const = default;
};

/// The main process has ended. Its tree may live on until AllocationReleased.
struct AttemptEnded {
  AttemptId attempt;
  Outcome outcome;
  Usage usage;
  bool operator==(const AttemptEnded&) const = default;
};

/// The attempt's whole tree is gone: what was lent is free.
struct AllocationReleased {
  AttemptId attempt;
  bool operator==(const AllocationReleased&) const = default;
};

enum class RequeueCause { retry, interrupted, lost, preempted, unclaimed };

[[nodiscard]] std::string_view requeue_cause_word(RequeueCause cause);
[[nodiscard]] std::optional<RequeueCause> requeue_cause_from_word(std::string_view word);

/// The trial waits again; only `retry` uses up a retry.
struct TrialRequeued {
  TrialNumber trial = 0;
  RequeueCause cause = RequeueCause::retry;
  Timestamp not_before;
  bool operator==(const TrialRequeued&) const = default;
};

/// The trial's fate. One per opening.
struct TrialFinished {
  TrialNumber trial = 0;
  TrialState state = TrialState::completed;  ///< terminal
  std::string reason;                        ///< one line; empty for a plain success
  bool metric_missing = false;               ///< completed, but the named metric never came
  bool operator==(const TrialFinished&) const = default;
};

/// A terminal trial waits again because somebody asked.
struct TrialReopened {
  TrialNumber trial = 0;
  std::string why;  ///< `retry`
  bool operator==(const TrialReopened&) const = default;
};

struct MetricPoint {
  std::string name;
  double step = 0;
  double value = 0;  ///< NaN and infinities are values
  Timestamp at;
  bool operator==(const MetricPoint&) const;  // NaN equals NaN
};

/// How far a source of metrics has been read; resuming from it reads every point exactly once.
struct SourcePosition {
  std::string source;        ///< `log`, `client`, or the captured file's name
  std::uint64_t offset = 0;  ///< bytes
  std::string state;         ///< the parser's, opaque (header line, running numbers)
  bool operator==(const SourcePosition&) const = default;
};

/// Points were read. Kept as rows, not as text; see docs/record.md.
struct MetricsReported {
  AttemptId attempt;
  std::vector<MetricPoint> points;
  std::vector<SourcePosition> positions;
  bool operator==(const MetricsReported&) const = default;
};

struct PauseSet {
  bool paused = false;
  bool frozen = false;  ///< and the running trials are stopped where they are
  bool operator==(const PauseSet&) const = default;
};

struct WidthSet {
  std::uint32_t slots = 0;
  bool operator==(const WidthSet&) const = default;
};

/// What others on this machine hold now, all of it: nothing new is placed there.
struct ResourcesHeld {
  Held held;
  bool operator==(const ResourcesHeld&) const = default;
};

/// Something a user should know: code changed, a traceback in a success, a warning of the start.
struct NoteAdded {
  TrialNumber trial = 0;  ///< 0: about the study
  std::string kind;       ///< stable word: code_changed, traceback, cores, metric_names, …
  std::string text;
  bool operator==(const NoteAdded&) const = default;
};

using Record =
    std::variant<SpaceSet, RunStarted, RunStopping, RunEnded, TrialProposed, TrialKept, SpaceWalked,
                 WalkMoved, AttemptPlanned, AttemptStarted, AttemptStopping, AttemptEnded,
                 AllocationReleased, TrialRequeued, TrialFinished, TrialReopened, MetricsReported,
                 PauseSet, WidthSet, ResourcesHeld, NoteAdded>;

/// A record and when it became true.
struct Entry {
  Timestamp at;
  Record record;
  bool operator==(const Entry&) const = default;
};

/// The stable word of a record's kind: `trial_proposed`.
[[nodiscard]] std::string_view record_word(const Record& record);

}  // namespace seedbed
