#include "env/posix/runtime_dir.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/random.h"
#include "env/posix/files.h"

namespace seedbed {
namespace {

constexpr std::size_t kLongestName = 40;  // `/HASH/` and the longest name of a socket in it

// A folder of ours that nobody else may enter, made if it is missing. lstat: a link planted in
// /tmp by somebody else is not followed.
Status ensure_private(const std::string& path) {
  if (auto made = make_directory(path, 0700); !made) return propagate(made);
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return tl::unexpected(file_error(path, errno));
  if (!S_ISDIR(info.st_mode)) {
    return fail(ErrorCode::machine, path + ": is not a folder; remove it, or set XDG_RUNTIME_DIR");
  }
  if (info.st_uid != ::geteuid()) {
    return fail(ErrorCode::machine,
                fmt::format("{}: belongs to user {}, not to you, so sockets there are not safe; "
                            "set XDG_RUNTIME_DIR to a folder of your own",
                            path, info.st_uid));
  }
  if ((info.st_mode & 077) != 0) {
    return fail(ErrorCode::machine,
                fmt::format("{}: others may enter it (mode {:04o}), so sockets there are not safe; "
                            "chmod 700 {}",
                            path, info.st_mode & 07777U, path));
  }
  return {};
}

bool is_own_folder(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == ::geteuid() &&
         ::access(path.c_str(), W_OK | X_OK) == 0;
}

}  // namespace

std::string study_hash(const std::string& study_dir) {
  return fmt::format("{:016x}", hash_text(canonical_path(study_dir)));
}

Result<std::string> study_runtime_dir(const std::string& study_dir,
                                      const std::string& xdg_runtime_dir,
                                      const std::string& temporary_dir) {
  const std::string hash = study_hash(study_dir);
  if (!xdg_runtime_dir.empty() && xdg_runtime_dir[0] == '/' && is_own_folder(xdg_runtime_dir)) {
    const std::string base = xdg_runtime_dir + "/seedbed";
    if (base.size() + kLongestName <= kSocketPathLimit) {
      Status usable = ensure_private(base);
      if (usable) usable = ensure_private(base + "/" + hash);
      if (usable) return base + "/" + hash;
    }
  }
  const std::string base = fmt::format("{}/seedbed-{}", temporary_dir, ::geteuid());
  if (Status usable = ensure_private(base); !usable) return propagate(usable);
  if (Status usable = ensure_private(base + "/" + hash); !usable) return propagate(usable);
  return base + "/" + hash;
}

Result<std::string> study_runtime_dir(const std::string& study_dir) {
  const char* xdg = std::getenv("XDG_RUNTIME_DIR");
  return study_runtime_dir(study_dir, xdg != nullptr ? xdg : "", "/tmp");
}

}  // namespace seedbed
