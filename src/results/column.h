#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "results/measure.h"
#include "results/result_table.h"
#include "results/snapshot.h"

// The columns that a table of trials can have. Internal to results/.

namespace seedbed {

struct TrialColumn {
  ResultColumn head;
  std::function<ResultCell(const TrialRow& trial)> cell;
};

/// The column of a name, as trials_table.h lists them; `now` ends what still runs. An unknown name
/// is an error with a suggestion.
[[nodiscard]] Result<TrialColumn> find_column(const Snapshot& snapshot, std::string_view name,
                                              Timestamp now);

/// `NAME:mean-last:N` taken apart; nothing for any other name.
struct MeanLastColumn {
  std::string metric;
  std::uint64_t count = 0;
};
[[nodiscard]] std::optional<MeanLastColumn> mean_last_column(std::string_view name);

/// Our own columns, in the order of an export.
[[nodiscard]] const std::vector<std::string>& own_columns();

/// Less, for sorting: numbers by value, texts by bytes. Only for cells that hold something.
[[nodiscard]] bool cell_less(const ResultCell& a, const ResultCell& b);

/// Of the parameters `names` those that differ among the points; not to be there is a value too.
[[nodiscard]] std::vector<std::string> differing_parameters(
    const std::vector<std::string>& names, const std::vector<const Point*>& points);

/// Nothing, an absent parameter, or NaN: sorted last.
[[nodiscard]] bool cell_empty(const ResultCell& cell);

}  // namespace seedbed
