#include "env/posix/process_tree.h"

#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "env/posix/files.h"
#include "env/posix/identity.h"

namespace seedbed {
namespace {

constexpr std::size_t kEnvironmentLimit = std::size_t{16} << 20;

std::vector<std::int64_t> all_processes() {
  std::vector<std::int64_t> pids;
  DIR* folder = ::opendir("/proc");
  if (folder == nullptr) return pids;
  while (const dirent* entry = ::readdir(folder)) {
    const std::string_view name = entry->d_name;
    std::int64_t pid = 0;
    const auto read = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (read.ec == std::errc() && read.ptr == name.data() + name.size()) pids.push_back(pid);
  }
  ::closedir(folder);
  return pids;
}

bool environment_holds(std::int64_t pid, const std::string& assignment) {
  const auto text = read_file("/proc/" + std::to_string(pid) + "/environ", kEnvironmentLimit);
  if (!text) return false;
  std::size_t at = 0;
  while ((at = text->find(assignment, at)) != std::string::npos) {
    const std::size_t end = at + assignment.size();
    const bool begins = at == 0 || (*text)[at - 1] == '\0';
    if (begins && (end == text->size() || (*text)[end] == '\0')) return true;
    at = end;
  }
  return false;
}

}  // namespace

std::vector<std::int64_t> processes_with(const std::string& assignment) {
  std::vector<std::int64_t> found;
  for (const std::int64_t pid : all_processes()) {
    if (pid == ::getpid() || !environment_holds(pid, assignment)) continue;
    const auto stat = read_proc_stat(pid);
    if (stat && !stat->ended()) found.push_back(pid);
  }
  return found;
}

std::size_t signal_processes_with(const std::string& assignment, int signal) {
  const std::vector<std::int64_t> found = processes_with(assignment);
  for (const std::int64_t pid : found) {
    if (signal != 0) ::kill(static_cast<pid_t>(pid), signal);
    if (signal == SIGTERM) ::kill(static_cast<pid_t>(pid), SIGCONT);
  }
  return found.size();
}

int OrphanReaper::look() {
  if (::getpid() != 1) return 0;
  std::vector<std::int64_t> dead;
  int reaped = 0;
  for (const std::int64_t pid : all_processes()) {
    const auto stat = read_proc_stat(pid);
    if (!stat || stat->parent != 1 || !stat->ended()) continue;
    if (std::find(dead_before_.begin(), dead_before_.end(), pid) == dead_before_.end()) {
      dead.push_back(pid);
    } else if (::waitpid(static_cast<pid_t>(pid), nullptr, WNOHANG) == pid) {
      ++reaped;
    }
  }
  dead_before_ = std::move(dead);
  return reaped;
}

}  // namespace seedbed
