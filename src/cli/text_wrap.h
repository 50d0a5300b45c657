#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace seedbed {

/// Words on lines of at most `width` columns, each line behind `indent`; a longer word has a line
/// of its own. `join` stands at the end of every line but the last.
[[nodiscard]] std::string wrap_words(const std::vector<std::string>& words, std::string_view indent,
                                     std::string_view join = {}, std::size_t width = 100);

/// A line for a shell on several lines that can still be pasted: broken at blanks outside of
/// quotes, with a backslash. What a terminal must not get stands as `$'\x1b'`.
[[nodiscard]] std::string wrap_shell_line(std::string_view line, std::string_view indent);

}  // namespace seedbed
