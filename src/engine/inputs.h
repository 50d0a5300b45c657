#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "engine/records.h"

// Inputs: what the world tells the engine. The controller makes them, in the order in which it
// learns of things; the engine alone judges whether they are news.

namespace seedbed {

/// First input of a run, after the records were applied and what may still run was asked about.
struct RunBegan {
  RunStarted started;
  std::optional<SpaceSet> space;  ///< set when this run's space differs; revision is filled in
  bool retry_failed = false;      ///< `--retry-failed`
  std::vector<NoteAdded> notes;   ///< warnings of the start
  Held held;                      ///< by others on this machine
};

/// The sampler's answer to AskSampler.
struct ProposalsMade {
  std::uint64_t from = 0;  ///< number of the first
  std::uint64_t next = 0;  ///< number to ask next
  struct One {
    std::uint64_t number = 0;
    Point point;
  };
  std::vector<One> points;  ///< in ascending number
  bool exhausted = false;
  std::string error;  ///< not empty: the sampler refused; the run ends
};

struct AttemptIsRunning {  ///< the launcher claimed and started it (or found it running)
  AttemptStarted started;
};

struct AttemptDidNotStart {
  AttemptId attempt;
  std::string detail;  ///< the exact cause: `./train.py: no execute permission`
  /// The cause lies in this trial's own parameters (an argument too long), so that others may well
  /// start. False: the program itself cannot be started.
  bool this_trial_only = false;
};

struct AttemptFinished {  ///< main process ended; metrics up to its end came before
  AttemptId attempt;
  Outcome outcome;
  Usage usage;
  bool traceback_seen = false;  ///< its log holds a traceback although it exited 0
  std::string failure_line;     ///< its log's first line that the user calls a failure
  std::string seen_metrics;     ///< names seen, for "metric missing" messages
  /// Its log is not there any more: somebody removed the trial's folder while it ran.
  bool output_gone = false;
};

struct AttemptTreeGone {
  AttemptId attempt;
};

struct AttemptIsLost {  ///< neither process nor exit record can be found
  AttemptId attempt;
  std::string detail;
};

struct AttemptWasUnclaimed {  ///< planned, but no shim claimed it, and now none can
  AttemptId attempt;
};

struct MetricsArrived {
  MetricsReported reported;
};

struct TimePassed {};  ///< answer to WakeAt

/// One step of the ladder: the first stops politely, the second kills, the third leaves at once.
struct InterruptCame {
  int signal = 2;      ///< 2 (INT) or 15 (TERM): decides the exit code
  bool drain = false;  ///< `--on-interrupt drain`, first step only
};

/// The study's folder is not where it was: what is recorded from now on may be lost.
struct StudyGone {
  std::string detail;
};

struct StopAsked {
  bool drain = false;  ///< let running trials finish
};

/// Others on this machine hold these cores and devices now, and nothing else.
struct HeldElsewhere {
  Held held;
};

struct PauseAsked {
  bool paused = true;
  bool freeze = false;  ///< stop the running trials where they are, too
};

struct SlotsAsked {
  std::uint32_t slots = 0;
};

struct CancelAsked {
  std::vector<TrialNumber> trials;
};

struct RetryAsked {
  std::vector<TrialNumber> trials;  ///< empty: all failed ones
};

struct PointsAdded {
  std::vector<Point> points;
};

struct NoteCame {
  NoteAdded note;
};

using Input =
    std::variant<RunBegan, ProposalsMade, AttemptIsRunning, AttemptDidNotStart, AttemptFinished,
                 AttemptTreeGone, AttemptIsLost, AttemptWasUnclaimed, MetricsArrived, TimePassed,
                 InterruptCame, StudyGone, HeldElsewhere, StopAsked, PauseAsked, SlotsAsked,
                 CancelAsked, RetryAsked, PointsAdded, NoteCame>;

}  // namespace seedbed
