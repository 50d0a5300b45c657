#include "metrics/line_scan.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/text.h"
#include "metrics/number.h"
#include "metrics/step_names.h"

namespace seedbed {
namespace {

constexpr std::size_t kLongestName = 128;
constexpr std::size_t kMostBlanks = 40;  // between name, sign and value
constexpr int kMostObjects = 16;         // tried in one piece

constexpr std::uint8_t kName = 1, kStop = 2, kBlank = 4, kDigit = 8, kBefore = 16, kSeparator = 32;

constexpr std::array<std::uint8_t, 256> make_classes() {
  std::array<std::uint8_t, 256> classes{};
  for (int c = 0; c < 256; ++c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 0x80;
    if (letter) classes[c] |= kName;
    if (c >= '0' && c <= '9') classes[c] |= kName | kDigit;
    if (c <= ' ' || c == 0x7f) classes[c] |= kBlank | kBefore;
  }
  for (const char c : {'_', '.', '/', '@', '+', '-'}) classes[c] |= kName;
  for (const char c : {'=', ':', '{'}) classes[c] |= kStop;
  for (const char c : std::string_view(",;|()[]*#=:<>~")) classes[c] |= kSeparator;
  for (const char c : {'(', '[', '{', ',', ';', '|', '\'', '"', '*', '>', ']'}) {
    classes[c] |= kBefore;
  }
  return classes;
}

constexpr std::array<std::uint8_t, 256> kClasses = make_classes();

bool is(char c, std::uint8_t which) {
  return (kClasses[static_cast<unsigned char>(c)] & which) != 0;
}
bool is_blank(char c) { return is(c, kBlank); }
bool is_digit(char c) { return is(c, kDigit); }
char lower_ascii(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
bool is_letter(char c) { return lower_ascii(c) >= 'a' && lower_ascii(c) <= 'z'; }
bool starts_name(char c) {
  return is_letter(c) || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}

bool is_utf8(std::string_view word) {
  const bool ascii = std::all_of(word.begin(), word.end(), [](char c) { return (c & 0x80) == 0; });
  return ascii || is_valid_utf8(word);
}

template <std::size_t N>
bool one_of(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::any_of(words.begin(), words.end(), [word](std::string_view known) {
    return known.size() == word.size() &&
           std::equal(word.begin(), word.end(), known.begin(),
                      [](char a, char b) { return lower_ascii(a) == b; });
  });
}

bool is_level(std::string_view word) {
  constexpr std::array<std::string_view, 11> kLevels = {"info",     "debug", "warning", "warn",
                                                        "error",    "fatal", "trace",   "notice",
                                                        "critical", "note",  "hint"};
  return word.size() >= 4 && word.size() <= 8 && one_of(word, kLevels);
}

bool is_qualifier(std::string_view word) {
  constexpr std::array<std::string_view, 23> kQualifiers = {
      "train", "training", "val",    "valid", "validation", "test",    "testing", "eval",
      "dev",   "best",     "mean",   "avg",   "average",    "max",     "min",     "std",
      "total", "final",    "median", "last",  "evaluation", "running", "smoothed"};
  return word.size() >= 3 && word.size() <= 10 && one_of(word, kQualifiers);
}

bool is_log_prefix(std::string_view word) {
  return is_level(word) || word == "root" || word == "__main__";
}

/// Whether a value may end before `at`.
bool ends_value(std::string_view text, std::size_t at) {
  if (at >= text.size()) return true;
  const bool last = at + 1 >= text.size();
  switch (text[at]) {
    case ';':
    case ')':
    case ']':
    case '}':
    case '|':
    case '"':
    case '\'':
      return true;
    case ',':
      return last || !is_digit(text[at + 1]);
    case '%':
      return last || (text[at + 1] != '|' && !is(text[at + 1], kName));
    case '.':
    case ':':
    case '!':
      return last || is_blank(text[at + 1]);
    default:
      return is_blank(text[at]);
  }
}

std::size_t skip_blanks(std::string_view text, std::size_t at) {
  const std::size_t limit = std::min(text.size(), at + kMostBlanks);
  while (at < limit && is_blank(text[at])) ++at;
  return at;
}

struct StepValue {
  double value = 0;
  std::size_t end = 0;
  bool position = false;  ///< written k/n
};

/// `3`, `3/10`, `[3/10]`, `#3`.
std::optional<StepValue> step_value(std::string_view text, std::size_t at) {
  if (at < text.size() && text[at] == '#') ++at;
  const bool bracket = at < text.size() && text[at] == '[';
  if (bracket) at = skip_blanks(text, at + 1);
  const std::optional<NumberPrefix> number = number_prefix(text.substr(at));
  if (!number || number->value - number->value != 0) return std::nullopt;
  StepValue step{number->value, at + number->length, false};
  if (step.end + 1 < text.size() && text[step.end] == '/' && is_digit(text[step.end + 1])) {
    step.position = true;
    ++step.end;
    while (step.end < text.size() && is_digit(text[step.end])) ++step.end;
  }
  if (bracket) {
    step.end = skip_blanks(text, step.end);
    if (step.end >= text.size() || text[step.end] != ']') return std::nullopt;
    ++step.end;
    return step;
  }
  return ends_value(text, step.end) ? std::optional(step) : std::nullopt;
}

int rank_of(int rank, const StepValue& step) {
  return step.position && rank > kPositionRank && rank != text_step_rank("epoch") ? kPositionRank
                                                                                  : rank;
}

/// Length of `tensor(` and the like at the start of a value, or 0.
std::size_t wrapper_length(std::string_view text) {
  if (text.empty() || !is_letter(text[0])) return 0;
  for (const std::string_view word :
       {"tensor(", "np.float64(", "np.float32(", "array(", "Array("}) {
    if (text.substr(0, word.size()) == word) return word.size();
  }
  return 0;
}

/// A number that cannot be a port, a line or an hour: it has a point, an exponent, or is a word.
bool is_no_count(std::string_view number) {
  return std::any_of(number.begin(), number.end(), [](char c) { return is_letter(c) || c == '.'; });
}

struct NameSpan {
  std::size_t begin = 0, end = 0;
  bool quoted = false;
};

/// The name that ends before the sign at `at`.
std::optional<NameSpan> name_before(std::string_view text, std::size_t at) {
  NameSpan name;
  name.end = at;
  while (name.end > 0 && at - name.end < kMostBlanks && is_blank(text[name.end - 1])) --name.end;
  if (name.end == 0) return std::nullopt;
  const char last = text[name.end - 1];
  name.quoted = last == '"' || last == '\'';
  if (name.quoted) --name.end;
  name.begin = name.end;
  while (name.begin > 0 && name.end - name.begin <= kLongestName &&
         (name.quoted ? text[name.begin - 1] != last : is(text[name.begin - 1], kName))) {
    --name.begin;
  }
  if (name.begin == name.end || name.end - name.begin > kLongestName) return std::nullopt;
  if (name.quoted) return name.begin > 0 ? std::optional(name) : std::nullopt;
  if (!starts_name(text[name.begin])) return std::nullopt;
  if (name.begin == 0 || is(text[name.begin - 1], kBefore)) return name;
  // `epoch 3:loss=0.5`, `<stdout>:loss=0.5`, but not `http:x=1`
  const bool after_number = text[name.begin - 1] == ':' && name.begin > 1 &&
                            (is_digit(text[name.begin - 2]) || text[name.begin - 2] == '>');
  return after_number ? std::optional(name) : std::nullopt;
}

}  // namespace

PieceKind LineScanner::scan(std::string_view piece, bool whole, Row& row) {
  const std::size_t before = row.size();
  pairs(piece, row);
  bool metrics = false;
  bool steps = false;
  for (std::size_t i = before; i < row.size(); ++i) {
    (row[i].rank == 0 ? metrics : steps) = true;
    if (row[i].rank == kPositionRank) steps = false;
  }
  if (metrics) {
    if (!steps) step_words(piece, row);
    return PieceKind::plain;
  }
  row.shrink(before);
  return whole ? words(piece, row) : PieceKind::plain;
}

void LineScanner::pairs(std::string_view piece, Row& row) {
  int objects = 0;
  std::size_t at = 0;
  while (at < piece.size()) {
    if (!is(piece[at], kStop)) {
      ++at;
      continue;
    }
    if (piece[at] == '{') {
      std::size_t length = 0;
      if (++objects <= kMostObjects) length = objects_.scan(piece.substr(at), Rule::object, row);
      at += std::max<std::size_t>(length, 1);
      continue;
    }
    std::size_t next = at + 1;
    at = pair(piece, at, next, row) ? next : at + 1;
  }
}

bool LineScanner::pair(std::string_view piece, std::size_t at, std::size_t& next, Row& row) {
  const bool colon = piece[at] == ':';
  std::size_t value_at = skip_blanks(piece, at + 1);
  if (value_at >= piece.size()) return false;
  const bool glued = colon && value_at == at + 1;
  const char first = piece[value_at];
  if (!is_digit(first) && !is_letter(first) && first != '-' && first != '+' && first != '.' &&
      first != '[' && first != '#') {
    return false;
  }
  const std::optional<NameSpan> span = name_before(piece, at);
  if (!span) return false;
  std::string_view name = piece.substr(span->begin, span->end - span->begin);
  const Rule rule = colon ? Rule::colon : Rule::equals;
  const int rank = text_step_rank(name);
  if (rank > 0) {
    if (const std::optional<StepValue> step = step_value(piece, value_at)) {
      next = step->end;
      row.add(name, step->value, rule, rank_of(rank, *step));
      return true;
    }
  }
  const std::size_t wrapper = wrapper_length(piece.substr(value_at));
  value_at += wrapper;
  const std::optional<NumberPrefix> number = number_prefix(piece.substr(value_at));
  if (!number) return false;
  next = value_at + number->length;
  if (wrapper > 0 ? next >= piece.size() || (piece[next] != ')' && piece[next] != ',')
                  : !ends_value(piece, next)) {
    return false;
  }
  if (glued && !span->quoted && !is_no_count(piece.substr(value_at, number->length))) return false;
  if (colon && is_level(name)) return false;
  if (!is_utf8(name)) return false;
  if (span->quoted || rank > 0) {
    row.add(name, number->value, rule);
    return true;
  }
  // Words in front that belong to the name.
  name_.assign(name);
  std::size_t begin = span->begin;
  for (int words = 0; words < 3 && begin > 1 && piece[begin - 1] == ' '; ++words) {
    std::size_t end = begin - 1;
    while (end > 0 && piece[end - 1] == ' ') --end;
    begin = end;
    while (begin > 0 && is_letter(piece[begin - 1])) --begin;
    const std::string_view word = piece.substr(begin, end - begin);
    if (!is_qualifier(word) || (begin > 0 && !is(piece[begin - 1], kBefore))) break;
    name_.insert(0, " ").insert(0, word);
  }
  row.add(name_, number->value, rule);
  return true;
}

void LineScanner::step_words(std::string_view piece, Row& row) {
  std::size_t at = 0;
  while (at < piece.size()) {
    if (!is(piece[at], kName)) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < piece.size() && is(piece[end], kName)) ++end;
    const std::string_view word = piece.substr(at, end - at);
    at = end;
    if (end >= piece.size() || (!is_blank(piece[end]) && piece[end] != '[')) continue;
    const int rank = is_letter(word[0]) ? text_step_rank(word) : 0;
    if (rank == 0) continue;
    const std::optional<StepValue> step = step_value(piece, skip_blanks(piece, end));
    if (!step) continue;
    row.add(word, step->value, Rule::words, rank_of(rank, *step));
    at = step->end;
  }
}

namespace {

/// The words and numbers of a line that is nothing else.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) {}

  /// Next word or number; empty at the end.
  std::string_view next() {
    while (at_ < text_.size() && is_separator(at_)) ++at_;
    const std::size_t start = at_;
    while (at_ < text_.size() && !is_separator(at_)) ++at_;
    return text_.substr(start, at_ - start);
  }

  /// Passes a group in brackets at the very start: `[rank0]`, `(worker pid=3)`.
  void skip_group() {
    at_ = skip_blanks(text_, at_);
    if (at_ >= text_.size() || (text_[at_] != '[' && text_[at_] != '(')) return;
    const std::size_t end = text_.find(text_[at_] == '[' ? ']' : ')', at_);
    if (end != std::string_view::npos) at_ = end + 1;
  }

 private:
  /// Blanks, brackets and signs between words; a run of `-`, `=` and the like is decoration.
  [[nodiscard]] bool is_separator(std::size_t i) const {
    const char c = text_[i];
    if (is(c, kBlank | kSeparator)) return true;
    if (c != '-' && c != '_') return false;
    const bool left = i == 0 || is_blank(text_[i - 1]) || text_[i - 1] == c;
    const bool right = i + 1 == text_.size() || is_blank(text_[i + 1]) || text_[i + 1] == c;
    return left && right;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

PieceKind LineScanner::words(std::string_view piece, Row& row) {
  const std::size_t before = row.size();
  Tokens tokens(piece);
  tokens.skip_group();
  std::string_view token = tokens.next();
  for (int i = 0; i < 12 && !token.empty() && (is_digit(token[0]) || is_log_prefix(token)); ++i) {
    token = tokens.next();
  }
  if (token.empty() || text_step_rank(token) == 0) return PieceKind::plain;
  bool metrics = false;
  while (!token.empty()) {
    name_.clear();
    while (is_qualifier(token) && name_.size() < 32) {
      name_.append(token).append(" ");
      token = tokens.next();
    }
    const int rank = name_.empty() ? text_step_rank(token) : 0;
    name_.append(token);
    std::string_view number = tokens.next();
    std::optional<double> value;
    int kept_rank = rank;
    if (rank > 0) {
      const std::optional<StepValue> step = step_value(number, 0);
      if (step && step->end == number.size()) {
        value = step->value;
        kept_rank = rank_of(rank, *step);
      }
    } else if (!number.empty()) {
      if (number.back() == '%' || number.back() == '.') number.remove_suffix(1);
      value = whole_number(number);
    }
    const bool named = !token.empty() && starts_name(token[0]) && name_.size() <= kLongestName &&
                       is_utf8(token) && !is_level(token);
    if (!value || !named) {
      row.shrink(before);
      return PieceKind::plain;
    }
    row.add(name_, *value, Rule::words, kept_rank);
    metrics = metrics || kept_rank == 0;
    token = tokens.next();
    if (rank > 0 && token == "of") {  // epoch 3 of 10
      const std::string_view total = tokens.next();
      if (!whole_number(total)) {
        row.shrink(before);
        return PieceKind::plain;
      }
      token = tokens.next();
    }
  }
  return metrics ? PieceKind::plain : PieceKind::step_only;
}

std::optional<TableLine> table_line(std::string_view piece) {
  std::size_t start = 0;
  while (start < piece.size() && is_blank(piece[start])) ++start;
  std::size_t end = piece.size();
  while (end > start && is_blank(piece[end - 1])) --end;
  if (end - start < 3 || piece[start] != '|' || piece[end - 1] != '|') return std::nullopt;
  const std::string_view inside = piece.substr(start + 1, end - start - 2);
  const std::size_t bar = inside.find('|');
  if (bar == std::string_view::npos || inside.find('|', bar + 1) != std::string_view::npos) {
    return std::nullopt;
  }
  return TableLine{trim(inside.substr(0, bar)), trim(inside.substr(bar + 1))};
}

std::string_view without_escapes(std::string_view piece, std::string& scratch) {
  constexpr char kEscape = '\x1b';
  // Two fast searches: find_first_of looks at each character on its own.
  if (piece.find(kEscape) == piece.npos && piece.find('\b') == piece.npos) return piece;
  scratch.clear();
  for (std::size_t i = 0; i < piece.size(); ++i) {
    if (piece[i] == '\b') continue;
    if (piece[i] != kEscape) {
      scratch += piece[i];
      continue;
    }
    if (++i >= piece.size()) break;
    if (piece[i] == '[') {  // parameters, then one letter
      while (i + 1 < piece.size() && piece[i + 1] >= 0x20 && piece[i + 1] < 0x40) ++i;
      if (++i < piece.size() && piece[i] != 'm') scratch += ' ';
    } else if (piece[i] == ']') {  // a title or link, ended by BEL or ESC backslash
      while (i < piece.size() && piece[i] != '\a' && piece[i] != kEscape) ++i;
      if (i < piece.size() && piece[i] == kEscape) ++i;
    }
  }
  return scratch;
}

std::optional<double> lenient_number(std::string_view text) {
  text = trim(text);
  const std::optional<NumberPrefix> number = number_prefix(text);
  if (!number) return std::nullopt;
  const std::string_view rest = text.substr(number->length);
  if (rest.find_first_not_of(",;.:)]}|%'\"") != std::string_view::npos) return std::nullopt;
  return number->value;
}

}  // namespace seedbed
