#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

// Numbers as programs print them: plain decimals (`-1e-3`, `.5`, `5.`, `+2`), and every spelling of
// NaN and infinity that C, C++, Python, NumPy, JavaScript and old Microsoft libraries use (`nan`,
// `NaN`, `-nan`, `nan(ind)`, `1.#QNAN`, `-1.#IND`, `inf`, `Infinity`, `1.#INF`). No hexadecimal, no
// `1_000`, no `1,000`. Too large is infinite, too small is zero, as in Python.

namespace seedbed {

struct NumberPrefix {
  double value = 0;
  std::size_t length = 0;  ///< characters used
};

/// The longest number at the start of `text`. What follows it is the caller's to judge, except that
/// a word (`nan`, `inf`) ends where the word ends: `nano` is none.
[[nodiscard]] std::optional<NumberPrefix> number_prefix(std::string_view text);

/// The number that `text` is, from its first to its last character.
[[nodiscard]] std::optional<double> whole_number(std::string_view text);

}  // namespace seedbed
