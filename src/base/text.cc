#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <numeric>

namespace seedbed {
namespace {

/// One decoded piece of UTF-8: its bytes, and the code point (or none when it is malformed).
struct Decoded {
  std::size_t length = 1;
  std::optional<std::uint32_t> code_point;
};

Decoded decode_utf8(std::string_view bytes) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {1, lead};
  std::size_t length = 0;
  std::uint32_t code = 0;
  std::uint32_t least = 0;
  if (lead >= 0xc2 && lead <= 0xdf) {
    length = 2, code = lead & 0x1fU, least = 0x80;
  } else if (lead >= 0xe0 && lead <= 0xef) {
    length = 3, code = lead & 0x0fU, least = 0x800;
  } else if (lead >= 0xf0 && lead <= 0xf4) {
    length = 4, code = lead & 0x07U, least = 0x10000;
  } else {
    return {1, std::nullopt};
  }
  for (std::size_t i = 1; i < length; ++i) {
    if (i >= bytes.size() || (byte(i) & 0xc0U) != 0x80) return {i, std::nullopt};
    code = (code << 6) | (byte(i) & 0x3fU);
  }
  if (code < least || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
    return {1, std::nullopt};
  }
  return {length, code};
}

std::size_t columns_of(std::uint32_t code_point) {
  // wcwidth depends on the process's locale; these ranges are the wide and the combining blocks of
  // Unicode that people meet in names (UAX #11, #44).
  const auto in = [code_point](std::uint32_t low, std::uint32_t high) {
    return code_point >= low && code_point <= high;
  };
  if (in(0x300, 0x36f) || in(0x200b, 0x200f) || in(0xfe00, 0xfe0f) || in(0x20d0, 0x20ff)) return 0;
  if (in(0x1100, 0x115f) || in(0x2e80, 0x303e) || in(0x3041, 0xa4cf) || in(0xac00, 0xd7a3) ||
      in(0xf900, 0xfaff) || in(0xfe30, 0xfe6f) || in(0xff00, 0xff60) || in(0xffe0, 0xffe6) ||
      in(0x1f300, 0x1f64f) || in(0x1f680, 0x1f6ff) || in(0x1f900, 0x1faff) ||
      in(0x20000, 0x3fffd)) {
    return 2;
  }
  return 1;
}

/// Characters that show nothing, turn the direction of what follows, or end a line (Unicode's
/// `Bidi_Control`, format characters, line separators). The joiners U+200C and U+200D stay: words
/// of several languages and many emoji need them.
bool is_unseen(std::uint32_t code) {
  const auto in = [code](std::uint32_t low, std::uint32_t high) {
    return code >= low && code <= high;
  };
  return code == 0xad || code == 0x61c || code == 0x180e || code == 0x200b || in(0x200e, 0x200f) ||
         in(0x2028, 0x202e) || in(0x2060, 0x206f) || code == 0xfeff || in(0xfff9, 0xfffb) ||
         in(0xe0000, 0xe007f);
}

bool is_plain_in_shell(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("@%+=:,./_-").find(c) != std::string_view::npos;
}

}  // namespace

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n\v\f";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string joined;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) joined += separator;
    joined += parts[i];
  }
  return joined;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

namespace {

/// Optimal string alignment distance: insertions, deletions, substitutions and swaps of
/// neighbours cost one each (Damerau 1964).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  std::iota(cost[0].begin(), cost[0].end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates) {
  constexpr std::size_t kLongest = 64;  // bounds the quadratic distance
  if (word.empty() || word.size() > kLongest) return std::nullopt;
  const std::string wanted = lower(word);
  std::optional<std::string> best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongest) continue;
    const std::size_t distance = edit_distance(wanted, lower(candidate));
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string shell_quote(std::string_view word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain_in_shell)) {
    return std::string(word);
  }
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string shell_quote(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  quoted.reserve(words.size());
  for (const std::string& word : words) quoted.push_back(shell_quote(word));
  return join(quoted, " ");
}

std::string to_valid_utf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const Decoded piece = decode_utf8(bytes);
    if (piece.code_point) {
      text += bytes.substr(0, piece.length);
    } else {
      text += "\xef\xbf\xbd";
    }
    bytes.remove_prefix(piece.length);
  }
  return text;
}

bool is_valid_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const Decoded piece = decode_utf8(bytes);
    if (!piece.code_point) return false;
    bytes.remove_prefix(piece.length);
  }
  return true;
}

std::string one_line(std::string_view text, std::size_t width) {
  std::string line;
  std::size_t columns = 0;
  std::size_t cut_at = 0;  // length of what fits beside the mark of a cut
  while (!text.empty()) {
    const Decoded piece = decode_utf8(text);
    std::string shown;
    std::size_t shown_columns = 0;
    if (!piece.code_point) {
      shown = "\xef\xbf\xbd";
      shown_columns = 1;
    } else if (const std::uint32_t code = *piece.code_point;
               code < 0x20 || (code >= 0x7f && code < 0xa0)) {
      shown = code == '\n'   ? "\\n"
              : code == '\t' ? "\\t"
              : code == '\r' ? "\\r"
                             : fmt::format("\\x{:02x}", code);
      shown_columns = shown.size();
    } else if (is_unseen(code)) {
      shown = code > 0xffff ? fmt::format("\\U{:08x}", code) : fmt::format("\\u{:04x}", code);
      shown_columns = shown.size();
    } else {
      shown = std::string(text.substr(0, piece.length));
      shown_columns = columns_of(code);
    }
    if (width > 0 && columns + shown_columns > width) {
      line.resize(cut_at);
      return line + "…";
    }
    line += shown;
    columns += shown_columns;
    if (width == 0 || columns < width) cut_at = line.size();
    text.remove_prefix(piece.length);
  }
  return line;
}

std::size_t display_width(std::string_view utf8) {
  std::size_t columns = 0;
  while (!utf8.empty()) {
    const Decoded piece = decode_utf8(utf8);
    columns += piece.code_point ? columns_of(*piece.code_point) : 1;
    utf8.remove_prefix(piece.length);
  }
  return columns;
}

std::string format_number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  if (value == 0) return std::signbit(value) ? "-0.0" : "0.0";
  // Python's repr: shortest digits that read back, exponent below 1e-4 and from 1e16 on.
  const double magnitude = std::fabs(value);
  const bool fixed = magnitude >= 1e-4 && magnitude < 1e16;
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value,
                                 fixed ? std::chars_format::fixed : std::chars_format::scientific);
  std::string text(buffer, end.ptr);
  if (fixed && text.find('.') == std::string::npos) text += ".0";
  return text;
}

std::string number_ranges(std::vector<int> numbers) {
  std::sort(numbers.begin(), numbers.end());
  std::string out;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] <= numbers[last] + 1) ++last;
    if (!out.empty()) out += ',';
    out += std::to_string(numbers[i]);
    if (numbers[last] != numbers[i]) out += "-" + std::to_string(numbers[last]);
    i = last + 1;
  }
  return out;
}

}  // namespace seedbed
