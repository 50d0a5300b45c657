#include "env/posix/files.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace seedbed {
namespace {

Status write_all(int descriptor, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t written = ::write(descriptor, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return tl::unexpected(file_error(path, errno));
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace

void Descriptor::reset() {
  if (number_ >= 0) ::close(number_);
  number_ = -1;
}

std::string errno_words(int error) {
  const char* words = ::strerrordesc_np(error);
  return words != nullptr ? words : "error " + std::to_string(error);
}

Error file_error(std::string_view path, int error) {
  std::string message = std::string(path) + ": " + errno_words(error);
  if (error == ENOSPC || error == EDQUOT) message += "; free some space and run again";
  if (error == EROFS) message += "; choose a folder that can be written with --dir";
  if (error == EMFILE) message += "; raise the limit (ulimit -n) or use fewer --slots";
  return Error{ErrorCode::machine, std::move(message)};
}

Result<std::string> read_file(const std::string& path, std::size_t limit) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return tl::unexpected(file_error(path, errno));
  std::string content;
  char buffer[16384];
  for (;;) {
    const ssize_t got = ::read(file.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return tl::unexpected(file_error(path, errno));
    if (got == 0) return content;
    if (content.size() + static_cast<std::size_t>(got) > limit) {
      return fail(ErrorCode::machine,
                  path + ": larger than " + std::to_string(limit) + " bytes, which is refused");
    }
    content.append(buffer, static_cast<std::size_t>(got));
  }
}

Status write_file(const std::string& path, std::string_view content) {
  std::string beside = path + ".XXXXXX";
  const Descriptor file(::mkostemp(beside.data(), O_CLOEXEC));
  if (!file) return tl::unexpected(file_error(path, errno));
  const mode_t mask = ::umask(0);
  ::umask(mask);
  Status written = write_all(file.get(), content, path);
  if (written && ::fchmod(file.get(), 0644 & ~mask) != 0) {
    written = tl::unexpected(file_error(path, errno));
  }
  if (written && ::rename(beside.c_str(), path.c_str()) != 0) {
    written = tl::unexpected(file_error(path, errno));
  }
  if (!written) ::unlink(beside.c_str());
  return written;
}

Status write_new_file(const std::string& path, std::string_view content) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!file) return tl::unexpected(file_error(path, errno));
  Status written = write_all(file.get(), content, path);
  if (!written) ::unlink(path.c_str());
  return written;
}

Result<bool> make_directory(const std::string& path, unsigned mode) {
  if (::mkdir(path.c_str(), mode) == 0) return true;
  if (errno == EEXIST) return false;
  return tl::unexpected(file_error(path, errno));
}

Status make_directories(const std::string& path) {
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  if (failed) return tl::unexpected(file_error(path, failed.value()));
  return {};
}

bool path_exists(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

std::string canonical_path(const std::string& path) {
  std::error_code failed;
  std::filesystem::path found = std::filesystem::weakly_canonical(path, failed);
  if (failed) found = std::filesystem::absolute(path, failed).lexically_normal();
  std::string text = failed ? path : found.string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

}  // namespace seedbed
