#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "results/result_table.h"
#include "results/snapshot.h"

namespace seedbed {

/// What `seedbed trials` shows.
struct TrialsTableOptions {
  std::string where;              ///< study/expression.h over column names; empty: all
  std::vector<std::string> sort;  ///< column names, `-name` for descending; then by trial
  /// Empty: trial, state, the parameters that differ among the rows or in the present space or are
  /// named by `where` or `sort`, metrics, duration.
  std::vector<std::string> columns;
  bool all_parameters = false;  ///< of the default columns: every parameter, for programs
  std::optional<std::uint64_t> limit;
  Timestamp now;  ///< for the duration of what still runs
};

/// Columns: `trial state attempts in_space added reason outcome exit_code slot host folder proposed
/// started finished duration cpu peak_memory log_bytes metric_missing code`, a parameter by its
/// name, a metric by its name (its last value) or as `NAME:last`, `NAME:best`, `NAME:min`,
/// `NAME:max`, `NAME:first`, `NAME:step`, `NAME:n`, `NAME:mean-last:N`. Where a name stands for
/// several things our own columns go before parameters, and those before metrics; `param.NAME` and
/// `metric.NAME` always mean the one, and name the column where the bare name is another's.
/// Durations are seconds. An unknown name is an error with a suggestion.
///
/// In `where` a number that is infinite counts as the largest double, NaN and what is not there as
/// absent. Rows without a value come last, whichever way they are sorted.
[[nodiscard]] Result<ResultTable> trials_table(const Snapshot& snapshot,
                                               const TrialsTableOptions& options);

/// What a snapshot must hold for these options (mean-last:N needs the last values).
[[nodiscard]] SnapshotOptions needed_for(const TrialsTableOptions& options);

/// Everything, with stable columns (docs/record.md): `trial state in_space added attempts reason
/// metric_missing outcome exit_code host slot proposed started finished duration cpu peak_memory
/// log_bytes folder code`, then `param.NAME` in the order of the parameters, then for each metric
/// by name `metric.NAME.last .last_step .min .min_step .max .max_step .n`. Times are UTC texts.
[[nodiscard]] ResultTable export_table(const Snapshot& snapshot);

}  // namespace seedbed
