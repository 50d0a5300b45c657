#include <fmt/format.h>

#include <charconv>

#include "base/text.h"
#include "engine/engine.h"

namespace seedbed {
namespace {

std::optional<double> read_number(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

}  // namespace

Result<HaltRule> HaltRule::parse(std::string_view text) {
  const std::string word = lower(trim(text));
  if (word.empty() || word == "never") return HaltRule{};
  if (word == "first") return HaltRule{Kind::first, 1};
  const bool percent = word.back() == '%';
  const auto number =
      read_number(percent ? std::string_view(word).substr(0, word.size() - 1) : word);
  if (percent && number && *number > 0 && *number <= 100) return HaltRule{Kind::percent, *number};
  const bool count = number && *number >= 1 && *number <= 1e15 &&
                     *number == static_cast<double>(static_cast<std::int64_t>(*number));
  if (!percent && count) return HaltRule{Kind::count, *number};
  return fail(ErrorCode::usage,
              fmt::format("halt: `{}` is none of `first`, a number of failed trials from 1 on "
                          "(`3`), a share of them from above 0% to 100% (`20%`), `never`",
                          one_line(text, 40)));
}

std::string HaltRule::reached(std::uint64_t failed, std::uint64_t ended) const {
  switch (kind) {
    case Kind::never:
      return {};
    case Kind::first:
      return failed >= 1 ? "halt rule `first`: a trial failed" : "";
    case Kind::count:
      if (static_cast<double>(failed) < threshold) return {};
      return fmt::format("halt rule `{:g}`: {} trial{} failed", threshold, failed,
                         failed == 1 ? "" : "s");
    case Kind::percent:
      if (ended < kEndedForPercent) return {};
      if (static_cast<double>(failed) * 100 < threshold * static_cast<double>(ended)) return {};
      return fmt::format("halt rule `{:g}%`: {} of {} trials failed", threshold, failed, ended);
  }
  return {};
}

}  // namespace seedbed
