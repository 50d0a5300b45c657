#include "study/halt.h"

#include <charconv>
#include <optional>

#include "base/text.h"
#include "study/reader_error.h"

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

Result<HaltSpec> HaltSpec::parse(std::string_view text) {
  const std::string word = lower(trim(text));
  if (word.empty() || word == "never") return HaltSpec{};
  if (word == "first") return HaltSpec{Kind::first, 1};
  const bool percent = word.back() == '%';
  const auto number =
      read_number(percent ? std::string_view(word).substr(0, word.size() - 1) : word);
  if (percent && number && *number > 0 && *number <= 100) return HaltSpec{Kind::percent, *number};
  const bool count = number && *number >= 1 && *number <= 1e15 &&
                     *number == static_cast<double>(static_cast<std::int64_t>(*number));
  if (!percent && count) return HaltSpec{Kind::count, *number};
  return fail(ErrorCode::usage,
              in_ticks(text) +
                  " is none of `first`, a number of failed trials from 1 on (`3`), a share of them "
                  "from above 0% to 100% (`20%`), `never`");
}

}  // namespace seedbed
