#include "study/distribution.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

#include "base/check.h"
#include "base/text.h"
#include "study/special_functions.h"

namespace seedbed {
namespace {

constexpr double kExactIntegers = 9007199254740992.0;  // 2^53: beyond, doubles skip integers
constexpr double kLogLimit = 708;                      // exp() of more leaves the doubles

bool quantised(DistributionKind kind) {
  switch (kind) {
    case DistributionKind::q_uniform:
    case DistributionKind::q_log_uniform:
    case DistributionKind::q_log_uniform_values:
    case DistributionKind::q_normal:
    case DistributionKind::q_log_normal:
    case DistributionKind::q_beta:
      return true;
    default:
      return false;
  }
}

bool has_bounds(DistributionKind kind) {
  switch (kind) {
    case DistributionKind::normal:
    case DistributionKind::q_normal:
    case DistributionKind::log_normal:
    case DistributionKind::q_log_normal:
    case DistributionKind::beta:
    case DistributionKind::q_beta:
      return false;
    default:
      return true;
  }
}

bool has_exponents(DistributionKind kind) {
  return kind == DistributionKind::log_uniform || kind == DistributionKind::q_log_uniform ||
         kind == DistributionKind::inv_log_uniform;
}

bool is_log_of_values(DistributionKind kind) {
  return kind == DistributionKind::log_uniform_values ||
         kind == DistributionKind::q_log_uniform_values ||
         kind == DistributionKind::inv_log_uniform_values;
}

std::string number_text(double value) {
  std::string text = format_number(value);
  if (text.size() > 2 && text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

double from_digits(const std::string& text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Twelve significant digits: draws stay readable, and the last bit of another machine's exp() does
// not make another point of it.
double rounded(double value) {
  char buffer[48];
  const auto end =
      std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific, 11).ptr;
  return from_digits(std::string(buffer, end));
}

// k * q in decimal, so that 3 * 0.1 is 0.3: q's shortest digits times k, read as one number.
double multiple(double k, double q) {
  char buffer[48];
  const auto end =
      std::to_chars(buffer, buffer + sizeof(buffer), q, std::chars_format::scientific).ptr;
  const std::string_view text(buffer, static_cast<std::size_t>(end - buffer));
  const std::size_t e = text.find('e');
  std::int64_t digits = 0;
  int exponent = 0;
  bool fraction = false;
  for (char c : text.substr(0, e)) {
    if (c == '.') {
      fraction = true;
      continue;
    }
    digits = digits * 10 + (c - '0');
    if (fraction) --exponent;
  }
  int written = 0;
  const char* from = text.data() + e + 1;
  std::from_chars(*from == '+' ? from + 1 : from, end, written);
  exponent += written;
  std::int64_t product = 0;
  if (std::fabs(k) >= kExactIntegers ||
      __builtin_mul_overflow(static_cast<std::int64_t>(k), digits, &product)) {
    return k * q;
  }
  return from_digits(std::to_string(product) + "e" + std::to_string(exponent));
}

double smallest_multiple_from(double low, double q) {
  double k = std::ceil(low / q);
  if (multiple(k - 1, q) >= low) --k;
  if (multiple(k, q) < low) ++k;
  return k;
}

double largest_multiple_to(double high, double q) {
  double k = std::floor(high / q);
  if (multiple(k + 1, q) <= high) ++k;
  if (multiple(k, q) > high) --k;
  return k;
}

struct Bounds {
  double low, high;
};

// What the drawn values lie in, ends included, for every kind with a bounded range.
Bounds value_bounds(const Distribution& d) {
  switch (d.kind) {
    case DistributionKind::log_uniform:
    case DistributionKind::q_log_uniform:
      return {std::exp(d.min), std::exp(d.max)};
    case DistributionKind::inv_log_uniform:
      return {std::exp(-d.max), std::exp(-d.min)};
    case DistributionKind::beta:
    case DistributionKind::q_beta:
      return {0, 1};
    case DistributionKind::log_normal:
    case DistributionKind::q_log_normal:
      return {0, std::numeric_limits<double>::max()};
    case DistributionKind::normal:
    case DistributionKind::q_normal:
      return {std::numeric_limits<double>::lowest(), std::numeric_limits<double>::max()};
    default:
      return {d.min, d.max};
  }
}

// The inverse of the cumulative distribution function, before rounding and quantising.
double raw_draw(const Distribution& d, double unit) {
  constexpr double kSmallest = 0x1.0p-54;  // half a step of the coordinate: quantiles stay finite
  const double open = std::max(unit, kSmallest);
  switch (d.kind) {
    case DistributionKind::int_uniform:
    case DistributionKind::uniform:
    case DistributionKind::q_uniform:
      return d.min * (1 - unit) + d.max * unit;
    case DistributionKind::log_uniform:
    case DistributionKind::q_log_uniform:
      return std::exp(d.min + unit * (d.max - d.min));
    case DistributionKind::inv_log_uniform:
      // 1/x is log-uniform between exp(min) and exp(max).
      return std::exp(-(d.min + (1 - unit) * (d.max - d.min)));
    case DistributionKind::log_uniform_values:
    case DistributionKind::q_log_uniform_values:
    case DistributionKind::inv_log_uniform_values:
      // 1/x log-uniform between 1/max and 1/min is x log-uniform between min and max.
      return std::exp(std::log(d.min) * (1 - unit) + std::log(d.max) * unit);
    case DistributionKind::normal:
    case DistributionKind::q_normal:
      return d.mu + d.sigma * normal_quantile(open);
    case DistributionKind::log_normal:
    case DistributionKind::q_log_normal:
      return std::exp(d.mu + d.sigma * normal_quantile(open));
    case DistributionKind::beta:
    case DistributionKind::q_beta:
      return beta_quantile(unit, d.a, d.b);
  }
  return d.min;
}

// A multiple of q as the value the program sees.
Value multiple_value(const Distribution& d, double k) {
  const double value = multiple(k, d.q);
  if (!d.integer_result) return Value::real(value);
  if (std::fabs(value) < kExactIntegers) return Value::integer(static_cast<std::int64_t>(value));
  char buffer[400];
  const auto end =
      std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::fixed, 0).ptr;
  return Value::from_plain(std::string_view(buffer, static_cast<std::size_t>(end - buffer)));
}

Value draw_log_integer(const Distribution& d, double unit) {
  // Each integer owns the half-open interval around it, as Optuna does.
  const double low = std::log(d.min - 0.5);
  const double high = std::log(d.max + 0.5);
  const double value = std::round(rounded(std::exp(low + unit * (high - low))));
  return Value::integer(static_cast<std::int64_t>(std::clamp(value, d.min, d.max)));
}

Status validate_bounds(const Distribution& d) {
  const std::string low = number_text(d.min);
  const std::string high = number_text(d.max);
  if (!std::isfinite(d.min) || !std::isfinite(d.max)) {
    return fail(ErrorCode::usage,
                "min and max must be finite numbers, not " + low + " and " + high);
  }
  if (d.min > d.max) {
    return fail(ErrorCode::usage, "min " + low + " is greater than max " + high + "; swap them");
  }
  if (d.kind == DistributionKind::int_uniform) {
    for (double bound : {d.min, d.max}) {
      if (bound != std::floor(bound)) {
        return fail(ErrorCode::usage, "bound " + number_text(bound) +
                                          " of an integer range is not an integer; write both "
                                          "bounds with a point for a range of reals");
      }
      if (std::fabs(bound) > kExactIntegers) {
        return fail(ErrorCode::usage, "bound " + number_text(bound) +
                                          " of an integer range is beyond 2^53; list the values");
      }
    }
    if (d.log_integer && d.min < 1) {
      return fail(ErrorCode::usage,
                  "a logarithmic integer range needs min >= 1, not " + low + "; raise min");
    }
    return {};
  }
  if (is_log_of_values(d.kind) && d.min <= 0) {
    return fail(ErrorCode::usage, "a logarithmic range needs min > 0, not " + low +
                                      "; take a small positive one such as 1e-5");
  }
  if (has_exponents(d.kind) && std::max(std::fabs(d.min), std::fabs(d.max)) > kLogLimit) {
    return fail(ErrorCode::usage,
                "bounds of this kind are natural-log exponents, and exp of " + low + " or " + high +
                    " is not a usable number; for bounds as values use log_uniform_values");
  }
  if (d.min == d.max) {
    return fail(ErrorCode::usage, "min and max are both " + low +
                                      ", which is one value and no range; write `value: " + low +
                                      "`");
  }
  return {};
}

}  // namespace

Status Distribution::validate() const {
  if (has_bounds(kind)) {
    if (Status status = validate_bounds(*this); !status) return status;
  } else if (kind == DistributionKind::beta || kind == DistributionKind::q_beta) {
    if (!(a > 0 && b > 0 && a <= 1e6 && b <= 1e6)) {
      return fail(ErrorCode::usage, "a beta distribution needs 0 < a, b <= 1e6, not a = " +
                                        number_text(a) + ", b = " + number_text(b));
    }
  } else {
    if (!std::isfinite(mu)) return fail(ErrorCode::usage, "mu must be a finite number");
    if (!(sigma > 0) || !std::isfinite(sigma)) {
      return fail(ErrorCode::usage, "sigma must be greater than 0, not " + number_text(sigma));
    }
  }
  if (!quantised(kind)) return {};
  if (!(q > 0) || !std::isfinite(q)) {
    return fail(ErrorCode::usage, "q must be greater than 0, not " + number_text(q));
  }
  if (!has_bounds(kind)) return {};
  const Bounds bounds = value_bounds(*this);
  if (std::max(std::fabs(bounds.low), std::fabs(bounds.high)) / q >= kExactIntegers) {
    return fail(ErrorCode::usage, "q = " + number_text(q) + " is too fine for bounds of " +
                                      number_text(bounds.low) + " and " + number_text(bounds.high) +
                                      "; use a larger q");
  }
  if (smallest_multiple_from(bounds.low, q) > largest_multiple_to(bounds.high, q)) {
    return fail(ErrorCode::usage, "no multiple of q = " + number_text(q) + " lies between " +
                                      number_text(bounds.low) + " and " + number_text(bounds.high) +
                                      "; use a smaller q");
  }
  return {};
}

Value Distribution::draw(double unit) const {
  if (finite()) {
    if (log_integer) return draw_log_integer(*this, unit);
    const std::uint64_t count = size();
    const auto index = static_cast<std::uint64_t>(unit * static_cast<double>(count));
    return at(std::min(index, count - 1));
  }
  const Bounds bounds = value_bounds(*this);
  const double value = std::clamp(raw_draw(*this, unit), bounds.low, bounds.high);
  if (!quantised(kind)) {
    return Value::real(std::clamp(rounded(value), bounds.low, bounds.high));
  }
  double k = std::round(value / q);
  if (!std::isfinite(k)) return Value::real(rounded(value));
  if (bounds.high < std::numeric_limits<double>::max()) {
    k = std::clamp(k, smallest_multiple_from(bounds.low, q), largest_multiple_to(bounds.high, q));
  }
  return multiple_value(*this, k);
}

bool Distribution::finite() const {
  return kind == DistributionKind::int_uniform || kind == DistributionKind::q_uniform;
}

std::uint64_t Distribution::size() const {
  SEEDBED_CHECK(finite());
  if (kind == DistributionKind::int_uniform) return static_cast<std::uint64_t>(max - min) + 1;
  const double count = largest_multiple_to(max, q) - smallest_multiple_from(min, q);
  return count < 0 ? 0 : static_cast<std::uint64_t>(count) + 1;
}

Value Distribution::at(std::uint64_t index) const {
  SEEDBED_CHECK(finite());
  if (kind == DistributionKind::int_uniform) {
    return Value::integer(static_cast<std::int64_t>(min) + static_cast<std::int64_t>(index));
  }
  return multiple_value(*this, smallest_multiple_from(min, q) + static_cast<double>(index));
}

std::string Distribution::describe() const {
  const std::string range = number_text(min) + " … " + number_text(max);
  const std::string exponents = "exp(" + number_text(min) + ") … exp(" + number_text(max) + ")";
  const std::string reversed = "exp(" + number_text(-max) + ") … exp(" + number_text(-min) + ")";
  const std::string spread = " mean " + number_text(mu) + ", deviation " + number_text(sigma);
  const std::string shape = "beta a " + number_text(a) + ", b " + number_text(b);
  const std::string step = ", multiples of " + number_text(q);
  switch (kind) {
    case DistributionKind::int_uniform:
      return (log_integer ? "log-uniform integers " : "integers ") + range;
    case DistributionKind::uniform:
      return "uniform " + range;
    case DistributionKind::q_uniform:
      return "uniform " + range + step;
    case DistributionKind::log_uniform:
      return "log-uniform " + exponents;
    case DistributionKind::log_uniform_values:
      return "log-uniform " + range;
    case DistributionKind::q_log_uniform:
      return "log-uniform " + exponents + step;
    case DistributionKind::q_log_uniform_values:
      return "log-uniform " + range + step;
    case DistributionKind::inv_log_uniform:
      return "inverse log-uniform " + reversed;
    case DistributionKind::inv_log_uniform_values:
      return "inverse log-uniform " + range;
    case DistributionKind::normal:
      return "normal" + spread;
    case DistributionKind::q_normal:
      return "normal" + spread + step;
    case DistributionKind::log_normal:
      return "log-normal, of the logarithm" + spread;
    case DistributionKind::q_log_normal:
      return "log-normal, of the logarithm" + spread + step;
    case DistributionKind::beta:
      return shape;
    case DistributionKind::q_beta:
      return shape + step;
  }
  return range;
}

std::string Distribution::doubt() const {
  // The commonest mistake with W&B's names: bounds meant as values. 1e-5 … 0.1 would draw from
  // 1.00001 … 1.105; exponents that are meant as such begin below zero almost always.
  if (!has_exponents(kind) || min <= 0) return "";
  const std::string name = kind == DistributionKind::log_uniform     ? "log_uniform"
                           : kind == DistributionKind::q_log_uniform ? "q_log_uniform"
                                                                     : "inv_log_uniform";
  const Bounds bounds = value_bounds(*this);
  return name + " takes natural-log exponents, so this draws from " +
         number_text(rounded(bounds.low)) + " to " + number_text(rounded(bounds.high)) +
         "; for values between " + number_text(min) + " and " + number_text(max) + " write " +
         name + "_values";
}

}  // namespace seedbed
