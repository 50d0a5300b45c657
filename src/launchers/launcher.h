#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/outcome.h"
#include "base/result.h"
#include "base/time.h"
#include "env/posix/files.h"
#include "protocol/exit_record.h"
#include "resources/resources.h"

namespace seedbed {

/// Everything a launcher needs to turn an attempt into a process.
struct LaunchOrder {
  AttemptId attempt;
  Allocation allocation;
  std::vector<std::string> argv;         ///< argv[0] is resolved along the PATH of `environment`
  std::vector<std::string> environment;  ///< the complete one, `NAME=value`
  std::string working_dir;
  std::string trial_dir;  ///< exists; holds attempt-N.log and attempt-N.exit
  std::vector<std::string>
      watched_files;  ///< their growth counts as a sign of life, besides the log
  std::optional<Milliseconds> time_limit;
  std::optional<Milliseconds> silence_limit;
  std::optional<std::uint64_t> log_limit;  ///< bytes
  Milliseconds grace{10'000};              ///< between TERM and KILL
  Milliseconds prune_grace{30'000};
  std::string stop_file;  ///< $SEEDBED_STOP: created to ask for an early end
  /// Of command template and parameters. When the attempt turns out to have been run already (its
  /// record was lost), its end counts if this is the same.
  std::string fingerprint;
  /// Held until the tree is gone, by whoever starts it too: the cores and devices that are lent.
  std::vector<std::shared_ptr<const Descriptor>> locks;
  bool nice = false;  ///< it runs beside others' trials and yields to them
};

/// An attempt that the records show as not released: its fate must be found out.
struct OpenAttempt {
  AttemptId attempt;
  SlotNumber slot = 0;
  std::string trial_dir;
  bool started = false;  ///< AttemptStarted is recorded
  bool ended = false;    ///< AttemptEnded is recorded, only its tree is open
  std::int64_t pid = 0;
  std::uint64_t start_ticks = 0;
  std::string boot_id, host;
};

/// News of attempts. Called on the loop's thread, never from inside a call of the launcher. For
/// each attempt at most one of {running, did_not_start}, then one of {ended, lost}, then tree_gone;
/// `unclaimed` alone. `lost` comes when its tree is gone already, so what was lent is free. `ended`
/// without `running` is one that had ended before: the record did not know.
class LaunchListener {
 public:
  virtual ~LaunchListener() = default;
  virtual void attempt_running(AttemptId attempt, const ProcessIdentity& process) = 0;
  virtual void attempt_did_not_start(AttemptId attempt, const std::string& detail) = 0;
  virtual void attempt_ended(const ExitRecord& record) = 0;
  virtual void attempt_tree_gone(AttemptId attempt) = 0;
  virtual void attempt_lost(AttemptId attempt, const std::string& detail) = 0;
  virtual void attempt_unclaimed(AttemptId attempt) = 0;

  /// One line for people, between running and tree_gone: its log was cut, its cores not bound.
  virtual void attempt_note(AttemptId /*attempt*/, const std::string& /*text*/) {}
};

/// Turns attempts into processes, and finds them again after a restart. One per study.
class Launcher {
 public:
  virtual ~Launcher() = default;

  /// Finds out what became of attempts that an earlier controller left open. The answers come as
  /// news: running (again ours), ended, lost, unclaimed (voided: no shim can start it any more).
  virtual void adopt(const std::vector<OpenAttempt>& open) = 0;

  /// Starts the attempt in its slot. Failures come as news.
  virtual void start(const LaunchOrder& order) = 0;

  /// Ends the attempt's tree: asks (stop file, TERM), kills at the end of the grace.
  virtual void stop(AttemptId attempt, bool pruning) = 0;

  /// Ends the attempt's tree now.
  virtual void kill(AttemptId attempt) = 0;

  /// Stops the attempt's tree where it is, or lets it go on; its limits wait meanwhile. Not for an
  /// attempt that is asked to end, and void once it is.
  virtual void freeze(AttemptId attempt, bool frozen) = 0;

  /// No more starts will come. Idle shims leave.
  virtual void finish() = 0;

  /// The controller leaves at once (third interrupt): shims end their trees by themselves, write
  /// the exit records and go. Returns without waiting.
  virtual void leave() = 0;
};

}  // namespace seedbed
