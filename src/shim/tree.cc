#include "shim/tree.h"

#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <string>
#include <string_view>

#include "base/proc_stat.h"
#include "shim/rank.h"
#include "shim/system.h"

namespace seedbed::shim {
namespace {

constexpr std::size_t kMostOfChildren = 32 << 20;  // bytes: more than there can be processes

pid_t pid_of(std::string_view name) {
  pid_t pid = 0;
  const auto read = std::from_chars(name.data(), name.data() + name.size(), pid);
  return read.ec == std::errc() && read.ptr == name.data() + name.size() ? pid : 0;
}

template <typename Visit>
void each_number_in(const char* folder_path, Visit visit) {
  DIR* folder = ::opendir(folder_path);
  if (folder == nullptr) return;
  while (const dirent* entry = ::readdir(folder)) {
    if (const pid_t pid = pid_of(entry->d_name); pid > 0) visit(pid);
  }
  ::closedir(folder);
}

// Kernels without /proc/PID/task/TID/children: everybody is asked for his parent.
void children_by_search(pid_t parent, std::vector<pid_t>& found) {
  each_number_in("/proc", [&](pid_t pid) {
    char path[40];
    std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
    const auto stat = parse_proc_stat(read_small_file(path));
    if (stat && stat->parent == parent) found.push_back(pid);
  });
}

std::string program_of(pid_t pid) {
  char path[40], target[512];
  std::snprintf(path, sizeof path, "/proc/%d/exe", pid);
  const ssize_t length = ::readlink(path, target, sizeof target);
  return length <= 0 ? std::string() : std::string(target, static_cast<std::size_t>(length));
}

}  // namespace

std::vector<pid_t> pids_in(std::string_view list) {
  std::vector<pid_t> pids;
  for (std::size_t blank = list.find(' '); blank != list.npos; blank = list.find(' ')) {
    if (const pid_t pid = pid_of(list.substr(0, blank)); pid > 0) pids.push_back(pid);
    list.remove_prefix(blank + 1);
  }
  return pids;
}

std::vector<pid_t> children_of(pid_t parent) {
  static const bool listed =
      ::access("/proc/self/task", X_OK) == 0 &&
      ::access(("/proc/self/task/" + std::to_string(::getpid()) + "/children").c_str(), R_OK) == 0;
  std::vector<pid_t> found;
  if (!listed) {
    children_by_search(parent, found);
    return found;
  }
  char folder[40];
  std::snprintf(folder, sizeof folder, "/proc/%d/task", parent);
  each_number_in(folder, [&](pid_t thread) {  // children belong to the thread that made them
    char path[80];
    std::snprintf(path, sizeof path, "%s/%d/children", folder, thread);
    for (const pid_t pid : pids_in(read_small_file(path, kMostOfChildren))) found.push_back(pid);
  });
  return found;
}

std::vector<pid_t> descendants_of(pid_t root) {
  std::vector<pid_t> found = children_of(root);
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const pid_t child : children_of(found[i])) found.push_back(child);
  }
  return found;
}

bool is_shell(pid_t pid) {
  const std::string program = program_of(pid);
  const std::string_view name = std::string_view(program).substr(program.rfind('/') + 1);
  for (const std::string_view shell : {"sh", "bash", "dash", "ash", "busybox", "zsh", "ksh", "mksh",
                                       "ksh93", "fish", "csh", "tcsh", "zsh5", "yash"}) {
    if (name == shell) return true;
  }
  return false;
}

std::vector<pid_t> ranks_below(pid_t root) {
  const std::string own = program_of(::getpid());
  std::vector<pid_t> ranks;
  for (const pid_t pid : descendants_of(root)) {
    if (own.empty() || program_of(pid) != own) continue;
    char path[40];
    std::snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
    const std::string words = read_small_file(path);
    const std::size_t first = words.find('\0');
    if (first != std::string::npos &&
        words.compare(first + 1, 5, std::string(kRankWord) + '\0') == 0) {
      ranks.push_back(pid);
    }
  }
  return ranks;
}

void stop_tree(pid_t root) {
  // A stopped process has no more children: when a look finds nobody new, all are stopped. The
  // number of looks is bounded all the same, against pids that come and go by themselves.
  constexpr int kLooks = 20;
  std::vector<pid_t> stopped;
  for (int look = 0; look < kLooks; ++look) {
    bool anybody_new = false;
    for (const pid_t pid : descendants_of(root)) {
      if (std::find(stopped.begin(), stopped.end(), pid) != stopped.end()) continue;
      ::kill(pid, SIGSTOP);
      stopped.push_back(pid);
      anybody_new = true;
    }
    if (!anybody_new) return;
  }
}

void ask_to_end(pid_t pid) {
  ::kill(pid, SIGTERM);
  ::kill(pid, SIGCONT);
}

}  // namespace seedbed::shim
