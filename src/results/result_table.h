#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
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

/// The column of a parameter in a table with these columns of its own: the parameter's name, or
/// `param.NAME` where that is one of them. So a parameter never takes the place of a column.
template <typename Names>
[[nodiscard]] std::string parameter_column_name(std::string_view name, const Names& own) {
  const bool taken = std::find(own.begin(), own.end(), name) != own.end();
  return (taken ? "param." : "") + std::string(name);
}

/// Rows of typed cells, each as long as the columns; how they look is for reporters/.
struct ResultTable {
  std::vector<ResultColumn> columns;
  std::vector<std::vector<ResultCell>> rows;
};

}  // namespace seedbed
