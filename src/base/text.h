#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace seedbed {

[[nodiscard]] std::string_view trim(std::string_view text);
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);
[[nodiscard]] std::string join(const std::vector<std::string>& parts, std::string_view separator);
[[nodiscard]] std::string lower(std::string_view text);

/// The candidate nearest to a mistyped word, for "did you mean"; nothing when none is near
/// (edit distance with transpositions, at most a third of the word's length).
[[nodiscard]] std::optional<std::string> nearest(std::string_view word,
                                                 const std::vector<std::string>& candidates);

/// One shell word, quoted only when needed: for lines that people paste. Never used to run
/// anything.
[[nodiscard]] std::string shell_quote(std::string_view word);
[[nodiscard]] std::string shell_quote(const std::vector<std::string>& words);

/// Valid UTF-8 for tables, JSON and pages: bad bytes become U+FFFD.
[[nodiscard]] std::string to_valid_utf8(std::string_view bytes);
[[nodiscard]] bool is_valid_utf8(std::string_view bytes);

/// One safe line for a terminal: valid UTF-8, control characters escaped (`\n`, `\x1b`), cut to
/// `width` columns with `…`. width 0 = no cut.
[[nodiscard]] std::string one_line(std::string_view text, std::size_t width = 0);

/// Number of terminal columns (wide characters count two, combining ones none).
[[nodiscard]] std::size_t display_width(std::string_view utf8);

/// The shortest decimal text that reads back as the same double, without exponent where short:
/// `0.1`, `1e-05` (as Python's repr), `nan`, `inf`, `-inf`.
[[nodiscard]] std::string format_number(double value);

/// `0`, `0-3,8`: numbers of CPUs, say, as people write them.
[[nodiscard]] std::string number_ranges(std::vector<int> numbers);

}  // namespace seedbed
