#pragma once

#include <cstdint>
#include <map>
#include <optional>
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
  Timestamp not_before;
  Timestamp finished_at;
  std::map<std::string, double> last_metrics;  ///< latest value by name
};

/// The fold of the records: what the study is. The same for the engine, the reporters of a running
/// controller and a view in another process.
class StudyState {
 public:
  /// The only mutation. Aborts on records that contradict each other (a bug of ours: the store
  /// checks damaged files before).
  void apply(const Entry& entry);

  [[nodiscard]] const std::map<TrialNumber, TrialStatus>& trials() const { return trials_; }
  [[nodiscard]] const TrialStatus* trial(TrialNumber number) const;
  [[nodiscard]] const TrialStatus* by_identity(const std::string& identity) const;
  [[nodiscard]] const AttemptStatus* attempt(AttemptId id) const;
  /// In the present space: of its revision, or added.
  [[nodiscard]] bool in_space(const TrialStatus& trial) const;
  /// Trials of the present space by state.
  [[nodiscard]] std::uint64_t count(TrialState state) const;
  [[nodiscard]] const std::optional<SpaceSet>& space() const { return space_; }
  [[nodiscard]] const std::optional<RunStarted>& run() const { return run_; }
  [[nodiscard]] const std::optional<RunEnded>& run_ended() const { return run_ended_; }
  [[nodiscard]] bool space_walked() const { return walked_revision_ == revision(); }
  [[nodiscard]] std::uint32_t revision() const { return space_ ? space_->revision : 0; }
  [[nodiscard]] bool paused() const { return paused_; }
  [[nodiscard]] std::uint32_t slots() const { return slots_; }
  /// Attempts whose allocation is not yet free, in order: what a successor must adopt.
  [[nodiscard]] std::vector<AttemptId> open_attempts() const;
  /// The objective's curves, by trial.
  [[nodiscard]] const std::map<TrialNumber, Curve>& curves() const { return curves_; }
  [[nodiscard]] const std::vector<Entry>& notes() const { return notes_; }

 private:
  struct Applier;

  std::map<TrialNumber, TrialStatus> trials_;
  std::unordered_map<std::string, TrialNumber> by_identity_;  // look-up only, never walked
  std::map<TrialNumber, Curve> curves_;
  std::map<AttemptId, bool> open_;
  std::map<TrialState, std::uint64_t> counts_;
  std::optional<SpaceSet> space_;
  std::optional<RunStarted> run_;
  std::optional<RunEnded> run_ended_;
  std::uint32_t walked_revision_ = 0;
  bool paused_ = false;
  std::uint32_t slots_ = 0;
  std::vector<Entry> notes_;
};

}  // namespace seedbed
