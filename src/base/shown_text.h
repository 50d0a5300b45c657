#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace seedbed {

/// A value in a table or line for people: one safe line, in quotes where it would else be blank or
/// lose the blanks at its ends.
[[nodiscard]] std::string shown_text(std::string_view text, std::size_t width = 0);

}  // namespace seedbed
