#include "metrics/number.h"

#include <charconv>
#include <cmath>
#include <limits>

namespace seedbed {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool is_digit(char c) { return c >= '0' && c <= '9'; }
char lower_ascii(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
bool is_word(char c) {
  const char l = lower_ascii(c);
  return (l >= 'a' && l <= 'z') || is_digit(c) || c == '_';
}

/// `text` begins with `word` (given in lower case), in any case.
bool begins_with(std::string_view text, std::string_view word) {
  if (text.size() < word.size()) return false;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (lower_ascii(text[i]) != word[i]) return false;
  }
  return true;
}

bool ends_at(std::string_view text, std::size_t length) {
  return length >= text.size() || !is_word(text[length]);
}

/// `nan`, `nan(ind)`, `inf`, `infinity`, without a sign.
std::optional<NumberPrefix> word_number(std::string_view text) {
  for (const auto& [word, value] : {std::pair<std::string_view, double>{"infinity", kInfinity},
                                    {"inf", kInfinity},
                                    {"nan", kNan}}) {
    if (!begins_with(text, word)) continue;
    std::size_t length = word.size();
    if (std::isnan(value) && length < text.size() && text[length] == '(') {
      std::size_t end = length + 1;
      while (end < text.size() && is_word(text[end])) ++end;
      if (end < text.size() && text[end] == ')') return NumberPrefix{value, end + 1};
    }
    if (ends_at(text, length)) return NumberPrefix{value, length};
  }
  return std::nullopt;
}

/// The rest of `1.#QNAN`, `1.#IND00`, `1.#INF`: `text` starts at the `#`.
std::optional<NumberPrefix> microsoft_number(std::string_view text) {
  for (const auto& [word, value] : {std::pair<std::string_view, double>{"#qnan", kNan},
                                    {"#snan", kNan},
                                    {"#ind", kNan},
                                    {"#inf", kInfinity}}) {
    if (!begins_with(text, word)) continue;
    std::size_t length = word.size();
    while (length < text.size() && is_digit(text[length])) ++length;
    if (ends_at(text, length)) return NumberPrefix{value, length};
  }
  return std::nullopt;
}

/// Whether a decimal that does not fit is too large (else too small): where its first digit that is
/// not zero stands, with the exponent.
bool is_too_large(std::string_view decimal) {
  std::int64_t position = 0;  // of the first such digit, relative to the point
  bool point = false;
  bool found = false;
  std::size_t i = 0;
  for (; i < decimal.size() && (is_digit(decimal[i]) || decimal[i] == '.'); ++i) {
    if (decimal[i] == '.') {
      point = true;
    } else if (decimal[i] != '0') {
      found = true;
      if (!point) ++position;
      if (point) break;
    } else if (!point && found) {
      ++position;
    } else if (point && !found) {
      --position;
    }
    if (found && point) break;
  }
  const std::size_t e = decimal.find_first_of("eE", i);
  if (e == std::string_view::npos) return position > 0;
  std::string_view exponent = decimal.substr(e + 1);
  const bool negative = !exponent.empty() && exponent[0] == '-';
  if (!exponent.empty() && (exponent[0] == '-' || exponent[0] == '+')) exponent.remove_prefix(1);
  std::int64_t value = 0;
  const auto read = std::from_chars(exponent.data(), exponent.data() + exponent.size(), value);
  if (read.ec != std::errc() || value > 1'000'000'000) return !negative;
  return position + (negative ? -value : value) > 0;
}

}  // namespace

std::optional<NumberPrefix> number_prefix(std::string_view text) {
  std::size_t start = 0;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) start = 1;
  const double sign = start == 1 && text[0] == '-' ? -1 : 1;
  const std::string_view body = text.substr(start);
  if (body.empty()) return std::nullopt;
  if (!is_digit(body[0]) && !(body[0] == '.' && body.size() > 1 && is_digit(body[1]))) {
    std::optional<NumberPrefix> word = word_number(body);
    if (word) *word = {sign * word->value, word->length + start};
    return word;
  }
  double value = 0;
  const auto read = std::from_chars(body.data(), body.data() + body.size(), value);
  if (read.ec == std::errc::invalid_argument) return std::nullopt;
  std::size_t length = static_cast<std::size_t>(read.ptr - body.data());
  if (read.ec == std::errc::result_out_of_range) {
    value = is_too_large(body.substr(0, length)) ? kInfinity : 0;
  }
  if (length < body.size() && body[length] == '#' && body.substr(0, length) == "1.") {
    const std::optional<NumberPrefix> rest = microsoft_number(body.substr(length));
    if (rest) {
      value = rest->value;
      length += rest->length;
    }
  }
  return NumberPrefix{sign * value, length + start};
}

std::optional<double> whole_number(std::string_view text) {
  const std::optional<NumberPrefix> prefix = number_prefix(text);
  if (!prefix || prefix->length != text.size()) return std::nullopt;
  return prefix->value;
}

}  // namespace seedbed
