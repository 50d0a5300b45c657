#include "machine/doctor.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>

#include "base/bytes.h"
#include "base/text.h"
#include "env/posix/network_disk.h"
#include "machine/mpi.h"

namespace seedbed {
namespace {

constexpr std::uint64_t kLittleDisk = std::uint64_t{1} << 30;
constexpr std::uint64_t kNoDisk = std::uint64_t{64} << 20;
constexpr std::uint64_t kLittleMemory = std::uint64_t{512} << 20;

Check cores_check(const Machine& machine) {
  Check check{"cores", machine.describe(), CheckLevel::ok, ""};
  if (machine.physical_seen < machine.seen) {
    check.value += fmt::format(", {} physical", machine.physical_seen);
  }
  if (machine.limited_by_quota()) {
    check.value += fmt::format(", quota {} from {}", format_number(*machine.limits.cpu_quota),
                               machine.limits.cpu_quota_file);
    check.remedy =
        "the quota is rounded down to whole cores; raise it with the container's or "
        "service's CPU limit";
  }
  for (const std::string& warning : machine.warnings()) {
    check.level = CheckLevel::warn;
    check.remedy = warning;
  }
  return check;
}

Check memory_check(const Machine& machine) {
  if (machine.memory() == 0) {
    return {"memory", "unknown", CheckLevel::warn,
            "/proc/meminfo cannot be read: memory is not counted"};
  }
  Check check{"memory", format_bytes(machine.memory()), CheckLevel::ok, ""};
  if (machine.limits.memory && *machine.limits.memory < machine.memory_total) {
    check.value += fmt::format(" of {} (limit from {})", format_bytes(machine.memory_total),
                               machine.limits.memory_file);
  }
  if (machine.memory_available > 0) {
    check.value += fmt::format(", {} available now", format_bytes(machine.memory_available));
    if (machine.memory_available < kLittleMemory) {
      check.level = CheckLevel::warn;
      check.remedy =
          "little is left: end other programs, or state the need of a trial with "
          "`resources: {memory: SIZE}`";
    }
  }
  return check;
}

// The folder itself, or the nearest one above it that exists.
std::string existing_folder(std::string path) {
  struct stat info {};
  while (!path.empty() && ::stat(path.c_str(), &info) != 0) {
    std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return ".";
    path.resize(slash == 0 && path.size() > 1 ? 1 : slash);
  }
  return path.empty() ? "." : path;
}

Check disk_check(const std::string& folder) {
  struct statvfs info {};
  if (::statvfs(folder.c_str(), &info) != 0) {
    return {"disk", "unknown", CheckLevel::warn, fmt::format("{} cannot be looked at", folder)};
  }
  std::uint64_t free = static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize;
  Check check{"disk", fmt::format("{} free in {}", format_bytes(free), folder), CheckLevel::ok, ""};
  if (free < kLittleDisk) {
    check.level = free < kNoDisk ? CheckLevel::bad : CheckLevel::warn;
    check.remedy =
        "make room (`seedbed clean` lists what a study could give up), or put studies "
        "elsewhere with --dir";
  }
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    check.level = CheckLevel::bad;
    check.value += ", read-only for you";
    check.remedy = "put studies in a folder that you may write, with --dir";
  }
  return check;
}

Check file_system_check(const std::string& folder) {
  if (!on_network_disk(folder)) return {"file system", "local", CheckLevel::ok, ""};
  return {"file system", "of a network, or FUSE", CheckLevel::warn,
          "records are written without a write-ahead log there, and one host at a time may run a "
          "study; a local disk is faster"};
}

Check descriptors_check() {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return {"descriptors", "unknown", CheckLevel::warn, ""};
  }
  if (limit.rlim_cur == RLIM_INFINITY) return {"descriptors", "unlimited", CheckLevel::ok, ""};
  Check check{"descriptors", std::to_string(limit.rlim_cur), CheckLevel::ok, ""};
  if (limit.rlim_cur < 256) {
    check.level = limit.rlim_cur < 64 ? CheckLevel::bad : CheckLevel::warn;
    check.remedy = "few trials can run at once; raise it with `ulimit -n 1024`";
  }
  return check;
}

Check program_check(const std::string& name, const std::string& program, const std::string& path,
                    CheckLevel missing, const std::string& remedy) {
  std::string found = find_program(program, path);
  if (found.empty()) return {name, "not found", missing, remedy};
  // Debian's mpirun is a link to Open MPI's or MPICH's: the end of the chain says which.
  char resolved[PATH_MAX];
  std::string value = found;
  if (::realpath(found.c_str(), resolved) != nullptr && found != resolved) {
    value += fmt::format(" ({})", resolved);
  }
  return {name, value, CheckLevel::ok, ""};
}

Check mpi_check(const std::string& path) {
  const std::vector<MpiLauncher> found = MpiAsker().launchers(path);
  if (found.empty()) {
    return {"MPI", "not found", CheckLevel::ok,
            "only needed for trials of several ranks: install openmpi-bin"};
  }
  Check check{"MPI", "", CheckLevel::ok, ""};
  MpiVariables variables;
  for (char** word = environ; *word != nullptr; ++word) {
    const std::string_view text(*word);
    variables.emplace(text.substr(0, text.find('=')), "");
  }
  for (const MpiLauncher& one : found) {
    check.value += fmt::format("{}{} at {}", check.value.empty() ? "" : ", ", one.name(), one.path);
    if (one.resolved != one.path) check.value += fmt::format(" ({})", one.resolved);
    if (&one == found.data() && found.size() > 1) check.value += ", the default";
    if (one.kind == MpiKind::unknown) {
      check.level = CheckLevel::warn;
      check.remedy = one.path + " --version tells no MPI that is known: it gets no flag but -n";
    } else if (check.remedy.empty() && refuses_root(one, variables, ::geteuid() == 0)) {
      check.level = CheckLevel::warn;
      check.remedy = root_remedy(one);
    }
  }
  return check;
}

Check terminal_check() {
  if (::isatty(STDOUT_FILENO) != 1) {
    return {"terminal", "none: plain lines instead of the live view", CheckLevel::ok, ""};
  }
  struct winsize size {};
  std::string value = "yes";
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    value = fmt::format("{} columns, {} lines", size.ws_col, size.ws_row);
  }
  const char* term = std::getenv("TERM");
  if (term == nullptr || std::string_view(term) == "dumb") {
    return {"terminal", value + ", TERM not set", CheckLevel::warn,
            "set TERM (`export TERM=xterm-256color`) for the live view"};
  }
  return {"terminal", value, CheckLevel::ok, ""};
}

}  // namespace

std::string find_program(const std::string& name, const std::string& path) {
  for (std::string_view folder : split(path, ':')) {
    std::string candidate = std::string(folder.empty() ? "." : folder) + "/" + name;
    struct stat info {};
    if (::stat(candidate.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
        ::access(candidate.c_str(), X_OK) == 0) {
      return candidate;
    }
  }
  return "";
}

std::string_view check_word(CheckLevel level) {
  switch (level) {
    case CheckLevel::ok:
      return "ok";
    case CheckLevel::warn:
      return "warn";
    case CheckLevel::bad:
      return "bad";
  }
  return "bad";
}

std::vector<Check> examine(const Machine& machine, const DoctorSource& source) {
  std::string path = source.path;
  if (path.empty()) {
    const char* own = std::getenv("PATH");
    path = own != nullptr ? own : "/usr/bin:/bin";
  }
  std::string folder = existing_folder(source.studies_dir);
  std::vector<Check> checks;
  checks.push_back(cores_check(machine));
  checks.push_back(memory_check(machine));
  checks.push_back(disk_check(folder));
  checks.push_back(file_system_check(folder));
  checks.push_back(descriptors_check());
  checks.push_back(program_check("python", "python3", path, CheckLevel::warn,
                                 "only needed by Python trials: install python3"));
  checks.push_back(mpi_check(path));
  checks.push_back(program_check("Slurm", "sbatch", path, CheckLevel::ok,
                                 "only needed for trials on a cluster, which are to come"));
  checks.push_back(terminal_check());
  return checks;
}

}  // namespace seedbed
