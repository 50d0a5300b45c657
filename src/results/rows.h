#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "results/snapshot.h"
#include "results/study_status.h"
#include "store/sqlite.h"

// Reading of the projected tables, shared by status, snapshot and details. Internal to results/.

namespace seedbed::rows {

/// The latest space and the commands of all revisions.
struct Space {
  std::uint32_t revision = 0;
  std::string metric;
  Goal goal = Goal::minimize;
  std::string seed_parameter;
  std::string command_identity;
  std::string spec_yaml;
  std::optional<std::uint64_t> walked;            ///< trials in it, once a walk has reached its end
  std::map<std::uint32_t, std::string> commands;  ///< identity by revision

  /// Whether a trial is in the present space; `command_of`: the revision it was proposed under.
  [[nodiscard]] bool holds(std::uint32_t trial_revision, bool added,
                           std::uint32_t command_of) const;
};
[[nodiscard]] Result<Space> read_space(const sqlite::Database& database);

/// All trials without parameters and metrics, by number; or one of them.
[[nodiscard]] Result<std::vector<TrialRow>> read_trials(const sqlite::Database& database,
                                                        const Space& space, TrialNumber only = 0);
/// Fills in what the latest attempt tells.
[[nodiscard]] Status read_attempts(const sqlite::Database& database, std::vector<TrialRow>& trials,
                                   TrialNumber only = 0);
[[nodiscard]] Status read_parameters(const sqlite::Database& database,
                                     std::vector<TrialRow>& trials, TrialNumber only = 0);
[[nodiscard]] Status read_metrics(const sqlite::Database& database, std::vector<TrialRow>& trials,
                                  TrialNumber only = 0);

/// Notes about a trial (0: about the study), oldest first, at most `most` of the latest.
[[nodiscard]] Result<std::vector<Entry>> read_notes(const sqlite::Database& database,
                                                    TrialNumber trial, std::uint64_t most);

[[nodiscard]] std::optional<Timestamp> time_at(const sqlite::Statement& row, int column);

}  // namespace seedbed::rows
