#include "base/local_time.h"

#include <time.h>

#include <array>
#include <cstdio>

namespace seedbed {

std::string format_local_time(Timestamp time) {
  const std::int64_t below = time.ms % 1000 < 0 ? 1 : 0;  // floor, before 1970 too
  const auto seconds = static_cast<time_t>(time.ms / 1000 - below);
  struct tm parts {};
  std::array<char, 64> text{};
  if (::localtime_r(&seconds, &parts) == nullptr ||
      std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts) == 0) {
    return format_timestamp(time);
  }
  return text.data();
}

std::string local_time_of(const std::string& timestamp) {
  struct tm parts {};
  int milliseconds = 0;
  char end = '\0';
  const int read = std::sscanf(timestamp.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d.%3d%c", &parts.tm_year,
                               &parts.tm_mon, &parts.tm_mday, &parts.tm_hour, &parts.tm_min,
                               &parts.tm_sec, &milliseconds, &end);
  if (read != 8 || end != 'Z') return timestamp;
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  return format_local_time(Timestamp{static_cast<std::int64_t>(::timegm(&parts)) * 1000});
}

}  // namespace seedbed
