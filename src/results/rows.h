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
/// Fills in what the latest attempt tells; `unwatched`: no controller lives, so that an attempt may
/// have ended without a record.
[[nodiscard]] Status read_attempts(const sqlite::Database& database, std::vector<TrialRow>& trials,
                                   bool unwatched, TrialNumber only = 0);
/// Whether the process of an open attempt has ended: its host, pid, start_ticks and boot_id are in
/// the columns from `column` on. Of other hosts nothing is known.
[[nodiscard]] bool process_ended(const sqlite::Statement& row, int column);
[[nodiscard]] Status read_parameters(const sqlite::Database& database,
                                     std::vector<TrialRow>& trials, TrialNumber only = 0);
/// The parameter in the columns name, kind, spelling and canonical_json from `column` on; nothing
/// when it is of a kind that this version does not know.
[[nodiscard]] std::optional<Parameter> parameter_at(const sqlite::Statement& row, int column);
[[nodiscard]] Status read_metrics(const sqlite::Database& database, std::vector<TrialRow>& trials,
                                  TrialNumber only = 0);

/// The hash of each trial's program, in a study that has run more than one version of it.
[[nodiscard]] Status read_code(const sqlite::Database& database, std::vector<TrialRow>& trials);

/// Notes about a trial (0: about the study), oldest first, at most `most` of the latest.
[[nodiscard]] Result<std::vector<Entry>> read_notes(const sqlite::Database& database,
                                                    TrialNumber trial, std::uint64_t most);

/// Rows that are read beside a walk over the trials, which has the same order.
class Beside {
 public:
  /// The rows come in the order of the first column of the query, their key.
  [[nodiscard]] static Result<Beside> prepare(const sqlite::Database& database,
                                              const std::string& sql);

  /// The next row with this key, which is not less than the last one asked for; null when there is
  /// none or no other.
  [[nodiscard]] Result<const sqlite::Statement*> next(std::int64_t key);

 private:
  sqlite::Statement rows_;
  bool waiting_ = false;  ///< the row that is there has not been given
  bool ended_ = false;
};

[[nodiscard]] std::optional<Timestamp> time_at(const sqlite::Statement& row, int column);

}  // namespace seedbed::rows
