#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class Option;
}

// What options of several commands have in common. The parser's own messages name C++ conversions;
// these say what the option takes.

namespace seedbed {

/// A whole number in this range, both ends included.
CLI::Option* whole_number(CLI::Option* option, std::uint64_t least, std::uint64_t most);

/// Trials at once: a whole number from 1, or `auto`, as many as fit.
CLI::Option* slot_count(CLI::Option* option);
/// Of such a word; 0: auto.
[[nodiscard]] std::uint32_t slots_of(const std::string& word);

/// A number above zero, up to a million.
CLI::Option* positive_number(CLI::Option* option);

/// One of these words.
CLI::Option* one_of(CLI::Option* option, std::vector<std::string> words);

/// For options that may be given several times: one value each, so that words behind it stay words.
CLI::Option* repeatable(CLI::Option* option);

}  // namespace seedbed
