#pragma once

#include <string>

#include "reporters/table.h"
#include "results/result_table.h"

namespace seedbed {

/// How a table of results looks: the cells with their types, headings for people.
[[nodiscard]] Table to_table(const ResultTable& results);

}  // namespace seedbed
