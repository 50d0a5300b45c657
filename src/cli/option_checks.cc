#include "cli/option_checks.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <limits>

#include "base/text.h"
#include "study/readers.h"
#include "study/value.h"

namespace seedbed {
namespace {

std::string not_word(const std::string& word) { return "not '" + one_line(word, 60) + "'"; }

std::string range_text(std::uint64_t least, std::uint64_t most) {
  return fmt::format("a whole number from {} to {}", least, most);
}

}  // namespace

CLI::Option* whole_number(CLI::Option* option, std::uint64_t least, std::uint64_t most) {
  return option->check(CLI::Validator(
      [least, most](const std::string& word) -> std::string {
        std::uint64_t value = 0;
        const char* end = word.data() + word.size();
        const auto read = std::from_chars(word.data(), end, value);
        if (read.ec == std::errc() && read.ptr == end && value >= least && value <= most) return {};
        return fmt::format("takes {}, {}", range_text(least, most), not_word(word));
      },
      ""));
}

CLI::Option* slot_count(CLI::Option* option) {
  return option->check(CLI::Validator(
      [](const std::string& word) -> std::string {
        if (word == "auto" || slots_of(word) > 0) return {};
        return fmt::format("takes auto or {}, {}", range_text(1, kMostSlots), not_word(word));
      },
      ""));
}

std::uint32_t slots_of(const std::string& word) {
  std::uint32_t value = 0;
  const char* end = word.data() + word.size();
  const auto read = std::from_chars(word.data(), end, value);
  return read.ec == std::errc() && read.ptr == end && value <= kMostSlots ? value : 0;
}

CLI::Option* positive_number(CLI::Option* option) {
  return option->check(CLI::Validator(
      [](const std::string& word) -> std::string {
        constexpr double kMost = 1e6;
        const Value value = Value::from_plain(word);
        if (value.is_number() && *value.number() > 0 && *value.number() <= kMost) return {};
        return fmt::format("takes a number above 0, such as 2 or 0.5, {}", not_word(word));
      },
      ""));
}

CLI::Option* one_of(CLI::Option* option, std::vector<std::string> words) {
  const std::string listed = "{" + join(words, ",") + "}";  // as the parser shows its own in --help
  return option->check(CLI::Validator(
      [words = std::move(words)](const std::string& word) -> std::string {
        if (std::find(words.begin(), words.end(), word) != words.end()) return {};
        std::string choices = words.front();
        for (std::size_t i = 1; i < words.size(); ++i) {
          choices += (i + 1 == words.size() ? " or " : ", ") + words[i];
        }
        std::string text = fmt::format("takes {}, {}", choices, not_word(word));
        if (const auto near = nearest(word, words))
          text += fmt::format("; did you mean {}?", *near);
        return text;
      },
      listed));
}

CLI::Option* repeatable(CLI::Option* option) { return option->allow_extra_args(false); }

}  // namespace seedbed
