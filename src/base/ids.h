#pragma once

#include <charconv>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace seedbed {

/// Number of a trial within its study, from 1, in the order of proposal. 0 is no trial.
using TrialNumber = std::uint64_t;

/// Number of a slot, from 0.
using SlotNumber = std::uint32_t;

/// One execution of a trial; written `trial.attempt`, both from 1.
struct AttemptId {
  TrialNumber trial = 0;
  std::uint32_t attempt = 0;

  auto operator<=>(const AttemptId&) const = default;

  [[nodiscard]] std::string text() const {
    return std::to_string(trial) + "." + std::to_string(attempt);
  }

  /// Reads `12.1`; nothing when the text is anything else.
  [[nodiscard]] static std::optional<AttemptId> parse(std::string_view text) {
    AttemptId id;
    const char* end = text.data() + text.size();
    auto first = std::from_chars(text.data(), end, id.trial);
    if (first.ec != std::errc() || first.ptr == end || *first.ptr != '.') return std::nullopt;
    auto second = std::from_chars(first.ptr + 1, end, id.attempt);
    if (second.ec != std::errc() || second.ptr != end) return std::nullopt;
    if (id.trial == 0 || id.attempt == 0) return std::nullopt;
    return id;
  }
};

}  // namespace seedbed
