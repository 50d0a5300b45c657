#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/exit_record.h"

// The few calls to the system that several parts of the shim share.

namespace seedbed::shim {

[[nodiscard]] std::int64_t monotonic_ms();
[[nodiscard]] std::int64_t wall_ms();

/// The beginning of a file, at most `most` bytes; empty when it cannot be read.
[[nodiscard]] std::string read_small_file(const char* path, std::size_t most = 16384);

/// 0 or the errno.
[[nodiscard]] int write_all(int descriptor, std::string_view bytes);

/// Writes the file `name` of an open folder by a file beside it and a rename. 0 or the errno.
[[nodiscard]] int write_by_rename(int folder, const std::string& name, std::string_view bytes);

[[nodiscard]] const char* error_words(int error);

[[nodiscard]] ProcessIdentity identity_of_self();

/// Field 22 of /proc/PID/stat; 0 when it cannot be read.
[[nodiscard]] std::uint64_t start_ticks_of(pid_t pid);

}  // namespace seedbed::shim
