#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "reporters/style.h"
#include "study/value.h"

namespace seedbed {

enum class Align { left, right };

/// A column. `name` is the stable key of JSON and CSV; `header` is what people see.
struct Column {
  std::string name;
  std::string header = {};  ///< empty: the name
  Align align = Align::left;
  bool may_shrink = true;  ///< cut with `…` where the terminal is too narrow
};

/// One value of a table: the text people see, and the typed value machines get.
class TableCell {
 public:
  enum class Kind { empty, absent, null, text, integer, number, boolean };

  TableCell() = default;  ///< nothing there: blank for people and in CSV, null in JSON
  [[nodiscard]] static TableCell text(std::string text, Style style = Style::plain);
  [[nodiscard]] static TableCell integer(std::int64_t value);
  /// Shown by number_text unless `shown` is given; JSON and CSV get every digit.
  [[nodiscard]] static TableCell number(double value, std::string shown = {});
  [[nodiscard]] static TableCell boolean(bool value);
  /// A parameter: people and CSV see its spelling, JSON its type. Absent is blank, and no key in
  /// JSON; null is `None`, and null in JSON; the empty text is shown as `""`: three different
  /// values. A text with blanks at its ends is shown in quotes too.
  [[nodiscard]] static TableCell value(const Value& value);

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] Style style() const { return style_; }
  [[nodiscard]] const std::string& shown() const { return shown_; }
  [[nodiscard]] const std::string& exact() const { return exact_; }  ///< for CSV
  [[nodiscard]] std::int64_t as_integer() const { return integer_; }
  [[nodiscard]] double as_number() const { return number_; }
  [[nodiscard]] TableCell styled(Style style) const;

 private:
  Kind kind_ = Kind::empty;
  Style style_ = Style::plain;
  std::string shown_, exact_;
  std::int64_t integer_ = 0;
  double number_ = 0;
};

using Cell = TableCell;

/// Rows of cells under columns. A row may be shorter than the columns: the rest is empty.
struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
};

struct TextTableOptions {
  std::size_t width = 0;  ///< columns of the terminal; 0: never cut
  bool colour = false;
  bool header = true;
  std::size_t least_column = 8;  ///< a column is not shrunk below this
  std::size_t most_column =
      120;  ///< nor ever wider than this: one huge value must not drown a table
};

/// The table for people. Where it is wider than the terminal, the widest columns are shrunk first;
/// where that does not do, columns from the right are left out and a last line names them. Empty
/// tables are a header alone.
[[nodiscard]] std::string text_table(const Table& table, const TextTableOptions& options = {});

/// A JSON array of objects in the order of the columns, one row a line, keys = column names.
/// Numbers that are not finite are the strings "nan", "inf", "-inf"; an empty cell is null, an
/// absent parameter no key.
[[nodiscard]] std::string json_table(const Table& table);

/// The same objects, one a line, without the array.
[[nodiscard]] std::string json_lines_table(const Table& table);

/// CSV as RFC 4180 quotes it, but with LF line ends, UTF-8, header = column names. An empty cell
/// is nothing, the empty text is `""`; nan, inf, -inf are written so. Texts that a spreadsheet
/// would run as a formula stay as they are: what was exported reads back as it was.
[[nodiscard]] std::string csv_table(const Table& table);

/// One field as RFC 4180 quotes it: only where it must be.
[[nodiscard]] std::string csv_field(std::string_view text);

}  // namespace seedbed
