#include "study/word_numbers.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>

#include "study/reader_error.h"

namespace seedbed {

namespace {

__extension__ typedef __int128 Wide;

constexpr std::int64_t kMaxValues = 1'000'000;
constexpr std::int64_t kLongestList = 1000;  // longer runs of integers become a distribution
constexpr double kExactInteger = 9007199254740992.0;  // 2^53: integers a double holds exactly

// mantissa * 10^exponent
struct Scaled {
  Wide mantissa = 0;
  int exponent = 0;
};

// Reads the exact decimal from a number's canonical form (`i:150`, `r:-15e-1`). Nothing when it
// has too many digits.
std::optional<Scaled> scaled(const Value& value) {
  std::string_view text = std::string_view(value.canonical()).substr(2);
  Scaled result;
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const std::size_t e = text.find('e');
  if (e != std::string_view::npos) {
    const std::string_view digits = text.substr(e + 1);
    const auto read =
        std::from_chars(digits.data(), digits.data() + digits.size(), result.exponent);
    if (read.ec != std::errc()) return std::nullopt;
    text = text.substr(0, e);
  }
  if (text.size() > 18) return std::nullopt;
  for (const char c : text) result.mantissa = result.mantissa * 10 + (c - '0');
  if (negative) result.mantissa = -result.mantissa;
  return result;
}

// Brings a number to a smaller exponent; false when the digits do not fit.
bool rescale(Scaled& number, int exponent) {
  if (number.mantissa == 0) number.exponent = exponent;
  if (number.exponent - exponent > 18) return false;
  for (; number.exponent > exponent; --number.exponent) number.mantissa *= 10;
  return true;
}

double read_double(std::string_view text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Value scaled_value(Wide mantissa, int exponent, bool integer) {
  const bool negative = mantissa < 0;
  std::string digits;
  for (Wide rest = negative ? -mantissa : mantissa; rest > 0; rest /= 10) {
    digits += static_cast<char>('0' + static_cast<int>(rest % 10));
  }
  if (digits.empty()) digits = "0";
  std::reverse(digits.begin(), digits.end());
  if (integer) return Value::from_plain((negative ? "-" : "") + digits);
  const std::string text = (negative ? "-" : "") + digits + "e" + std::to_string(exponent);
  return Value::real(read_double(text));
}

// Twelve digits where they say the same up to rounding (0.3, not 0.30000000000000004), else all.
double shortened(long double exact) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, exact, std::chars_format::general, 12);
  const double rounded = read_double({text, end.ptr});
  const long double distance = std::fabs(static_cast<long double>(rounded) - exact);
  return distance <= std::fabs(exact) * 1e-15L ? rounded : static_cast<double>(exact);
}

Result<std::int64_t> read_value_count(const Value& count) {
  const std::optional<double> number = count.number();
  if (count.kind() != ValueKind::integer || *number < 1 || *number > kMaxValues) {
    return fail(ErrorCode::usage,
                "the number of values is a whole number from 1 to a million, not " +
                    in_ticks(count.spelling()));
  }
  return static_cast<std::int64_t>(*number);
}

template <typename At>
Result<std::vector<Value>> spaced(const Value& first, const Value& last, const Value& count,
                                  const At& at) {
  Result<std::int64_t> n = read_value_count(count);
  if (!n) return propagate(n);
  const double a = *first.number();
  const double b = *last.number();
  if (*n > 1 && a == b) return fail(ErrorCode::usage, "both ends are " + first.spelling());
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < *n; ++i) {
    const long double fraction = *n == 1 ? 0.0L : static_cast<long double>(i) / (*n - 1);
    double number =
        shortened(at(static_cast<long double>(a), static_cast<long double>(b), fraction));
    if (i == 0) number = a;
    if (i > 0 && i == *n - 1) number = b;
    numbers.push_back(number);
  }
  const bool integers = first.kind() == ValueKind::integer && last.kind() == ValueKind::integer &&
                        std::all_of(numbers.begin(), numbers.end(), [](double number) {
                          return std::rint(number) == number && std::fabs(number) <= kExactInteger;
                        });
  std::vector<Value> values;
  values.reserve(numbers.size());
  for (const double number : numbers) {
    values.push_back(integers ? Value::integer(static_cast<std::int64_t>(number))
                              : Value::real(number));
  }
  return values;
}

Status need_integer(const Value& value) {
  if (value.kind() == ValueKind::integer && std::fabs(*value.number()) <= kExactInteger) return {};
  return fail(ErrorCode::usage, "the ends of an integer range are integers up to 2^53, not " +
                                    in_ticks(value.spelling()));
}

Distribution integers_between(double first, double last) {
  Distribution distribution;
  distribution.kind = DistributionKind::int_uniform;
  distribution.min = first;
  distribution.max = last;
  distribution.integer_result = true;
  return distribution;
}

}  // namespace

Result<NumberSet> number_range(const Value& start, const Value& stop, const Value& step) {
  std::optional<Scaled> a = scaled(start);
  std::optional<Scaled> b = scaled(stop);
  std::optional<Scaled> by = scaled(step);
  const std::string sizes = "the numbers of the range are too far apart in size";
  if (!a || !b || !by) return fail(ErrorCode::usage, sizes);
  if (by->mantissa == 0) return fail(ErrorCode::usage, "the step of a range cannot be zero");
  int exponent = by->exponent;
  if (a->mantissa != 0) exponent = std::min(exponent, a->exponent);
  if (b->mantissa != 0) exponent = std::min(exponent, b->exponent);
  if (!rescale(*a, exponent) || !rescale(*b, exponent) || !rescale(*by, exponent)) {
    return fail(ErrorCode::usage, sizes);
  }
  const Wide sign = by->mantissa > 0 ? 1 : -1;
  const Wide span = (b->mantissa - a->mantissa) * sign;
  const Wide stride = by->mantissa * sign;
  if (span <= 0) {
    return fail(ErrorCode::usage,
                "the range is empty: its stop is excluded" +
                    std::string(span < 0 ? ", and the step leads away from it" : ""));
  }
  const Wide count = (span + stride - 1) / stride;
  const bool integer = start.kind() == ValueKind::integer && stop.kind() == ValueKind::integer &&
                       step.kind() == ValueKind::integer;
  NumberSet set;
  if (integer && by->mantissa == 1 && exponent == 0 && count > kLongestList) {
    Result<Distribution> whole = integer_span(start, scaled_value(b->mantissa - 1, 0, true));
    if (!whole) return propagate(whole);
    set.distribution = *whole;
    return set;
  }
  if (count > kMaxValues) {
    return fail(ErrorCode::usage,
                "the range holds more than a million values; only a range of "
                "integers with step 1 may be longer");
  }
  for (Wide i = 0; i < count; ++i) {
    set.values.push_back(scaled_value(a->mantissa + i * by->mantissa, exponent, integer));
  }
  return set;
}

Result<Distribution> integer_span(const Value& first, const Value& last) {
  for (const Value* end : {&first, &last}) {
    if (Status fine = need_integer(*end); !fine) return propagate(fine);
  }
  const double a = *first.number();
  const double b = *last.number();
  if (a == b) {
    return fail(ErrorCode::usage,
                "both ends are " + first.spelling() + "; write the one value instead");
  }
  if (a > b) {
    return fail(ErrorCode::usage, "the lower end " + first.spelling() + " is above the upper end " +
                                      last.spelling() + "; exchange them");
  }
  return integers_between(a, b);
}

Result<std::vector<Value>> linear_values(const Value& first, const Value& last,
                                         const Value& count) {
  return spaced(first, last, count, [](long double a, long double b, long double fraction) {
    return a + (b - a) * fraction;
  });
}

Result<std::vector<Value>> geometric_values(const Value& first, const Value& last,
                                            const Value& count) {
  const double a = *first.number();
  const double b = *last.number();
  if (a == 0 || b == 0 || (a < 0) != (b < 0)) {
    return fail(ErrorCode::usage, "the ends of geomspace are both above or both below zero");
  }
  return spaced(first, last, count, [](long double from, long double to, long double fraction) {
    return from * std::pow(to / from, fraction);
  });
}

}  // namespace seedbed
