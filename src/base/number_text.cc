#include "base/number_text.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"

namespace seedbed {
namespace {

bool is_short_integer(double value) {
  constexpr double kMost = 1e15;
  return std::trunc(value) == value && std::fabs(value) < kMost;
}

std::string integer_text(double value) {
  return value == 0 ? "0" : fmt::format("{:.0f}", value);  // zero has no sign
}

}  // namespace

std::string number_text(double value) {
  if (!std::isfinite(value)) return format_number(value);
  return is_short_integer(value) ? integer_text(value) : fmt::format("{:.6g}", value);
}

std::string stored_number_text(double value) {
  return is_short_integer(value) ? integer_text(value) : format_number(value);
}

}  // namespace seedbed
