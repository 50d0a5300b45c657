#include "study/value.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace seedbed {
namespace {

// A plain decimal taken apart on its text, so that nothing is ever rounded:
// (-1)^negative * digits * 10^exponent, digits without leading or trailing zeros, "" for zero.
struct Decimal {
  bool negative = false;
  bool integer = false;  // neither point nor exponent was written
  std::string digits;
  std::int64_t exponent = 0;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::size_t skip_digits(std::string_view text, std::size_t at) {
  while (at < text.size() && is_digit(text[at])) ++at;
  return at;
}

// Exponents of more than seven digits mean nothing to any program; such a scalar is a word.
std::optional<std::int64_t> read_exponent(std::string_view text) {
  bool negative = false;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  if (text.empty() || skip_digits(text, 0) != text.size()) return std::nullopt;
  while (text.size() > 1 && text[0] == '0') text.remove_prefix(1);
  if (text.size() > 7) return std::nullopt;
  std::int64_t value = 0;
  for (char c : text) value = value * 10 + (c - '0');
  return negative ? -value : value;
}

// -?(0|[1-9][0-9]*)?(\.[0-9]*)?([eE][+-]?[0-9]+)? with at least one digit before the exponent.
std::optional<Decimal> parse_decimal(std::string_view text) {
  Decimal result;
  std::size_t at = 0;
  if (at < text.size() && text[at] == '-') {
    result.negative = true;
    ++at;
  }
  const std::size_t whole_end = skip_digits(text, at);
  const std::string_view whole = text.substr(at, whole_end - at);
  if (whole.size() > 1 && whole[0] == '0') return std::nullopt;
  at = whole_end;
  std::string_view fraction;
  result.integer = true;
  if (at < text.size() && text[at] == '.') {
    result.integer = false;
    const std::size_t end = skip_digits(text, at + 1);
    fraction = text.substr(at + 1, end - at - 1);
    at = end;
  }
  if (whole.empty() && fraction.empty()) return std::nullopt;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    result.integer = false;
    const std::optional<std::int64_t> exponent = read_exponent(text.substr(at + 1));
    if (!exponent) return std::nullopt;
    result.exponent = *exponent;
    at = text.size();
  }
  if (at != text.size()) return std::nullopt;

  result.digits.reserve(whole.size() + fraction.size());
  result.digits.append(whole).append(fraction);
  result.exponent -= static_cast<std::int64_t>(fraction.size());
  const std::size_t last = result.digits.find_last_not_of('0');
  if (last == std::string::npos) {
    result.digits.clear();
    result.exponent = 0;
    return result;
  }
  result.exponent += static_cast<std::int64_t>(result.digits.size() - last - 1);
  result.digits.erase(last + 1);
  result.digits.erase(0, result.digits.find_first_not_of('0'));
  return result;
}

// Zero has one canonical form: `-0.0` and `0.0` (and `-0` and `0`) are the same value.
std::string canonical_text(const Decimal& decimal) {
  std::string text = decimal.integer ? "i:" : "r:";
  if (decimal.digits.empty()) return text + "0";
  if (decimal.negative) text += '-';
  text += decimal.digits;
  if (decimal.integer) {
    text.append(static_cast<std::size_t>(decimal.exponent), '0');
  } else {
    text += 'e';
    text += std::to_string(decimal.exponent);
  }
  return text;
}

// More than 309 digits before the point is more than a double holds.
bool overflows(const Decimal& decimal) {
  const std::int64_t magnitude =
      decimal.exponent + static_cast<std::int64_t>(decimal.digits.size());
  if (decimal.digits.empty() || magnitude < 309) return false;
  if (magnitude > 309) return true;
  const std::string text = decimal.digits + "e" + std::to_string(decimal.exponent);
  double value = 0;
  return std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc();
}

double to_double(std::string_view spelling) {
  double value = 0;
  const auto read = std::from_chars(spelling.data(), spelling.data() + spelling.size(), value);
  // Too small for a double: overflow cannot come here, such spellings are words.
  if (read.ec == std::errc::result_out_of_range) return spelling[0] == '-' ? -0.0 : 0.0;
  return value;
}

// Integers of any length: sign, then length, then digits.
bool integer_less(std::string_view a, std::string_view b) {
  a.remove_prefix(2);
  b.remove_prefix(2);
  const bool a_negative = a[0] == '-';
  const bool b_negative = b[0] == '-';
  if (a_negative != b_negative) return a_negative;
  if (a.size() != b.size()) return (a.size() < b.size()) != a_negative;
  return a_negative ? b < a : a < b;
}

}  // namespace

std::string_view kind_word(ValueKind kind) {
  switch (kind) {
    case ValueKind::absent:
      return "absent";
    case ValueKind::null:
      return "null";
    case ValueKind::boolean:
      return "boolean";
    case ValueKind::integer:
      return "integer";
    case ValueKind::real:
      return "real";
    case ValueKind::text:
      return "text";
    case ValueKind::structure:
      return "structure";
  }
  return "absent";
}

std::optional<ValueKind> kind_from_word(std::string_view word) {
  for (int i = 0; i <= static_cast<int>(ValueKind::structure); ++i) {
    const auto kind = static_cast<ValueKind>(i);
    if (kind_word(kind) == word) return kind;
  }
  return std::nullopt;
}

Value::Value(ValueKind kind, std::string spelling, std::string canonical)
    : kind_(kind), spelling_(std::move(spelling)), canonical_(std::move(canonical)) {}

Value Value::from_plain(std::string_view spelling) {
  if (spelling.empty() || spelling == "~" || spelling == "null" || spelling == "Null" ||
      spelling == "NULL") {
    return null();
  }
  if (spelling == "true" || spelling == "True" || spelling == "TRUE") return boolean(true);
  if (spelling == "false" || spelling == "False" || spelling == "FALSE") return boolean(false);
  const char first = spelling[0];
  if (is_digit(first) || first == '-' || first == '.') {
    const std::optional<Decimal> decimal = parse_decimal(spelling);
    if (decimal && !overflows(*decimal)) {
      return Value(decimal->integer ? ValueKind::integer : ValueKind::real, std::string(spelling),
                   canonical_text(*decimal));
    }
  }
  return from_text(spelling);
}

Value Value::from_text(std::string_view text) {
  std::string canonical;
  canonical.reserve(text.size() + 2);
  canonical.append("t:").append(text);
  return Value(ValueKind::text, std::string(text), std::move(canonical));
}

Value Value::null() { return Value(ValueKind::null, "None", "n"); }

Value Value::boolean(bool value) {
  return Value(ValueKind::boolean, value ? "True" : "False", value ? "b:1" : "b:0");
}

Value Value::integer(std::int64_t value) {
  char buffer[24] = {'i', ':'};
  const auto end = std::to_chars(buffer + 2, buffer + sizeof(buffer), value).ptr;
  return Value(ValueKind::integer, std::string(buffer + 2, end), std::string(buffer, end));
}

Value Value::real(double value) {
  SEEDBED_CHECK(std::isfinite(value));
  std::string text = format_number(value == 0 ? 0.0 : value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  Value result = from_plain(text);
  SEEDBED_CHECK(result.kind() == ValueKind::real);
  return result;
}

Value Value::structure(std::string spelling, std::string canonical_json) {
  return Value(ValueKind::structure, std::move(spelling), "s:" + canonical_json);
}

Value Value::restore(ValueKind kind, std::string_view spelling, std::string_view canonical_json) {
  switch (kind) {
    case ValueKind::absent:
      return Value();
    case ValueKind::null:
      return null();
    case ValueKind::boolean:
      return boolean(lower(spelling) == "true");
    case ValueKind::integer:
    case ValueKind::real: {
      Value value = from_plain(spelling);
      // A record that calls a word a number keeps its text; nothing of it is lost.
      return value.kind() == kind ? value : from_text(spelling);
    }
    case ValueKind::text:
      return from_text(spelling);
    case ValueKind::structure:
      return structure(std::string(spelling), std::string(canonical_json));
  }
  return from_text(spelling);
}

std::string_view Value::canonical_json() const {
  if (kind_ != ValueKind::structure) return {};
  return std::string_view(canonical_).substr(2);
}

std::optional<double> Value::number() const {
  switch (kind_) {
    case ValueKind::boolean:
      return canonical_ == "b:1" ? 1.0 : 0.0;
    case ValueKind::integer:
    case ValueKind::real:
      return to_double(spelling_);
    default:
      return std::nullopt;
  }
}

std::optional<std::int64_t> Value::exact_integer() const {
  if (kind_ != ValueKind::integer) return std::nullopt;
  std::int64_t value = 0;
  const char* end = spelling_.data() + spelling_.size();
  const auto read = std::from_chars(spelling_.data(), end, value);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return value;
}

bool operator<(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    const double x = to_double(a.spelling_);
    const double y = to_double(b.spelling_);
    if (x != y) return x < y;
    if (a.kind_ != b.kind_) return a.kind_ < b.kind_;
    if (a.kind_ == ValueKind::integer) return integer_less(a.canonical_, b.canonical_);
    return a.canonical_ < b.canonical_;
  }
  if (a.kind_ != b.kind_) return a.kind_ < b.kind_;
  return a.canonical_ < b.canonical_;
}

}  // namespace seedbed
