#include "env/posix/identity.h"

#include <unistd.h>

#include "base/text.h"
#include "env/posix/files.h"

namespace seedbed {

const std::string& host_name() {
  static const std::string name = [] {
    char buffer[256] = {};
    if (::gethostname(buffer, sizeof buffer - 1) != 0) return std::string("localhost");
    return std::string(buffer);
  }();
  return name;
}

const std::string& boot_id() {
  static const std::string id = [] {
    const auto text = read_file("/proc/sys/kernel/random/boot_id", 256);
    return text ? std::string(trim(*text)) : std::string();
  }();
  return id;
}

std::optional<ProcStat> read_proc_stat(std::int64_t pid) {
  const auto text = read_file("/proc/" + std::to_string(pid) + "/stat", 4096);
  if (!text) return std::nullopt;
  return parse_proc_stat(*text);
}

bool is_running(std::int64_t pid, std::uint64_t start_ticks, const std::string& boot) {
  if (pid <= 0 || boot != boot_id()) return false;
  const auto stat = read_proc_stat(pid);
  return stat && stat->start_ticks == start_ticks && !stat->ended();
}

}  // namespace seedbed
