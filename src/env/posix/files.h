#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace seedbed {

/// Owns a file descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      reset();
      number_ = std::exchange(other.number_, -1);
    }
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { reset(); }

  [[nodiscard]] int get() const { return number_; }
  [[nodiscard]] explicit operator bool() const { return number_ >= 0; }
  [[nodiscard]] int release() { return std::exchange(number_, -1); }
  void reset();

 private:
  int number_ = -1;
};

/// `No such file or directory`: the words of an errno value.
[[nodiscard]] std::string errno_words(int error);

/// An Error of the machine: `PATH: WORDS`. A full disk and a read-only one get a remedy.
[[nodiscard]] Error file_error(std::string_view path, int error);

/// The whole file; refuses more than `limit` bytes.
[[nodiscard]] Result<std::string> read_file(const std::string& path,
                                            std::size_t limit = std::size_t{64} << 20);

/// Replaces a file in one step: readers see the old content or the new, also after a death of ours
/// between the two (written beside it, then renamed). Not synced. Mode 0644 before the umask.
[[nodiscard]] Status write_file(const std::string& path, std::string_view content);

/// Writes a file that must not be there yet, in place: for one that nobody looks at before this
/// returns. Removed again on an error; the death of the process may leave a part of it.
[[nodiscard]] Status write_new_file(const std::string& path, std::string_view content);

/// Makes a folder that must not exist yet: true if it was made, false if the name was taken. So the
/// creation is the lock. The parent must exist.
[[nodiscard]] Result<bool> make_directory(const std::string& path, unsigned mode = 0777);

/// Makes a folder and its parents, as far as they are missing.
[[nodiscard]] Status make_directories(const std::string& path);

/// Whether anything has this name (a dangling link counts).
[[nodiscard]] bool path_exists(const std::string& path);

/// Absolute, without links, `.` and `..`, as far as the path exists.
[[nodiscard]] std::string canonical_path(const std::string& path);

}  // namespace seedbed
