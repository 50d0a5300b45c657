#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "engine/records.h"
#include "results/snapshot.h"

namespace seedbed {

/// One execution of a trial, with all that is recorded of it.
struct AttemptDetails {
  std::uint32_t attempt = 0;
  std::string phase;  ///< planned, running, stopping, ended
  Allocation allocation;
  Timestamp planned_at;
  std::optional<Timestamp> started_at, ended_at, released_at;
  std::optional<AttemptStarted> started;
  std::optional<AttemptStopping> stopping;
  std::optional<Outcome> outcome;
  std::optional<Usage> usage;
  std::string log;  ///< path of its log, under the study's folder

  // Out of AttemptStarted::details_json, as far as it says so.
  std::vector<std::string> argv;
  std::string cwd;
  std::string program;  ///< full path
  std::string mpi;      ///< of several ranks: `/usr/bin/orterun (Open MPI 4.1.4), 4 ranks`
  struct Variable {
    std::string name;
    std::optional<std::string> value;  ///< nothing: taken out of the environment
  };
  std::vector<Variable> env;  ///< what differs from the user's environment
  std::string git_commit, code_file, code_hash;
  bool git_dirty = false;
  struct LentDevice {
    std::string word;  ///< what its visible-device variable held
    std::string uuid, name;
    std::optional<int> index;  ///< as the driver counts
    double share = 1;
  };
  std::vector<LentDevice> devices;
};

/// Everything about one trial (case I13).
struct TrialDetails {
  TrialRow row;
  std::vector<AttemptDetails> attempts;
  std::vector<Entry> notes;             ///< NoteAdded about this trial
  std::optional<Timestamp> not_before;  ///< it waits until then
  std::string study_dir;
  std::string config_name;  ///< of the file in the folder that `template:` filled; empty: none

  [[nodiscard]] std::string folder_path() const;  ///< under the study's folder
  /// One line for a shell that repeats an attempt by hand: folder, changed variables, command. The
  /// program finds its parameters and its config file, but a fresh folder `$d` wherever the trial's
  /// own stood, so that it does no harm to the record. Empty when the command is not recorded.
  [[nodiscard]] std::string repeat_line(const AttemptDetails& attempt) const;
  /// The line that repeats its latest started attempt; empty when none has started.
  [[nodiscard]] std::string repeat_line() const;
};

}  // namespace seedbed
