#include "store/file_system.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "env/posix/files.h"

namespace seedbed {
namespace {

int take_lock(int descriptor, int command) {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = 0;
  lock.l_len = 1;
  return ::fcntl(descriptor, command, &lock) == 0 ? 0 : errno;
}

}  // namespace

Status judge_locks(const std::string& folder, int first, int second) {
  constexpr const char* kRemedy =
      "choose a folder on a local disk with --dir, or have the network disk mounted with locks";
  if (first != 0) {
    return fail(ErrorCode::machine,
                fmt::format("file locks do not work in {} ({}), so the records would not be safe "
                            "there; {}",
                            folder, errno_words(first), kRemedy));
  }
  if (second == 0) {
    return fail(ErrorCode::machine,
                fmt::format("file locks have no effect in {} (two takers got the same one), so the "
                            "records would not be safe there; {}",
                            folder, kRemedy));
  }
  return {};
}

Status check_locks(const std::string& folder) {
  const std::string path = fmt::format("{}/.lock-probe-{}", folder, ::getpid());
  const Descriptor one(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  const int error = errno;
  if (one.get() < 0) {
    return fail(ErrorCode::machine, fmt::format("cannot write in {}: {}; check its permissions and "
                                                "the room on the disk, or choose another folder "
                                                "with --dir",
                                                folder, errno_words(error)));
  }
  const Descriptor two(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  ::unlink(path.c_str());
  const int first = take_lock(one.get(), F_SETLK);
  // A lock of the open file description excludes locks of a process, even of the same one.
  const int second = two.get() < 0 ? errno : take_lock(two.get(), F_OFD_SETLK);
  return judge_locks(folder, first, second);
}

Status sync_folder(const std::string& folder) {
  const Descriptor directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems cannot sync a folder; their names are then as safe as they get.
  if (directory.get() < 0 || (::fsync(directory.get()) != 0 && errno != EINVAL)) {
    return fail(ErrorCode::machine, fmt::format("cannot sync {}: {}", folder, errno_words(errno)));
  }
  return {};
}

bool file_exists(const std::string& path) {
  struct stat info = {};
  return ::stat(path.c_str(), &info) == 0;
}

std::uint64_t file_size(const std::string& path) {
  struct stat info = {};
  return ::stat(path.c_str(), &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
}

}  // namespace seedbed
