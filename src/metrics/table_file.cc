#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "metrics/number.h"
#include "metrics/parsers.h"
#include "metrics/piece_splitter.h"
#include "metrics/point_sink.h"
#include "metrics/step_names.h"

// Tables that a program appends to: `progress.txt` (TAB), CSV, columns separated by blanks.
//
//  - The separator is found in the first header: for .csv `,` `;` TAB, else TAB `,` `;`; blanks
//  when
//    it has none of them (then runs of blanks separate, and no field can be empty).
//  - The first line is the header. A line of numbers only: columns are column1, column2, ... Lines
//    that begin with `#` are comments, except a first one that names columns (`# step loss`).
//  - A later line that holds only words, one of them a present column, is a new header: its columns
//    hold from there on. So metrics may come later, and keep their names. Before the first row a
//    line of words with a step among them (`step loss`) also is one: what stood above was a title.
//  - A short row leaves its last columns blank; surplus fields belong to no column and are left
//  out.
//    A value never moves to another column. Both are noted.
//  - Fields that are no numbers (True and False are 1 and 0) are left out.
//  - Fields may be quoted as in RFC 4180 ("" is a quote); in CSV they may hold line ends.
//  - A last line without an end counts when the file is finished, but if it is short its last field
//    is left out: it may have been cut within the number.
//  - A record longer than 64 KiB is left out with a note.

namespace seedbed {
namespace {

constexpr std::string_view kStateKind = "table1";
constexpr std::size_t kMostColumns = 2000;

bool is_blank(char c) { return c == ' ' || c == '\t'; }

/// Takes the quotes off a field.
std::string unquote(std::string_view field) {
  field = trim(field);
  if (field.size() < 2 || field.front() != '"' || field.back() != '"') return std::string(field);
  std::string out;
  field = field.substr(1, field.size() - 2);
  for (std::size_t i = 0; i < field.size(); ++i) {
    out += field[i];
    if (field[i] == '"' && i + 1 < field.size() && field[i + 1] == '"') ++i;
  }
  return out;
}

std::optional<double> cell_value(std::string_view field) {
  field = trim(field);
  if (field.size() >= 2 && field.front() == '"' && field.back() == '"') {
    field = trim(field.substr(1, field.size() - 2));
  }
  if (field == "True" || field == "true" || field == "TRUE") return 1;
  if (field == "False" || field == "false" || field == "FALSE") return 0;
  return whole_number(field);
}

class TableParser : public MetricParser {
 public:
  explicit TableParser(bool csv) : csv_(csv) {}

  void feed(std::string_view bytes, std::vector<ParsedPoint>& points) override {
    splitter_.feed(bytes, [&](std::string_view text, bool whole) { line(text, whole, points); });
  }

  void finish(std::vector<ParsedPoint>& points) override {
    finishing_ = true;
    splitter_.finish([&](std::string_view text, bool whole) { line(text, whole, points); });
    if (!open_record_.empty()) record(open_record_, points);
    open_record_.clear();
    finishing_ = false;
    sink_.finish(points);
  }

  void restart() override {
    splitter_.clear();
    open_record_.clear();
    columns_.clear();
    separator_ = 0;
    rows_seen_ = false;
    sink_.restart();
  }

  std::string state() const override {
    StateWriter state;
    state.text(kStateKind);
    splitter_.save(state);
    sink_.save(state);
    state.text(open_record_);
    state.number(static_cast<unsigned char>(separator_));
    state.flag(rows_seen_);
    state.number(columns_.size());
    for (const Column& column : columns_) state.text(column.name);
    return state.take();
  }

  Status restore(std::string_view text) override {
    StateReader state(text);
    const bool known = state.text() == kStateKind;
    splitter_.load(state);
    sink_.load(state);
    open_record_ = state.text();
    separator_ = static_cast<char>(state.number());
    rows_seen_ = state.flag();
    columns_.clear();
    for (std::size_t i = state.count(); i > 0 && state.ok(); --i) add_column(state.text());
    if (known && state.at_end()) return {};
    return fail(ErrorCode::damaged, "the stored reading position of a table is not understood");
  }

  std::vector<std::string> names() const override { return sink_.names(); }
  void next_attempt() override { sink_.next_attempt(); }
  std::vector<std::string> take_notes() override { return sink_.notes().take(); }

 private:
  struct Column {
    std::string name;  ///< empty: not read
    int rank = 0;
  };

  void line(std::string_view text, bool whole, std::vector<ParsedPoint>& points);
  void record(std::string_view text, std::vector<ParsedPoint>& points);
  void split_fields(std::string_view text);
  [[nodiscard]] bool is_header() const;
  void set_header();
  void data_row(std::vector<ParsedPoint>& points);
  void add_column(std::string name);
  [[nodiscard]] char find_separator(std::string_view header) const;

  bool csv_;
  bool finishing_ = false;
  PieceSplitter splitter_{false};
  std::string open_record_;  ///< lines of a record whose quotes are still open
  PointSink sink_;
  char separator_ = 0;      ///< 0: no header yet
  bool rows_seen_ = false;  ///< under any header
  std::vector<Column> columns_;
  std::vector<std::string_view> fields_;
  Row row_;
};

/// Whether a quoted field is still open at the end of `text`.
bool has_open_quote(std::string_view text) {
  if (text.find('"') == std::string_view::npos) return false;
  bool quoted = false;
  bool at_start = true;
  for (const char c : text) {
    if (c == '"' && (quoted || at_start)) {
      quoted = !quoted;
      at_start = !quoted;  // a quote right after a closing one opens again: "" stands for a quote
    } else if (!quoted) {
      at_start = c == ',' || c == ';' || c == '\t' || (at_start && c == ' ');
    }
  }
  return quoted;
}

void TableParser::line(std::string_view text, bool whole, std::vector<ParsedPoint>& points) {
  if (!whole) {
    sink_.notes().add("a line longer than 64 KiB was left out");
    open_record_.clear();
    return;
  }
  if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
  if (open_record_.empty() && !(csv_ && has_open_quote(text))) return record(text, points);
  if (!csv_) return record(text, points);
  if (open_record_.size() + text.size() > kLongestPiece) {
    sink_.notes().add("a quote that is never closed: the rows after it were left out");
    open_record_.clear();
    return;
  }
  if (!open_record_.empty()) open_record_ += '\n';
  open_record_ += text;
  // Only a line with a quote can close the record, so lines without one are not gone over again.
  if (text.find('"') == std::string_view::npos || has_open_quote(open_record_)) return;
  const std::string complete = std::exchange(open_record_, {});
  record(complete, points);
}

void TableParser::record(std::string_view text, std::vector<ParsedPoint>& points) {
  if (trim(text).empty()) return;
  if (separator_ == 0 && text.substr(0, 3) == "\xef\xbb\xbf") text.remove_prefix(3);
  if (text[0] == '#') {
    if (separator_ != 0) return;
    text.remove_prefix(1);
    if (trim(text).empty() || trim(text).front() == '{') return;  // a comment of its own kind
  }
  if (separator_ == 0) {
    if (finishing_) return;  // a lone line without an end: neither header nor row
    separator_ = find_separator(text);
    split_fields(text);
    if (is_header()) return set_header();
    for (std::size_t i = 0; i < fields_.size(); ++i) add_column(fmt::format("column{}", i + 1));
    sink_.notes().add("no header line: the columns are called column1, column2, ...");
    return data_row(points);
  }
  split_fields(text);
  if (is_header() && !finishing_) return set_header();
  data_row(points);
}

char TableParser::find_separator(std::string_view header) const {
  for (const char c : csv_ ? std::string_view(",;\t") : std::string_view("\t,;")) {
    if (header.find(c) != std::string_view::npos) return c;
  }
  return trim(header).find_first_of(" \t") == std::string_view::npos && csv_ ? ',' : ' ';
}

void TableParser::split_fields(std::string_view text) {
  fields_.clear();
  if (separator_ == ' ') {
    std::size_t at = 0;
    while (true) {
      while (at < text.size() && is_blank(text[at])) ++at;
      if (at >= text.size()) return;
      const std::size_t start = at;
      while (at < text.size() && !is_blank(text[at])) ++at;
      fields_.push_back(text.substr(start, at - start));
    }
  }
  std::size_t start = 0;
  bool quoted = false;
  bool at_start = true;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '"' && (quoted || at_start)) {
      quoted = !quoted;
      at_start = !quoted;  // "" within a quoted field opens it again
      continue;
    }
    if (i == text.size() || (text[i] == separator_ && !quoted)) {
      fields_.push_back(text.substr(start, i - start));
      start = i + 1;
      at_start = true;
    } else if (!quoted) {
      at_start = at_start && text[i] == ' ';
    }
  }
}

/// Only words, as the head of this file says.
bool TableParser::is_header() const {
  bool known = false;
  bool step = false;
  std::size_t words = 0;
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    const std::string_view field = trim(fields_[i]);
    if (field.empty()) {
      // pandas writes its index without a name
      if (i > 0) return false;
      continue;
    }
    if (cell_value(field)) return false;
    ++words;
    const std::string name = unquote(field);
    step = step || step_rank(name) > 0;
    known = known || std::any_of(columns_.begin(), columns_.end(),
                                 [&](const Column& column) { return column.name == name; });
  }
  if (columns_.empty()) return words > 0;
  return words > 0 && (known || (step && !rows_seen_));
}

void TableParser::set_header() {
  std::vector<Column> before = std::move(columns_);
  columns_.clear();
  if (fields_.size() > kMostColumns) {
    sink_.notes().add(
        fmt::format("more than {} columns: the further ones are not read", kMostColumns));
    fields_.resize(kMostColumns);
  }
  for (const std::string_view field : fields_) {
    std::string name = to_valid_utf8(unquote(field));
    const std::string base = name;
    const auto taken = [&]() {
      return !name.empty() && std::any_of(columns_.begin(), columns_.end(),
                                          [&](const Column& c) { return c.name == name; });
    };
    for (int i = 2; taken(); ++i) name = fmt::format("{}.{}", base, i);
    if (name != base) {
      sink_.notes().add(fmt::format("two columns are called `{}`: the second is read as `{}`",
                                    one_line(base, 60), one_line(name, 60)));
    }
    add_column(std::move(name));
  }
  if (before.empty()) return;
  const bool same = std::equal(before.begin(), before.end(), columns_.begin(), columns_.end(),
                               [](const Column& a, const Column& b) { return a.name == b.name; });
  sink_.notes().add(same ? "the header is repeated in the middle of the file"
                         : "a new header in the middle of the file: its columns hold from there");
}

void TableParser::add_column(std::string name) {
  const int rank = step_rank(name);
  columns_.push_back({std::move(name), rank});
}

void TableParser::data_row(std::vector<ParsedPoint>& points) {
  std::size_t count = fields_.size();
  if (count > columns_.size()) {
    sink_.notes().add(fmt::format(
        "rows have more fields than the {} columns: the surplus is left out", columns_.size()));
    count = columns_.size();
  } else if (count < columns_.size()) {
    if (finishing_ && count > 0) --count;  // the file may have been cut within the field
    sink_.notes().add(fmt::format("rows have fewer fields than the {} columns: the rest is blank",
                                  columns_.size()));
  }
  row_.clear();
  for (std::size_t i = 0; i < count; ++i) {
    if (columns_[i].name.empty()) continue;
    const std::optional<double> value = cell_value(fields_[i]);
    if (value) row_.add(columns_[i].name, *value, Rule::table, columns_[i].rank);
  }
  rows_seen_ = rows_seen_ || !row_.empty();
  sink_.add_row(row_, std::nullopt, points);
}

}  // namespace

std::unique_ptr<MetricParser> make_table_parser(bool csv) {
  return std::make_unique<TableParser>(csv);
}

}  // namespace seedbed
