#include "shim/system.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>

#include "base/proc_stat.h"

namespace seedbed::shim {
namespace {

std::int64_t read_clock_ms(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

}  // namespace

std::int64_t monotonic_ms() { return read_clock_ms(CLOCK_MONOTONIC); }
std::int64_t wall_ms() { return read_clock_ms(CLOCK_REALTIME); }

std::string read_small_file(const char* path, std::size_t most) {
  const int file = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return {};
  std::string text(std::min<std::size_t>(most, 16384), '\0');
  std::size_t length = 0;
  for (;;) {
    if (length == text.size()) {
      if (length == most) break;
      text.resize(std::min(most, 2 * length));
    }
    const ssize_t got = ::read(file, text.data() + length, text.size() - length);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    length += static_cast<std::size_t>(got);
  }
  ::close(file);
  text.resize(length);
  return text;
}

int write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

int write_by_rename(int folder, const std::string& name, std::string_view bytes) {
  const std::string beside = name + ".new";
  const int file = ::openat(folder, beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return errno;
  int failed = write_all(file, bytes);
  if (::close(file) != 0 && failed == 0) failed = errno;
  if (failed == 0 && ::renameat(folder, beside.c_str(), folder, name.c_str()) != 0) failed = errno;
  if (failed != 0) ::unlinkat(folder, beside.c_str(), 0);
  return failed;
}

const char* error_words(int error) {
  const char* words = ::strerrordesc_np(error);
  return words != nullptr ? words : "unknown error";
}

ProcessIdentity identity_of_self() {
  ProcessIdentity self;
  self.pid = ::getpid();
  self.start_ticks = start_ticks_of(::getpid());
  self.boot_id = read_small_file("/proc/sys/kernel/random/boot_id");
  while (self.boot_id.ends_with('\n')) self.boot_id.pop_back();
  char host[256] = {};
  self.host = ::gethostname(host, sizeof host - 1) == 0 ? host : "localhost";
  return self;
}

std::uint64_t start_ticks_of(pid_t pid) {
  char path[40];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  const auto stat = parse_proc_stat(read_small_file(path));
  return stat ? stat->start_ticks : 0;
}

}  // namespace seedbed::shim
