#include "reporters/log_tail.h"

#include <fstream>

#include "base/text.h"
#include "reporters/lines.h"

namespace seedbed {
namespace {

constexpr std::streamoff kMostBytes = 32 * 1024;

/// A progress bar rewrites its line: what stands there in the end is the last non-empty piece.
std::string_view last_state(std::string_view line) {
  std::string_view shown;
  for (const std::string_view piece : split(line, '\r')) {
    if (!trim(piece).empty()) shown = piece;
  }
  return shown;
}

}  // namespace

std::vector<std::string> last_lines(std::string_view text, std::size_t lines) {
  std::vector<std::string_view> all = split(text, '\n');
  while (!all.empty() && trim(all.back()).empty()) all.pop_back();
  std::vector<std::string> last;
  for (std::size_t i = all.size() > lines ? all.size() - lines : 0; i < all.size(); ++i) {
    last.emplace_back(last_state(all[i]));
  }
  return last;
}

LogTail make_log_tail(std::string study_dir) {
  return [study_dir = std::move(study_dir)](const std::string& folder, std::uint32_t attempt,
                                            std::size_t lines) -> std::vector<std::string> {
    std::ifstream log(log_path(study_dir, folder, attempt), std::ios::binary | std::ios::ate);
    if (!log) return {};
    const std::streamoff size = log.tellg();
    const std::streamoff from = size > kMostBytes ? size - kMostBytes : 0;
    std::string text(static_cast<std::size_t>(size - from), '\0');
    log.seekg(from);
    log.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(log.gcount()));
    // The first line may be a fragment; better left out than shown as if it were whole.
    const std::size_t first_end = text.find('\n');
    if (from > 0 && first_end != std::string::npos && first_end + 1 < text.size()) {
      text.erase(0, first_end + 1);
    }
    return last_lines(text, lines);
  };
}

}  // namespace seedbed
