#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "study/value.h"

namespace seedbed {

/// A column. `name` is stable, for `--columns`, `--sort`, `--where`, JSON and CSV; `heading` is for
/// people and says which number of a curve it is.
struct ResultColumn {
  std::string name;
  std::string heading;
  bool is_parameter = false;
};

/// One value: nothing, a truth, a number (which may be NaN), text, or a parameter's value.
using ResultCell = std::variant<std::monostate, bool, std::int64_t, double, std::string, Value>;

/// Rows of typed cells, each as long as the columns; how they look is for reporters/.
struct ResultTable {
  std::vector<ResultColumn> columns;
  std::vector<std::vector<ResultCell>> rows;
};

}  // namespace seedbed
