#pragma once

#include <string>

#include "base/time.h"

namespace seedbed {

/// `2026-01-31 13:00:00` in the zone of the machine (or of TZ), for people. Whatever a program may
/// read has format_timestamp.
[[nodiscard]] std::string format_local_time(Timestamp time);

/// The same for a text of format_timestamp; any other text as it is.
[[nodiscard]] std::string local_time_of(const std::string& timestamp);

}  // namespace seedbed
