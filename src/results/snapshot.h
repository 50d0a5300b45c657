#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "engine/records.h"
#include "results/measure.h"
#include "study/point.h"

namespace seedbed {

/// A trial as tables see it.
struct TrialRow {
  TrialNumber number = 0;
  TrialState state = TrialState::waiting;
  Point point;
  std::string folder;  ///< under trials/
  std::string reason;
  bool metric_missing = false;
  bool added = false;
  bool in_space = true;  ///< false: outside the present space
  std::uint32_t revision = 0;
  std::uint64_t proposal = 0;
  std::uint32_t attempts = 0;
  Timestamp proposed_at;
  std::optional<Timestamp> started_at;   ///< of the latest attempt
  std::optional<Timestamp> finished_at;  ///< of the trial
  // Of the latest attempt:
  std::optional<Outcome> outcome;
  std::optional<Usage> usage;
  std::optional<SlotNumber> slot;
  std::string host;
  std::string code;  ///< hash of its program; only where a study has run more than one version
  /// No controller lives, and the process has ended: how, the next run records.
  bool ended_unseen = false;
  std::vector<MetricNumbers> metrics;  ///< by name

  [[nodiscard]] const MetricNumbers* metric(std::string_view name) const;
};

struct SnapshotOptions {
  /// Metrics whose last values are wanted, for mean-last:N, and how many of each. Above 128 a
  /// thinned curve gives what it has kept.
  std::map<std::string, std::uint64_t> tails;
};

/// All trials of a study at one moment.
struct Snapshot {
  std::uint32_t revision = 0;
  std::string metric;  ///< the objective's; empty: none named
  Goal goal = Goal::minimize;
  std::string seed_parameter;             ///< empty: none
  std::vector<TrialRow> trials;           ///< by number
  std::vector<std::string> parameters;    ///< names, in order of first appearance
  std::vector<std::string> varying;       ///< of them those with more than one value in the space
  std::vector<std::string> metric_names;  ///< sorted

  [[nodiscard]] const TrialRow* trial(TrialNumber number) const;
};

}  // namespace seedbed
