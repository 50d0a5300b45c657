#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace seedbed {

/// Longest path a Unix socket can have (sun_path less its final zero).
inline constexpr std::size_t kSocketPathLimit = 107;

/// The folder for the sockets of a study: BASE/HASH, where BASE is `$XDG_RUNTIME_DIR/seedbed`, or
/// `/tmp/seedbed-UID` where that is not ours, missing, or too long for sockets. HASH is made from
/// the study's canonical path: two names of one study share it. Both are made with mode 0700; one
/// that belongs to somebody else, or that others may enter, is refused: others could speak to our
/// shims.
[[nodiscard]] Result<std::string> study_runtime_dir(const std::string& study_dir);

/// The same with the surroundings given: `xdg_runtime_dir` may be empty.
[[nodiscard]] Result<std::string> study_runtime_dir(const std::string& study_dir,
                                                    const std::string& xdg_runtime_dir,
                                                    const std::string& temporary_dir);

/// 16 hexadecimal digits for the study's canonical path.
[[nodiscard]] std::string study_hash(const std::string& study_dir);

}  // namespace seedbed
