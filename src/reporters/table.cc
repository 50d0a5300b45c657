#include "reporters/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/number_text.h"
#include "base/shown_text.h"
#include "base/text.h"

namespace seedbed {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kGap = 2;  // blanks between columns
const Cell kNothing;

const Cell& cell_at(const std::vector<Cell>& row, std::size_t column) {
  return column < row.size() ? row[column] : kNothing;
}

const std::string& header_of(const Column& column) {
  return column.header.empty() ? column.name : column.header;
}

std::vector<std::size_t> natural_widths(const Table& table, const TextTableOptions& options) {
  std::vector<std::size_t> widths(table.columns.size(), 1);
  for (std::size_t c = 0; c < widths.size(); ++c) {
    if (options.header)
      widths[c] = std::max(widths[c], display_width(one_line(header_of(table.columns[c]))));
    for (const auto& row : table.rows) {
      widths[c] = std::max(widths[c], display_width(one_line(cell_at(row, c).shown())));
    }
    widths[c] = std::min(widths[c], std::max<std::size_t>(options.most_column, 1));
  }
  return widths;
}

std::size_t total_width(const std::vector<std::size_t>& widths) {
  const std::size_t gaps = widths.empty() ? 0 : (widths.size() - 1) * kGap;
  return std::accumulate(widths.begin(), widths.end(), gaps);
}

/// Widths of the columns that are shown: all, or the first ones that can be made to fit.
std::vector<std::size_t> lay_out(const Table& table, const TextTableOptions& options) {
  const std::vector<std::size_t> natural = natural_widths(table, options);
  if (options.width == 0) return natural;
  const auto least = [&](std::size_t c) {
    return table.columns[c].may_shrink ? std::min(natural[c], options.least_column) : natural[c];
  };
  std::size_t shown = natural.size();
  for (; shown > 1; --shown) {  // the first column always stays
    std::size_t narrowest = (shown - 1) * kGap;
    for (std::size_t c = 0; c < shown; ++c) narrowest += least(c);
    if (narrowest <= options.width) break;
  }
  std::vector<std::size_t> widths(natural.begin(),
                                  natural.begin() + static_cast<std::ptrdiff_t>(shown));
  while (total_width(widths) > options.width) {
    std::size_t widest = shown;  // leftmost of the widest that can give
    for (std::size_t c = 0; c < shown; ++c) {
      if (widths[c] > least(c) && (widest == shown || widths[c] > widths[widest])) {
        widest = c;
      }
    }
    if (widest == shown) {  // one column, wider than the terminal
      widths[0] = options.width;
      break;
    }
    --widths[widest];
  }
  return widths;
}

std::string aligned(std::string_view text, std::size_t width, Align align, bool last) {
  if (align == Align::right) return pad_left(text, width);
  return last ? one_line(text, width) : pad_right(text, width);  // no blanks at the end of a line
}

Json json_of(const Cell& cell) {
  switch (cell.kind()) {
    case Cell::Kind::empty:
    case Cell::Kind::absent:
    case Cell::Kind::null:
      return nullptr;
    case Cell::Kind::text:
      return to_valid_utf8(cell.exact());
    case Cell::Kind::integer:
      return cell.as_integer();
    case Cell::Kind::boolean:
      return cell.as_integer() != 0;
    case Cell::Kind::number:
      if (std::isfinite(cell.as_number())) return cell.as_number();
      return format_number(cell.as_number());
  }
  return nullptr;
}

std::string json_row(const Table& table, const std::vector<Cell>& row) {
  Json object = Json::object();
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const Cell& cell = cell_at(row, c);
    if (cell.kind() != Cell::Kind::absent) {
      object[to_valid_utf8(table.columns[c].name)] = json_of(cell);
    }
  }
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

Cell Cell::text(std::string text, Style style) {
  Cell cell;
  cell.kind_ = Kind::text;
  cell.style_ = style;
  cell.shown_ = text;
  cell.exact_ = std::move(text);
  return cell;
}

Cell Cell::integer(std::int64_t value) {
  Cell cell;
  cell.kind_ = Kind::integer;
  cell.integer_ = value;
  cell.shown_ = cell.exact_ = std::to_string(value);
  return cell;
}

Cell Cell::number(double value, std::string shown) {
  Cell cell;
  cell.kind_ = Kind::number;
  cell.number_ = value;
  cell.shown_ = shown.empty() ? number_text(value) : std::move(shown);
  cell.exact_ = format_number(value);
  return cell;
}

Cell Cell::boolean(bool value) {
  Cell cell;
  cell.kind_ = Kind::boolean;
  cell.integer_ = value ? 1 : 0;
  cell.shown_ = cell.exact_ = value ? "true" : "false";
  return cell;
}

Cell Cell::value(const Value& value) {
  Cell cell = Cell::text(value.spelling());
  switch (value.kind()) {
    case ValueKind::absent:
      cell = Cell();
      cell.kind_ = Kind::absent;
      return cell;
    case ValueKind::null:
      cell.kind_ = Kind::null;
      return cell;
    case ValueKind::boolean:
      cell.kind_ = Kind::boolean;
      cell.integer_ = value.number().value_or(0) != 0 ? 1 : 0;
      return cell;
    case ValueKind::integer: {
      const std::string& text = value.spelling();
      const auto read = std::from_chars(text.data(), text.data() + text.size(), cell.integer_);
      if (read.ec == std::errc() && read.ptr == text.data() + text.size()) {
        cell.kind_ = Kind::integer;
        return cell;
      }
      cell.kind_ = Kind::number;  // larger than 64 bits
      cell.number_ = value.number().value_or(0);
      return cell;
    }
    case ValueKind::real:
      cell.kind_ = Kind::number;
      cell.number_ = value.number().value_or(0);
      return cell;
    case ValueKind::text:
    case ValueKind::structure:
      cell.shown_ = shown_text(value.spelling());
      return cell;
  }
  return cell;
}

Cell Cell::styled(Style style) const {
  Cell cell = *this;
  cell.style_ = style;
  return cell;
}

std::string text_table(const Table& table, const TextTableOptions& options) {
  if (table.columns.empty()) return "";
  const std::vector<std::size_t> widths = lay_out(table, options);
  const std::size_t shown = widths.size();
  std::string text;
  const auto line = [&](auto&& piece) {
    std::string row;
    for (std::size_t c = 0; c < shown; ++c) {
      if (c > 0) row.append(kGap, ' ');
      row += piece(c);
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + '\n';
  };
  if (options.header) {
    line([&](std::size_t c) {
      return paint(
          Style::strong,
          aligned(header_of(table.columns[c]), widths[c], table.columns[c].align, c + 1 == shown),
          options.colour);
    });
  }
  for (const auto& row : table.rows) {
    line([&](std::size_t c) {
      const Cell& cell = cell_at(row, c);
      return paint(cell.style(),
                   aligned(cell.shown(), widths[c], table.columns[c].align, c + 1 == shown),
                   options.colour);
    });
  }
  if (shown < table.columns.size()) {
    std::vector<std::string> names;
    for (std::size_t c = shown; c < table.columns.size(); ++c) {
      names.push_back(one_line(table.columns[c].name));
    }
    text += paint(Style::faint,
                  fmt::format("(too narrow for {} more column{}: {})", names.size(),
                              names.size() == 1 ? "" : "s", join(names, ", ")),
                  options.colour) +
            '\n';
  }
  return text;
}

std::string json_table(const Table& table) {
  if (table.rows.empty()) return "[]\n";
  std::string text = "[\n";
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    text += json_row(table, table.rows[r]);
    text += r + 1 < table.rows.size() ? ",\n" : "\n";
  }
  return text + "]\n";
}

std::string json_lines_table(const Table& table) {
  std::string text;
  for (const auto& row : table.rows) text += json_row(table, row) + '\n';
  return text;
}

std::string csv_field(std::string_view text) {
  if (!text.empty() && text.find_first_of("\",\r\n") == std::string_view::npos &&
      text.front() != ' ' && text.back() != ' ') {
    return std::string(text);
  }
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string csv_table(const Table& table) {
  std::string text;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    if (c > 0) text += ',';
    text += csv_field(to_valid_utf8(table.columns[c].name));
  }
  text += '\n';
  for (const auto& row : table.rows) {
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      if (c > 0) text += ',';
      const Cell& cell = cell_at(row, c);
      if (cell.kind() == Cell::Kind::empty || cell.kind() == Cell::Kind::absent) continue;
      text += csv_field(to_valid_utf8(cell.exact()));
    }
    text += '\n';
  }
  return text;
}

}  // namespace seedbed
