#include "study/csv_reader.h"

#include <set>

#include "base/text.h"

namespace seedbed {

namespace {

constexpr std::size_t kMaxBytes = std::size_t{64} << 20;
constexpr std::size_t kMaxCells = 1'000'000;

struct Cell {
  std::string text;
  bool in_quotes = false;
  std::size_t offset = 0;
};

class CsvParser {
 public:
  explicit CsvParser(const SourceText& source) : source_(source), text_(source.text()) {
    const std::string_view header = text_.substr(0, text_.find('\n'));
    if (header.find(',') == std::string_view::npos) {
      if (header.find('\t') != std::string_view::npos) {
        separator_ = '\t';
      } else if (header.find(';') != std::string_view::npos) {
        separator_ = ';';
      }
    }
  }

  [[nodiscard]] bool done() const { return at_ >= text_.size(); }
  [[nodiscard]] std::size_t at() const { return at_; }

  // The next line's cells; a line without any character gives no cells.
  Result<std::vector<Cell>> row() {
    std::vector<Cell> cells;
    if (end_of_line()) return cells;
    for (;;) {
      Result<Cell> next = cell();
      if (!next) return propagate(next);
      cells.push_back(std::move(*next));
      if (++cells_ > kMaxCells) {
        return tl::unexpected(source_.error(at_, "more than a million cells"));
      }
      if (end_of_line()) return cells;
      ++at_;  // the separator
    }
  }

 private:
  [[nodiscard]] bool is_break(std::size_t i) const {
    return text_[i] == '\n' ||
           (text_[i] == '\r' && (i + 1 == text_.size() || text_[i + 1] == '\n'));
  }

  // Takes the end of a line, if it is here.
  bool end_of_line() {
    if (done()) return true;
    if (!is_break(at_)) return false;
    if (text_[at_] == '\r') ++at_;
    if (!done()) ++at_;
    return true;
  }

  Result<Cell> cell() {
    Cell cell;
    while (!done() && text_[at_] == ' ') ++at_;
    cell.offset = at_;
    if (!done() && text_[at_] == '"') return quoted_cell(std::move(cell));
    const std::size_t start = at_;
    while (!done() && text_[at_] != separator_ && !is_break(at_)) ++at_;
    cell.text = std::string(trim(text_.substr(start, at_ - start)));
    return cell;
  }

  Result<Cell> quoted_cell(Cell cell) {
    cell.in_quotes = true;
    ++at_;
    for (;; ++at_) {
      if (done()) {
        return tl::unexpected(
            source_.error(cell.offset, "the quote is not closed", "write \"\" for a quote inside"));
      }
      if (text_[at_] == '"') {
        if (at_ + 1 >= text_.size() || text_[at_ + 1] != '"') break;
        ++at_;
      }
      cell.text += text_[at_];
    }
    ++at_;
    while (!done() && text_[at_] == ' ') ++at_;
    if (!done() && text_[at_] != separator_ && !is_break(at_)) {
      return tl::unexpected(source_.error(at_, "text after the closing quote",
                                          "write \"\" for a quote inside a quoted cell"));
    }
    return cell;
  }

  const SourceText& source_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t cells_ = 0;
  char separator_ = ',';
};

Result<std::vector<std::string>> read_header(const SourceText& source, CsvParser& parser) {
  Result<std::vector<Cell>> cells = parser.row();
  if (!cells) return propagate(cells);
  if (cells->empty()) {
    return tl::unexpected(
        source.error(0, "the first line is empty", "it names the parameters, separated by commas"));
  }
  std::vector<std::string> names;
  std::set<std::string> known;
  for (const Cell& cell : *cells) {
    if (const auto problem = name_problem(cell.text)) {
      return tl::unexpected(source.error(cell.offset, "in the header: " + *problem,
                                         "the first line names the parameters"));
    }
    if (!known.insert(cell.text).second) {
      return tl::unexpected(
          source.error(cell.offset, "column " + in_ticks(cell.text) + " is there twice"));
    }
    names.push_back(cell.text);
  }
  return names;
}

Value cell_value(const Cell& cell, ValueNotes& notes) {
  if (cell.in_quotes) return Value::from_text(cell.text);
  if (cell.text.empty()) return Value::absent();
  Value value = Value::from_plain(cell.text);
  if (value.kind() == ValueKind::null) notes.null = true;
  return value;
}

}  // namespace

Result<ExplicitRows> read_csv_trials(const SourceText& source, ValueNotes& notes) {
  const std::string& text = source.text();
  if (text.size() > kMaxBytes)
    return fail(ErrorCode::usage, source.name() + ": larger than 64 MiB");
  if (!is_valid_utf8(text) || text.find('\0') != std::string::npos) {
    return fail(ErrorCode::usage,
                source.name() + ": this is not UTF-8 text; save it with the encoding UTF-8");
  }
  CsvParser parser(source);
  Result<std::vector<std::string>> names = read_header(source, parser);
  if (!names) return propagate(names);
  ExplicitRows rows;
  while (!parser.done()) {
    const std::size_t start = parser.at();
    Result<std::vector<Cell>> cells = parser.row();
    if (!cells) return propagate(cells);
    const bool blank = cells->size() == 1 && cells->front().text.empty();
    if (cells->empty() || (blank && !cells->front().in_quotes)) continue;
    if (cells->size() != names->size()) {
      return tl::unexpected(source.error(start,
                                         std::to_string(cells->size()) + " cells in a table of " +
                                             std::to_string(names->size()) + " columns",
                                         "a comma inside a value needs quotes around the value"));
    }
    std::vector<Parameter> row;
    for (std::size_t i = 0; i < names->size(); ++i) {
      row.push_back({(*names)[i], cell_value((*cells)[i], notes)});
    }
    rows.rows.push_back(std::move(row));
  }
  if (rows.rows.empty()) {
    return fail(ErrorCode::usage, source.name() + ": no trials below the header");
  }
  return rows;
}

}  // namespace seedbed
