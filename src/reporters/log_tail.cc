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

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// A line of one character alone, as mpiruns frame their words.
bool is_rule(std::string_view line, char character) {
  constexpr std::size_t kShortest = 60;
  return line.size() >= kShortest && line.find_first_not_of(character) == std::string_view::npos;
}

/// Open MPI's and MPICH's (and Intel's) words about the end of a rank, found by how they begin.
bool begins_mpi_words(std::string_view line) {
  return line.starts_with("Primary job  terminated") ||
         line.starts_with("MPI_ABORT was invoked on rank ") ||
         contains(line, " noticed that process rank ") ||
         contains(line, " detected that one or more processes exited with non-zero status") ||
         line.starts_with("=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES");
}

bool follows_mpich_words(std::string_view line) {
  return line.starts_with("YOUR APPLICATION TERMINATED WITH THE EXIT STRING") ||
         line.starts_with("This typically refers to a problem with your application") ||
         line.starts_with("Please see the FAQ page for debugging suggestions");
}

std::vector<std::string_view> without_mpi_words(const std::vector<std::string_view>& lines) {
  std::vector<std::string_view> kept;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const char frame = lines[i].empty() ? ' ' : lines[i][0];
    const bool framed = (frame == '-' || frame == '=') && is_rule(lines[i], frame) &&
                        i + 1 < lines.size() && begins_mpi_words(lines[i + 1]);
    if (framed) {
      for (++i; i < lines.size() && !is_rule(lines[i], frame);) ++i;
    } else if (!follows_mpich_words(lines[i])) {
      kept.push_back(lines[i]);
    }
  }
  return kept;
}

void drop_empty_end(std::vector<std::string_view>& lines) {
  while (!lines.empty() && trim(lines.back()).empty()) lines.pop_back();
}

}  // namespace

std::vector<std::string> last_lines(std::string_view text, std::size_t lines) {
  const std::vector<std::string_view> whole = split(text, '\n');
  std::vector<std::string_view> all = without_mpi_words(whole);
  drop_empty_end(all);
  if (all.empty()) all = whole;
  drop_empty_end(all);
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
