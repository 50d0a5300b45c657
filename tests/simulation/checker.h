#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "machine.h"
#include "options.h"

namespace seedbed::simulation {

/// Looks at every record as it is committed and at every action as it is performed.
class Checker {
 public:
  Checker(const Options& options, const Machine& machine) : options_(options), machine_(machine) {}

  /// Before the entries of one decision are committed.
  void committing(const std::vector<Entry>& entries);
  void starting(AttemptId id, const Allocation& allocation);
  void stopping(AttemptId id);
  void killing(AttemptId id);

  /// The records are these and no others: after a power cut some are gone.
  void rebuild(const std::vector<Entry>& entries, bool power_cut);
  /// The controller's state is the fold of the records; `full` compares all of it.
  void compare(const Engine& engine, const std::vector<Entry>& entries, bool full) const;
  /// A run has ended by itself.
  void run_ended(const StudyState& state, int exit_code) const;
  /// Faults have stopped and the last run has ended.
  void all_done(const StudyState& state) const;

  [[nodiscard]] std::uint64_t trace() const { return trace_; }

 private:
  struct Trial {
    std::uint64_t openings = 1, ends = 0;
    std::uint32_t attempts = 0;
    std::uint32_t live = 0;
    int failures = 0;  // since the last opening
    Timestamp not_before;
  };
  struct Attempt {
    bool planned = false, started = false, stopping = false, ended = false, released = false;
    std::uint64_t points = 0;
    Allocation allocation;
  };

  void take(const Record& record);
  void take_trial(const Record& record);
  void take_attempt(const Record& record);
  void check_end(const AttemptEnded& record, const Attempt& attempt) const;
  void check_proposal(const TrialProposed& record);
  Attempt& must(AttemptId id, const char* what);

  const Options& options_;
  const Machine& machine_;
  std::map<TrialNumber, Trial> trials_;
  std::map<AttemptId, Attempt> attempts_;
  std::set<std::string> identities_, folders_;
  std::map<std::uint32_t, std::uint64_t> latest_proposal_;  // by revision
  Timestamp at_;                                            // of the record at hand
  std::uint32_t slots_ = 0;
  bool killing_ = false;  // the run is told to kill or leave
  bool stopping_ = false;
  bool run_over_ = true;
  bool power_was_cut_ = false;
  bool replaying_ = false;
  std::uint64_t trace_ = 0;
};

/// All of a state as text, for comparisons.
[[nodiscard]] std::string dump(const StudyState& state);

}  // namespace seedbed::simulation
