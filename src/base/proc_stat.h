#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace seedbed {

/// What seedbed reads of /proc/PID/stat (proc(5)). Header-only: the static shim needs it too.
struct ProcStat {
  char state = '?';               ///< field 3: R, S, D, T, Z (zombie), X
  std::int64_t parent = 0;        ///< field 4
  std::uint64_t start_ticks = 0;  ///< field 22, clock ticks since boot

  /// A zombie has ended; it only waits to be reaped.
  [[nodiscard]] bool ended() const { return state == 'Z' || state == 'X'; }
};

/// Reads the text of a stat file. The command name (field 2) may hold spaces, parentheses and line
/// ends, so counting starts after the last `)`.
[[nodiscard]] inline std::optional<ProcStat> parse_proc_stat(std::string_view text) {
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos) return std::nullopt;
  std::string_view rest = text.substr(name_end + 1);
  ProcStat stat;
  int field = 3;
  while (!rest.empty() && field <= 22) {
    const std::size_t start = rest.find_first_not_of(" \n");
    if (start == std::string_view::npos) break;
    rest.remove_prefix(start);
    const std::string_view word = rest.substr(0, rest.find_first_of(" \n"));
    rest.remove_prefix(word.size());
    const char* end = word.data() + word.size();
    if (field == 3) {
      stat.state = word[0];
    } else if (field == 4) {
      if (std::from_chars(word.data(), end, stat.parent).ptr != end) return std::nullopt;
    } else if (field == 22) {
      if (std::from_chars(word.data(), end, stat.start_ticks).ptr != end) return std::nullopt;
      return stat;
    }
    ++field;
  }
  return std::nullopt;
}

}  // namespace seedbed
