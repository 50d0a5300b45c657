#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace seedbed {

/// Which rule found a cell; the first patterns are numbered from `first_pattern`.
enum class Rule : std::uint16_t { equals, colon, object, table, words, first_pattern };

/// One named number of a row. `rank` > 0: it can be the row's step (step_names.h).
struct Cell {
  std::string name;
  double value = 0;
  int rank = 0;
  Rule rule = Rule::equals;
};

/// What belongs together at one step: a line, a JSON object, a table, a CSV row. Cleared and filled
/// again, it keeps its memory.
class Row {
 public:
  void clear() { size_ = 0; }

  Cell& add(std::string_view name, double value, Rule rule, int rank = 0) {
    if (size_ == cells_.size()) cells_.emplace_back();
    Cell& cell = cells_[size_++];
    cell.name.assign(name);
    cell.value = value;
    cell.rank = rank;
    cell.rule = rule;
    return cell;
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  /// Forgets the cells from `size` on.
  void shrink(std::size_t size) { size_ = size; }
  [[nodiscard]] Cell& operator[](std::size_t i) { return cells_[i]; }
  [[nodiscard]] const Cell& operator[](std::size_t i) const { return cells_[i]; }
  [[nodiscard]] const Cell* begin() const { return cells_.data(); }
  [[nodiscard]] const Cell* end() const { return cells_.data() + size_; }

  /// The cell that is the step: of the highest rank, the first of equals. Steps are finite.
  [[nodiscard]] const Cell* step() const {
    const Cell* best = nullptr;
    for (const Cell& cell : *this) {
      const bool finite = cell.value - cell.value == 0;
      if (cell.rank > 0 && finite && (best == nullptr || cell.rank > best->rank)) best = &cell;
    }
    return best;
  }

 private:
  std::vector<Cell> cells_;
  std::size_t size_ = 0;
};

}  // namespace seedbed
