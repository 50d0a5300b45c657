#include "base/time.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>

#include "base/text.h"

namespace seedbed {
namespace {

constexpr double kMaxMs = 3.2e14;  // about ten thousand years; far from overflow

std::optional<double> unit_ms(std::string_view unit) {
  if (unit == "ms") return 1.0;
  if (unit == "s" || unit == "sec" || unit == "second" || unit == "seconds") return 1e3;
  if (unit == "m" || unit == "min" || unit == "minute" || unit == "minutes") return 60e3;
  if (unit == "h" || unit == "hour" || unit == "hours") return 3600e3;
  if (unit == "d" || unit == "day" || unit == "days") return 86400e3;
  if (unit == "w" || unit == "week" || unit == "weeks") return 7 * 86400e3;
  return std::nullopt;
}

tl::unexpected<Error> bad_duration(std::string_view text) {
  return fail(ErrorCode::usage,
              fmt::format("'{}' is not a duration; write 30s, 10m, 1h30m, 2d, 500ms or HH:MM:SS",
                          one_line(text, 60)));
}

/// Reads an unsigned decimal (`12`, `1.5`) at the front and moves past it.
std::optional<double> take_number(std::string_view& text) {
  std::size_t length = 0;
  while (length < text.size() &&
         ((text[length] >= '0' && text[length] <= '9') || text[length] == '.')) {
    ++length;
  }
  double value = 0;
  auto parsed = std::from_chars(text.data(), text.data() + length, value);
  if (length == 0 || parsed.ec != std::errc() || parsed.ptr != text.data() + length) {
    return std::nullopt;
  }
  text.remove_prefix(length);
  return value;
}

std::optional<double> clock_form_ms(std::string_view text) {
  auto parts = split(text, ':');
  if (parts.size() != 3) return std::nullopt;
  double seconds = 0;
  for (std::string_view part : parts) {
    unsigned value = 0;
    auto parsed = std::from_chars(part.data(), part.data() + part.size(), value);
    if (part.empty() || parsed.ec != std::errc() || parsed.ptr != part.data() + part.size()) {
      return std::nullopt;
    }
    seconds = seconds * 60 + value;
  }
  return seconds * 1e3;
}

}  // namespace

Result<Milliseconds> parse_duration(std::string_view text) {
  std::string_view rest = trim(text);
  double total = 0;
  if (rest.find(':') != std::string_view::npos) {
    auto ms = clock_form_ms(rest);
    if (!ms) return bad_duration(text);
    total = *ms;
  } else {
    if (rest.empty()) return bad_duration(text);
    bool first = true;
    while (!rest.empty()) {
      auto value = take_number(rest);
      if (!value) return bad_duration(text);
      while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
      std::size_t length = 0;
      while (length < rest.size() && rest[length] >= 'a' && rest[length] <= 'z') ++length;
      if (length == 0) {
        if (!first || !rest.empty()) return bad_duration(text);
        total = *value * 1e3;  // a bare number is seconds
        break;
      }
      auto unit = unit_ms(rest.substr(0, length));
      if (!unit) return bad_duration(text);
      total += *value * *unit;
      rest.remove_prefix(length);
      while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
      first = false;
    }
  }
  if (!(total <= kMaxMs)) return bad_duration(text);
  return Milliseconds(std::llround(total));
}

std::string format_duration(Milliseconds duration) {
  const std::int64_t ms = duration.count();
  if (ms < 0) return "-" + format_duration(Milliseconds(-ms));
  if (ms < 1000) return fmt::format("{}ms", ms);
  if (ms < 59'950) return fmt::format("{:.1f}s", static_cast<double>(ms) / 1e3);
  const std::int64_t seconds = (ms + 500) / 1000;
  if (seconds < 3600) return fmt::format("{}m {:02}s", seconds / 60, seconds % 60);
  const std::int64_t minutes = (seconds + 30) / 60;
  if (minutes < 24 * 60) return fmt::format("{}h {:02}m", minutes / 60, minutes % 60);
  const std::int64_t hours = (minutes + 30) / 60;
  return fmt::format("{}d {:02}h", hours / 24, hours % 24);
}

std::string format_timestamp(Timestamp time) {
  using namespace std::chrono;
  const sys_time<Milliseconds> moment{Milliseconds(time.ms)};
  const auto day = floor<days>(moment);
  const year_month_day date{day};
  const hh_mm_ss clock{moment - day};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count());
}

}  // namespace seedbed
