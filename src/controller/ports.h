#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/inputs.h"
#include "engine/state.h"
#include "launchers/launcher.h"

// What the controller needs from the world besides env/, store/ and launchers/. The real ones stand
// beside this file; the simulation has its own.

namespace seedbed {

/// Makes an attempt ready to start: folder, params.json, command, environment, port.
class AttemptSetup {
 public:
  virtual ~AttemptSetup() = default;

  struct Prepared {
    LaunchOrder order;
    std::string details_json;      ///< how to repeat it, for AttemptStarted
    std::vector<NoteAdded> notes;  ///< the program changed since the run began, say
  };

  /// Errors become the attempt's `start_failed`: a value too long for an argument, a folder that
  /// cannot be made. May be called again for the same attempt after a crash.
  [[nodiscard]] virtual Result<Prepared> prepare(const TrialStatus& trial, AttemptId attempt,
                                                 const Allocation& allocation) = 0;

  /// Absolute folder of a trial.
  [[nodiscard]] virtual std::string trial_dir(const TrialStatus& trial) const = 0;

  /// The attempt's tree is gone: what was reserved for it (its port) is free.
  virtual void released(AttemptId attempt) = 0;
};

/// The metrics of running attempts.
class MetricFeed {
 public:
  virtual ~MetricFeed() = default;

  /// Begins to follow an attempt: at `own`, where an earlier controller had got to; else, for a
  /// later attempt, behind what the attempt before it (`before`) left in the shared files.
  virtual void follow(const TrialStatus& trial, AttemptId attempt,
                      const std::vector<SourcePosition>& own,
                      const std::vector<SourcePosition>& before) = 0;

  /// New points of all followed attempts since the last call, in order of attempt. Bounded per
  /// call: what is left comes next time. What a call returned is returned once; the caller keeps
  /// it until it is committed.
  [[nodiscard]] virtual std::vector<MetricsReported> poll(Timestamp now) = 0;

  struct Rest {
    MetricsReported reported;  ///< everything up to the end of the files
    bool traceback_seen = false;
    std::string failure_line;  ///< the log's first line with the user's text for a failure
    std::string names_seen;    ///< `val_loss, acc`
    bool log_gone = false;     ///< somebody removed it while the attempt ran
    std::vector<NoteAdded> notes;
  };

  /// Reads what is left and forgets the attempt.
  [[nodiscard]] virtual Rest finish(AttemptId attempt, Timestamp now) = 0;
};

/// What other studies and people on this machine hold, and what we hold against them.
class ResourceGate {
 public:
  virtual ~ResourceGate() = default;

  /// Takes all that the allocation names for the attempt. What others hold comes back; then nothing
  /// was taken for it.
  [[nodiscard]] virtual Held take(AttemptId attempt, const Allocation& allocation) = 0;

  /// What its launcher must hold as long as the attempt's tree lives.
  [[nodiscard]] virtual std::vector<std::shared_ptr<const Descriptor>> locks(
      AttemptId attempt) const = 0;

  /// Its tree is gone. What nobody has taken again by `settle` is free for others.
  virtual void give_back(AttemptId attempt) = 0;
  virtual void settle() = 0;

  /// What others hold now. What is lent to open attempts (`ours`) is not theirs.
  [[nodiscard]] virtual Held look(const Held& ours) = 0;
  /// Others may take hold of something without our asking for it: look from time to time.
  [[nodiscard]] virtual bool watches() const = 0;
};

/// The study's sampler behind a thread.
class ProposalSource {
 public:
  virtual ~ProposalSource() = default;

  /// Calls `answer` on the loop with up to `count` points from number `from` on.
  virtual void ask(std::uint64_t from, std::uint64_t count,
                   std::function<void(ProposalsMade)> answer) = 0;
};

}  // namespace seedbed
