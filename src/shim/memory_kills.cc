#include "shim/memory_kills.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <string>
#include <string_view>

#include "shim/system.h"

namespace seedbed::shim {
namespace {

int open_counter(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  char text[4096];
  const ssize_t got = ::pread(file, text, sizeof text, 0);
  if (got > 0 && std::string_view(text, static_cast<std::size_t>(got)).find("oom_kill ") !=
                     std::string_view::npos) {
    return file;
  }
  ::close(file);
  return -1;
}

// The path of our group in a hierarchy of /proc/self/cgroup, whose lines are ID:CONTROLLERS:PATH.
std::string group_path(const std::string& groups, std::string_view controller) {
  std::string_view rest = groups;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(line.size() < rest.size() ? line.size() + 1 : line.size());
    const std::size_t first = line.find(':');
    if (first == std::string_view::npos) continue;
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    if (line.substr(first + 1, second - first - 1) == controller) {
      return std::string(line.substr(second + 1));
    }
  }
  return {};
}

}  // namespace

MemoryKills::MemoryKills() {
  const std::string groups = read_small_file("/proc/self/cgroup");
  const std::string v2 = group_path(groups, "");
  const std::string v1 = group_path(groups, "memory");
  for (const std::string& path :
       {"/sys/fs/cgroup" + v2 + "/memory.events", "/sys/fs/cgroup/unified" + v2 + "/memory.events",
        "/sys/fs/cgroup/memory" + v1 + "/memory.oom_control",
        std::string("/sys/fs/cgroup/memory/memory.oom_control")}) {
    file_ = open_counter(path);
    if (file_ >= 0) break;
  }
  remember();
}

MemoryKills::~MemoryKills() {
  if (file_ >= 0) ::close(file_);
}

std::uint64_t MemoryKills::count() const {
  if (file_ < 0) return 0;
  char buffer[4096];
  const ssize_t got = ::pread(file_, buffer, sizeof buffer, 0);
  if (got <= 0) return before_;
  const std::string_view text(buffer, static_cast<std::size_t>(got));
  const std::size_t at = text.find("oom_kill ");
  if (at == std::string_view::npos) return before_;
  std::uint64_t kills = 0;
  std::from_chars(text.data() + at + 9, text.data() + text.size(), kills);
  return kills;
}

}  // namespace seedbed::shim
