#include "reporters/style.h"

#include <fmt/format.h>

#include "base/text.h"

namespace seedbed {
namespace {

std::string_view sequence(Style style) {
  switch (style) {
    case Style::plain:
      return "";
    case Style::strong:
      return "\x1b[1m";
    case Style::faint:
      return "\x1b[2m";
    case Style::good:
      return "\x1b[32m";
    case Style::bad:
      return "\x1b[31m";
    case Style::warning:
      return "\x1b[33m";
    case Style::active:
      return "\x1b[36m";
  }
  return "";
}

}  // namespace

std::string paint(Style style, std::string_view text, bool colour) {
  if (!colour || style == Style::plain || text.empty()) return std::string(text);
  return fmt::format("{}{}\x1b[0m", sequence(style), text);
}

std::size_t columns_of(const std::vector<Span>& spans) {
  std::size_t columns = 0;
  for (const Span& span : spans) columns += display_width(one_line(span.text));
  return columns;
}

std::string compose(const std::vector<Span>& spans, std::size_t width, bool colour) {
  std::string line;
  std::size_t left = width;
  const bool cut = width > 0 && columns_of(spans) > width;
  for (const Span& span : spans) {
    if (!cut) {
      line += paint(span.style, one_line(span.text), colour);
      continue;
    }
    const std::string whole = one_line(span.text);
    const std::size_t columns = display_width(whole);
    if (columns < left) {
      line += paint(span.style, whole, colour);
      left -= columns;
      continue;
    }
    // One column more than is left makes one_line put its mark, also when this span just fits.
    line += paint(span.style, one_line(whole + " ", left), colour);
    return line;
  }
  return line;
}

std::string pad_right(std::string_view text, std::size_t width) {
  std::string line = one_line(text, width);
  const std::size_t columns = display_width(line);
  if (columns < width) line.append(width - columns, ' ');
  return line;
}

std::string pad_left(std::string_view text, std::size_t width) {
  const std::string line = one_line(text, width);
  const std::size_t columns = display_width(line);
  return columns < width ? std::string(width - columns, ' ') + line : line;
}

}  // namespace seedbed
