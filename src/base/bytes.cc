#include "base/bytes.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>

#include "base/text.h"

namespace seedbed {
namespace {

std::optional<double> unit_bytes(std::string_view unit) {
  if (unit.empty() || unit == "b") return 1.0;
  constexpr std::string_view kPrefixes = "kmgtp";
  const std::size_t power = kPrefixes.find(unit.front());
  if (power == std::string_view::npos) return std::nullopt;
  const std::string_view rest = unit.substr(1);
  const double base = rest == "b" ? 1000.0 : 1024.0;
  if (!rest.empty() && rest != "b" && rest != "i" && rest != "ib") return std::nullopt;
  double factor = 1;
  for (std::size_t i = 0; i <= power; ++i) factor *= base;
  return factor;
}

}  // namespace

Result<std::uint64_t> parse_bytes(std::string_view text) {
  const std::string word = lower(trim(text));
  double value = 0;
  auto parsed = std::from_chars(word.data(), word.data() + word.size(), value);
  const bool starts_like_a_number =
      !word.empty() && (word[0] == '.' || (word[0] >= '0' && word[0] <= '9'));
  std::optional<double> factor;
  if (parsed.ec == std::errc() && starts_like_a_number) {
    factor = unit_bytes(trim(std::string_view(
        parsed.ptr, static_cast<std::size_t>(word.data() + word.size() - parsed.ptr))));
  }
  const double bytes = factor ? value * *factor : -1;
  if (!(bytes >= 0 && bytes < 9.2e18)) {
    return fail(ErrorCode::usage, fmt::format("'{}' is not a size; write 4GiB, 100MB, 512k or a "
                                              "number of bytes",
                                              one_line(text, 60)));
  }
  return static_cast<std::uint64_t>(bytes);
}

std::string format_bytes(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  constexpr std::array<const char*, 6> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (value /= 1024; value >= 1023.95 && unit + 1 < kUnits.size(); value /= 1024) ++unit;
  return fmt::format("{:.{}f} {}", value, value < 9.95 ? 1 : 0, kUnits[unit]);
}

}  // namespace seedbed
