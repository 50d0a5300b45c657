#include "base/shown_text.h"

#include "base/text.h"

namespace seedbed {

std::string shown_text(std::string_view text, std::size_t width) {
  const bool bare = !text.empty() && text.front() != ' ' && text.back() != ' ';
  if (bare) return one_line(text, width);
  return '"' + one_line(text, width) + '"';
}

}  // namespace seedbed
