#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace seedbed {

/// Tries the locks that SQLite relies on, on a file of its own in the folder: taking one must work,
/// and a second taker must be refused. The error names the folder, the cause and the remedy.
[[nodiscard]] Status check_locks(const std::string& folder);

/// What `check_locks` makes of the answers; apart, so that disks without locks can be described.
/// `first` and `second`: errno of the first and the second taker, 0 for success.
[[nodiscard]] Status judge_locks(const std::string& folder, int first, int second);

/// Makes the names in a folder survive a power cut.
[[nodiscard]] Status sync_folder(const std::string& folder);

[[nodiscard]] bool file_exists(const std::string& path);
/// 0 when it is not there.
[[nodiscard]] std::uint64_t file_size(const std::string& path);

}  // namespace seedbed
