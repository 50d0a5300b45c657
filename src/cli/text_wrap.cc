#include "cli/text_wrap.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace seedbed {

std::string wrap_words(const std::vector<std::string>& words, std::string_view indent,
                       std::string_view join, std::size_t width) {
  std::string text;
  std::size_t columns = 0;  // of the line so far; 0: none yet
  for (const std::string& word : words) {
    const std::size_t own = display_width(word);
    if (columns > 0 && columns + 1 + own + join.size() <= width) {
      text += ' ' + word;
      columns += 1 + own;
      continue;
    }
    if (columns > 0) text.append(join).append("\n");
    text.append(indent).append(word);
    columns = indent.size() + own;
  }
  return text;
}

namespace {

/// Bytes as `$'…'` writes them, for bash, zsh and ksh.
std::string with_escapes(std::string_view text) {
  std::string escaped = "$'";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      escaped += "\\n";
    } else if (c == '\\') {
      escaped += "\\\\";
    } else if (byte < 0x20 || byte >= 0x7f) {
      escaped += fmt::format("\\x{:02x}", byte);
    } else {
      escaped += c;
    }
  }
  return escaped + "'";
}

}  // namespace

std::string wrap_shell_line(std::string_view line, std::string_view indent) {
  std::vector<std::string> words(1);
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == ' ') {
      words.emplace_back();
    } else if (c == '\\') {
      words.back() += line.substr(i++, 2);
    } else if (c == '\'' || c == '"') {
      const std::size_t end = std::min(line.find(c, i + 1), line.size() - 1);
      const std::string_view inside = line.substr(i + 1, end - i - 1);
      const bool safe = c == '"' || one_line(inside) == inside;
      words.back() += safe ? std::string(line.substr(i, end - i + 1)) : with_escapes(inside);
      i = end;
    } else {
      words.back() += c;
    }
  }
  return wrap_words(words, indent, " \\");
}

}  // namespace seedbed
