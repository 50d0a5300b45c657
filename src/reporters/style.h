#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/number_text.h"

namespace seedbed {

/// How a piece of text looks on a terminal with colours. Never the only carrier of a meaning.
enum class Style { plain, strong, faint, good, bad, warning, active };

/// The text in its style; unchanged without colour. The text must be safe already.
[[nodiscard]] std::string paint(Style style, std::string_view text, bool colour);

/// A piece of a line.
struct Span {
  std::string text;
  Style style = Style::plain;
};

/// The spans as one safe line (control characters escaped) of at most `width` columns, cut with
/// `…`; width 0 = never cut.
[[nodiscard]] std::string compose(const std::vector<Span>& spans, std::size_t width, bool colour);

/// Columns that the spans need, control characters escaped.
[[nodiscard]] std::size_t columns_of(const std::vector<Span>& spans);

/// The text as one safe line, filled with blanks to `width` columns or cut with `…`.
[[nodiscard]] std::string pad_right(std::string_view text, std::size_t width);
[[nodiscard]] std::string pad_left(std::string_view text, std::size_t width);

}  // namespace seedbed
