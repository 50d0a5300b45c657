#pragma once

#include <string>
#include <variant>
#include <vector>

#include "engine/records.h"

// Actions: what the controller must do, after the records that came with them are committed.
// Every action may be repeated after a crash without harm.

namespace seedbed {

/// Ask the sampler for proposals `from` …, until `count` points or the end. Fewer may be given (a
/// filter that drops long stretches): `ProposalsMade::next` says how far it looked. At most one
/// question is open at a time.
struct AskSampler {
  std::uint64_t from = 0;
  std::uint64_t count = 0;
};

/// Start an attempt that AttemptPlanned has recorded.
struct StartAttempt {
  AttemptId attempt;
  Allocation allocation;
};

/// Ask the attempt's tree to end (TERM, then KILL at the end of the grace). StopCause::pruned has
/// its own, longer grace.
struct StopAttempt {
  AttemptId attempt;
  StopCause cause = StopCause::interrupted;
};

/// End the attempt's tree now.
struct KillAttempt {
  AttemptId attempt;
};

/// Stop the attempt's processes where they are, or let them go on.
struct FreezeAttempt {
  AttemptId attempt;
  bool frozen = true;
};

/// Give TimePassed at that time or soon after. Only the latest counts.
struct WakeAt {
  Timestamp at;
};

/// The run is over: close the store and exit with this code.
struct EndRun {
  int exit_code = 0;
};

/// Exit at once; shims end their trees by themselves.
struct LeaveNow {
  int exit_code = 0;
};

using Action = std::variant<AskSampler, StartAttempt, StopAttempt, KillAttempt, FreezeAttempt,
                            WakeAt, EndRun, LeaveNow>;

struct Decision {
  std::vector<Record> records;
  std::vector<Action> actions;
};

}  // namespace seedbed
