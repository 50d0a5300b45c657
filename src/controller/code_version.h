#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace seedbed {

/// Which code a run uses (case H9).
struct CodeVersion {
  std::string git_commit;  ///< empty: not a git checkout, or no git
  bool git_dirty = false;  ///< tracked files differ from the commit
};

/// Asks git about the folder; blank when there is no answer within a second.
[[nodiscard]] CodeVersion code_version(const std::string& folder);

/// Content hashes of program files, read again only when a file's identity, size or time changed.
class FileHashes {
 public:
  /// 16 hex digits, or empty when the file cannot be read or is larger than 64 MiB.
  [[nodiscard]] std::string hash(const std::string& path);

 private:
  struct Known {
    std::uint64_t device = 0, inode = 0, size = 0;
    std::int64_t modified_ns = 0;
    std::string hash;
  };
  std::map<std::string, Known> known_;
};

/// Whether an attempt that is about to run uses other code than an earlier one of the study, in
/// words; nothing when it does not, or cannot be told. Both are `details_json` of an attempt
/// (docs/record.md).
[[nodiscard]] std::optional<std::string> code_difference(const std::string& earlier,
                                                         const std::string& now);

/// Copies the tracked files of the git checkout around `folder` to `target` (`snapshot: true`), as
/// they are now, uncommitted changes included. Returns the folder in the copy that corresponds to
/// `folder`. An existing copy is used as it is: resuming goes on with the same code.
[[nodiscard]] Result<std::string> take_snapshot(const std::string& folder,
                                                const std::string& target);

}  // namespace seedbed
