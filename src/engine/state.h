#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/records.h"
#include "pruners/pruner.h"

namespace seedbed {

/// Where an attempt stands.
enum class AttemptPhase { planned, running, stopping, ended };

struct AttemptStatus {
  std::uint32_t number = 0;
  AttemptPhase phase = AttemptPhase::planned;
  bool released = false;  ///< its allocation is free again
  Allocation allocation;
  std::optional<AttemptStarted> started;  ///< details_json left out: records keep it
  std::optional<AttemptStopping> stopping;
  Timestamp planned_at, started_at, ended_at;
  Outcome outcome;
  Usage usage;
};

struct TrialStatus {
  TrialNumber number = 0;
  Point point;
  std::string folder;
  TrialState state = TrialState::waiting;
  std::uint64_t proposal = 0;
  std::uint32_t revision = 0;  ///< the latest space it was in
  bool added = false;
  bool metric_missing = false;
  std::string reason;
  std::vector<AttemptStatus> attempts;
  int retries_used = 0;  ///< since the last opening
  int lost_in_row = 0;
  int openings = 1;
  std::uint32_t command = 0;  ///< which of the study's commands it is a trial of
  std::uint32_t open = 0;     ///< attempts that have not both ended and been released
  Timestamp not_before;
  Timestamp finished_at;
  std::map<std::string, double> last_metrics;  ///< latest value by name
  std::optional<double> last_step;             ///< of the metric that is followed
};

/// Numbers about the study and its present run, kept up to date by each record so that a decision
/// need not walk over the trials. Cheap to copy: a decision reckons ahead on a copy.
struct Tally {
  std::uint64_t run = 0;
  bool active = false;  ///< a run has started and not ended (it may have died)
  Timestamp run_began_at;
  bool retry_failed = false;
  std::optional<RunStopping> stopping;  ///< of this run
  bool paused = false;
  bool frozen = false;
  std::uint32_t slots = 0;
  WalkMoved walk;          ///< of this run, or of the last one until this one has begun to walk
  bool walk_done = false;  ///< this run's walk has reached the end of the space
  std::uint64_t started_in_run = 0;  ///< attempts whose program began in this run
  std::uint64_t start_failures = 0;  ///< in a row, since an attempt last started
  std::uint64_t finished_in_run = 0;
  std::uint64_t failed_in_run = 0;
  std::uint64_t open = 0;                 ///< attempts that have not both ended and been released
  std::uint64_t unstarted = 0;            ///< open attempts whose program has not begun
  std::array<std::uint64_t, 6> trials{};  ///< of the present space, by state
  std::uint64_t metric_missing = 0;       ///< of these, completed without the named metric

  [[nodiscard]] std::uint64_t count(TrialState state) const {
    return trials[static_cast<std::size_t>(state)];
  }
  bool operator==(const Tally&) const = default;
};

/// The fold of the records: what the study is. The same for the engine, the reporters of a running
/// controller and a view in another process.
class StudyState {
 public:
  /// The only mutation. Aborts on records that contradict each other (a bug of ours: the store
  /// checks damaged files before). Metric points may come in any order with the other records.
  void apply(const Entry& entry);

  /// Which metric the curves are of; without it, that of the latest SpaceSet. Call before `apply`.
  void follow(std::string metric);
  /// Keeps the curves of all trials, for pruners; they take most of the memory. Call before
  /// `apply`.
  void keep_curves();

  [[nodiscard]] const std::map<TrialNumber, TrialStatus>& trials() const { return trials_; }
  [[nodiscard]] const TrialStatus* trial(TrialNumber number) const;
  /// Among the trials of the present command.
  [[nodiscard]] const TrialStatus* by_identity(const std::string& identity) const;
  [[nodiscard]] const AttemptStatus* attempt(AttemptId id) const;
  /// In the present space: of its revision, or added; and of the present command.
  [[nodiscard]] bool in_space(const TrialStatus& trial) const;
  /// Trials of the present space by state.
  [[nodiscard]] std::uint64_t count(TrialState state) const { return tally_.count(state); }
  [[nodiscard]] const Tally& tally() const { return tally_; }
  /// Identity of the command that a trial is of.
  [[nodiscard]] const std::string& command_of(const TrialStatus& trial) const;
  [[nodiscard]] const std::optional<SpaceSet>& space() const { return space_; }
  [[nodiscard]] const std::optional<RunStarted>& run() const { return run_; }
  [[nodiscard]] const std::optional<RunEnded>& run_ended() const { return run_ended_; }
  /// The present run starts nothing more, and why.
  [[nodiscard]] const std::optional<RunStopping>& stopping() const { return tally_.stopping; }
  [[nodiscard]] bool space_walked() const { return walked_revision_ == revision(); }
  [[nodiscard]] std::uint32_t revision() const { return space_ ? space_->revision : 0; }
  [[nodiscard]] bool paused() const { return tally_.paused; }
  [[nodiscard]] bool frozen() const { return tally_.frozen; }
  [[nodiscard]] std::uint32_t slots() const { return tally_.slots; }
  /// What others hold of this machine.
  [[nodiscard]] const Held& held() const { return held_; }
  /// Attempts that have not both ended and been released, in order: what a successor must adopt.
  [[nodiscard]] std::vector<AttemptId> open_attempts() const;
  /// The objective's curves, by trial; at most kCurvePoints each, then thinned.
  [[nodiscard]] const std::map<TrialNumber, Curve>& curves() const { return curves_; }
  [[nodiscard]] const std::vector<Entry>& notes() const { return notes_; }

  static constexpr std::size_t kCurvePoints = 2000;
  static constexpr std::size_t kNotes = 10'000;  ///< later ones are only in the store

 private:
  struct Applier;

  std::map<TrialNumber, TrialStatus> trials_;
  std::unordered_map<std::string, TrialNumber> by_identity_;  // look-up only, never walked
  std::map<TrialNumber, Curve> curves_;
  std::set<AttemptId> open_;
  Tally tally_;
  Held held_;
  std::optional<SpaceSet> space_;
  std::optional<RunStarted> run_;
  std::optional<RunEnded> run_ended_;
  std::uint32_t walked_revision_ = 0;
  std::vector<std::string> commands_;  // identities, in order of appearance
  std::uint32_t command_ = 0;          // the present one's position
  std::string metric_;
  bool metric_chosen_ = false, keeps_curves_ = false;
  std::vector<Entry> notes_;
};

}  // namespace seedbed
