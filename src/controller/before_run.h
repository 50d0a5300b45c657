#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/attempt_setup.h"
#include "controller/lend_machine.h"
#include "engine/state.h"
#include "samplers/sampler.h"
#include "study/study_spec.h"

// What `run` looks at before anything starts, and `plan` tells.

namespace seedbed {

/// How the first point of the space would be run. Nothing where that point alone is at fault: its
/// own attempt will say so.
[[nodiscard]] Result<std::optional<AttemptSetup::Prepared>> prepare_first(const StudySpec& spec,
                                                                          const Sampler& sampler,
                                                                          AttemptSetup& dry_setup);

/// The first point of the space must give a command that can run.
[[nodiscard]] Status check_first_command(const StudySpec& spec, const Sampler& sampler,
                                         AttemptSetup& dry_setup, const SetupContext& context);

/// Finds what the study needs of MPI (ranks.h) and puts it into the context; `dry_setup` has none
/// yet. With `try_it` ranks are started once.
[[nodiscard]] Status prepare_mpi(const StudySpec& spec, const Sampler& sampler,
                                 AttemptSetup& dry_setup, const StudyLending& lending, bool try_it,
                                 SetupContext& context);

/// Captured files that all trials would write alike: what one wrote may be taken for another's.
[[nodiscard]] std::vector<std::string> shared_capture_warnings(const StudySpec& spec);

/// That `where` drops the first 200,000 points of more; empty when it keeps one of them.
[[nodiscard]] std::string where_keeps_nothing(const StudySpec& spec, const Sampler& sampler);

/// The trials of a space by what a study already knows of them.
struct DoneBefore {
  std::uint64_t done = 0;  ///< completed, pruned, cancelled
  std::uint64_t failed = 0;
  std::uint64_t left = 0;  ///< to run: waiting, or not proposed yet

  [[nodiscard]] std::uint64_t total() const { return done + failed + left; }
  /// `12 of 27 trials done before`, with the failed ones among them; empty when there are none.
  [[nodiscard]] std::string text() const;
};

/// A study's trials of one command, by the identity of their points.
struct KnownTrial {
  TrialState state = TrialState::waiting;
  bool added = false;
  TrialNumber number = 0;
  std::string folder;
  Point point;
};
using KnownTrials = std::map<std::string, KnownTrial>;

[[nodiscard]] KnownTrials known_trials(const StudyState& state, const std::string& command);

/// The same from the records as they are: what does not fit together is passed over, since looking
/// at a damaged study must not end the program. Repairing it is `run`'s.
class RecordedTrials {
 public:
  void take(const Entry& entry);
  [[nodiscard]] KnownTrials of_command(const std::string& command) const;
  /// The number of the last trial of all; 0: none.
  [[nodiscard]] TrialNumber last() const { return trials_.empty() ? 0 : trials_.rbegin()->first; }
  [[nodiscard]] const SpaceSet* latest_space() const { return space_ ? &*space_ : nullptr; }

 private:
  struct Trial {
    std::string identity;
    std::string command;
    KnownTrial known;
  };
  std::map<TrialNumber, Trial> trials_;
  std::optional<SpaceSet> space_;
};

/// Walks the space as a run would, beside the known trials of its command; added ones stay in it.
/// Nothing for a space of more than 100,000 points, which would take long.
[[nodiscard]] std::optional<DoneBefore> count_done_before(const StudySpec& spec,
                                                          const Sampler& sampler,
                                                          const KnownTrials& known);

/// The first trials that a run would start, as far as the record tells: waiting ones with their
/// numbers and folders, new ones with those that come next. Failed ones where `retry_failed`.
[[nodiscard]] Result<std::vector<TrialStatus>> first_to_run(const StudySpec& spec,
                                                            const Sampler& sampler,
                                                            const KnownTrials& known,
                                                            TrialNumber last, bool retry_failed,
                                                            std::size_t most);

}  // namespace seedbed
