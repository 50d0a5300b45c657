#include "cli/result_print.h"

#include <utility>

namespace seedbed {
namespace {

struct CellMaker {
  Cell operator()(std::monostate) const { return {}; }
  Cell operator()(bool value) const { return Cell::boolean(value); }
  Cell operator()(std::int64_t value) const { return Cell::integer(value); }
  Cell operator()(double value) const { return Cell::number(value); }
  Cell operator()(const std::string& value) const { return Cell::text(value); }
  Cell operator()(const Value& value) const { return Cell::value(value); }
};

bool is_number(const ResultCell& cell) {
  if (const auto* value = std::get_if<Value>(&cell)) return value->is_number();
  return std::holds_alternative<std::int64_t>(cell) || std::holds_alternative<double>(cell);
}

/// Numbers stand to the right, where their digits line up.
Align alignment(const ResultTable& results, std::size_t column) {
  bool any = false;
  for (const auto& row : results.rows) {
    if (std::holds_alternative<std::monostate>(row[column])) continue;
    if (!is_number(row[column])) return Align::left;
    any = true;
  }
  return any ? Align::right : Align::left;
}

}  // namespace

Table to_table(const ResultTable& results) {
  Table table;
  for (std::size_t i = 0; i < results.columns.size(); ++i) {
    const ResultColumn& column = results.columns[i];
    table.columns.push_back({column.name, column.heading, alignment(results, i)});
  }
  for (const auto& row : results.rows) {
    std::vector<Cell> cells;
    cells.reserve(row.size());
    for (const ResultCell& cell : row) cells.push_back(std::visit(CellMaker{}, cell));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

}  // namespace seedbed
