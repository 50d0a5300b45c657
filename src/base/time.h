#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace seedbed {

using Milliseconds = std::chrono::milliseconds;

/// Wall-clock time, milliseconds since 1970-01-01 UTC. May jump; durations that matter are measured
/// by the shim's monotonic clock.
struct Timestamp {
  std::int64_t ms = 0;

  auto operator<=>(const Timestamp&) const = default;
};

inline Timestamp operator+(Timestamp t, Milliseconds d) { return Timestamp{t.ms + d.count()}; }
inline Milliseconds operator-(Timestamp a, Timestamp b) { return Milliseconds(a.ms - b.ms); }

/// Reads `30s`, `10m`, `1h30m`, `2d`, `500ms`, `1.5h`, `90` (seconds), `HH:MM:SS`. Refuses negative
/// and overflowing durations. Error text names the accepted forms.
[[nodiscard]] Result<Milliseconds> parse_duration(std::string_view text);

/// `850ms`, `12.3s`, `4m 05s`, `2h 07m`, `3d 04h`: two units at most, for people.
[[nodiscard]] std::string format_duration(Milliseconds duration);

/// `2026-01-31T12:00:00.250Z`, always UTC.
[[nodiscard]] std::string format_timestamp(Timestamp time);

}  // namespace seedbed
