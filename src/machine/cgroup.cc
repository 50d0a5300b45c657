#include "machine/cgroup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cmath>
#include <vector>

#include "base/text.h"

namespace seedbed {
namespace {

constexpr std::size_t kFileLimit = 64 * 1024;
// The kernel rounds "no limit" of version 1 to a page below 2^63; nothing real comes near it.
constexpr std::uint64_t kNoMemoryLimit = std::uint64_t{1} << 60;
constexpr std::int64_t kLongestPeriod = 1'000'000'000'000;

std::optional<std::int64_t> parse_integer(std::string_view text) {
  text = trim(text);
  std::int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> ratio(std::optional<std::int64_t> quota, std::optional<std::int64_t> period) {
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  if (*period > kLongestPeriod) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  std::size_t at = 0;
  while (at < line.size()) {
    std::size_t begin = line.find_first_not_of(" \t\n", at);
    if (begin == std::string_view::npos) break;
    std::size_t end = line.find_first_of(" \t\n", begin);
    if (end == std::string_view::npos) end = line.size();
    words.push_back(line.substr(begin, end - begin));
    at = end;
  }
  return words;
}

// mountinfo writes space, tab, newline and backslash as \ooo.
std::string unescape_mount(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto digit = [&](std::size_t k) { return k < text.size() && text[k] >= '0' && text[k] <= '7'; };
    if (text[i] == '\\' && digit(i + 1) && digit(i + 2) && digit(i + 3)) {
      int code = (text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0');
      out += static_cast<char>(code);
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

bool has_word(std::string_view list, std::string_view word) {
  for (std::string_view one : split(list, ',')) {
    if (one == word) return true;
  }
  return false;
}

struct Mount {
  std::string inside;  // what part of the hierarchy is mounted
  std::string point;   // where
};

// The mount of the v2 hierarchy (controller empty) or of a v1 controller.
std::optional<Mount> find_mount(const std::string& mountinfo, std::string_view controller) {
  for (std::string_view line : split(mountinfo, '\n')) {
    auto words = words_of(line);
    std::size_t dash = 6;
    while (dash < words.size() && words[dash] != "-") ++dash;
    if (dash + 1 >= words.size()) continue;
    bool matches = controller.empty() ? words[dash + 1] == "cgroup2"
                                      : words[dash + 1] == "cgroup" && dash + 3 < words.size() &&
                                            has_word(words[dash + 3], controller);
    if (matches) return Mount{unescape_mount(words[3]), unescape_mount(words[4])};
  }
  return std::nullopt;
}

// Our group's path in the hierarchy, from /proc/self/cgroup.
std::optional<std::string> find_path(const std::string& cgroups, std::string_view controller) {
  for (std::string_view line : split(cgroups, '\n')) {
    std::size_t first = line.find(':');
    if (first == std::string_view::npos) continue;
    std::size_t second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    std::string_view controllers = line.substr(first + 1, second - first - 1);
    bool matches = controller.empty() ? controllers.empty() && line.substr(0, first) == "0"
                                      : has_word(controllers, controller);
    if (matches) return std::string(line.substr(second + 1));
  }
  return std::nullopt;
}

bool is_folder(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// The folders from our own group up to the top of what is mounted. In a container the mounted part
// may begin below the top, or our path may not be visible at all: then the mount point is all
// there is.
std::vector<std::string> folders_upwards(const std::string& root, const Mount& mount,
                                         const std::string& path) {
  std::string top = root + mount.point;
  std::string below = path;
  if (mount.inside != "/") {
    bool inside = below.starts_with(mount.inside) &&
                  (below.size() == mount.inside.size() || below[mount.inside.size()] == '/');
    below = inside ? below.substr(mount.inside.size()) : "";
  }
  if (below.find("..") != std::string::npos) below.clear();
  while (!below.empty() && below.back() == '/') below.pop_back();
  std::vector<std::string> folders;
  while (!below.empty()) {
    if (is_folder(top + below)) folders.push_back(top + below);
    std::size_t slash = below.rfind('/');
    below.resize(slash == std::string::npos ? 0 : slash);
  }
  folders.push_back(top);
  return folders;
}

std::vector<std::string> folders_of(const std::string& root, const std::string& mountinfo,
                                    const std::string& cgroups, std::string_view controller) {
  auto path = find_path(cgroups, controller);
  auto mount = find_mount(mountinfo, controller);
  if (!path || !mount) return {};
  return folders_upwards(root, *mount, *path);
}

void take_cpu(CgroupLimits& limits, std::optional<double> quota, const std::string& file) {
  if (!quota || (limits.cpu_quota && *limits.cpu_quota <= *quota)) return;
  limits.cpu_quota = quota;
  limits.cpu_quota_file = file;
}

void take_memory(CgroupLimits& limits, const std::string& file) {
  auto bytes = parse_memory_limit(read_small_file(file).value_or(""));
  if (!bytes || (limits.memory && *limits.memory <= *bytes)) return;
  limits.memory = bytes;
  limits.memory_file = file;
}

}  // namespace

std::optional<std::string> read_small_file(const std::string& path) {
  // A pipe in the place of a file must not block us.
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return std::nullopt;
  struct stat info {};
  std::optional<std::string> text;
  if (::fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode)) {
    text.emplace();
    char buffer[4096];
    while (text->size() < kFileLimit) {
      ssize_t count = ::read(descriptor, buffer, sizeof buffer);
      if (count <= 0) break;
      text->append(buffer, static_cast<std::size_t>(count));
    }
  }
  ::close(descriptor);
  return text;
}

std::optional<double> parse_cpu_max(std::string_view text) {
  auto words = words_of(text);
  if (words.empty() || words.size() > 2) return std::nullopt;
  // The period may be left out; the kernel's default is 100 ms.
  return ratio(parse_integer(words[0]), words.size() == 2 ? parse_integer(words[1]) : 100'000);
}

std::optional<double> parse_cfs(std::string_view quota, std::string_view period) {
  return ratio(parse_integer(quota), parse_integer(period));
}

std::optional<std::uint64_t> parse_memory_limit(std::string_view text) {
  auto bytes = parse_integer(text);
  if (!bytes || *bytes <= 0) return std::nullopt;
  auto limit = static_cast<std::uint64_t>(*bytes);
  if (limit >= kNoMemoryLimit) return std::nullopt;
  return limit;
}

CgroupLimits read_cgroup_limits(const std::string& root) {
  CgroupLimits limits;
  std::string mountinfo = read_small_file(root + "/proc/self/mountinfo").value_or("");
  std::string cgroups = read_small_file(root + "/proc/self/cgroup").value_or("");

  for (const std::string& folder : folders_of(root, mountinfo, cgroups, "")) {
    take_cpu(limits, parse_cpu_max(read_small_file(folder + "/cpu.max").value_or("")),
             folder + "/cpu.max");
    take_memory(limits, folder + "/memory.max");
  }
  for (const std::string& folder : folders_of(root, mountinfo, cgroups, "cpu")) {
    take_cpu(limits,
             parse_cfs(read_small_file(folder + "/cpu.cfs_quota_us").value_or(""),
                       read_small_file(folder + "/cpu.cfs_period_us").value_or("")),
             folder + "/cpu.cfs_quota_us");
  }
  for (const std::string& folder : folders_of(root, mountinfo, cgroups, "memory")) {
    take_memory(limits, folder + "/memory.limit_in_bytes");
  }
  return limits;
}

}  // namespace seedbed
