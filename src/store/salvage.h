#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace seedbed {

/// Makes a sound study.db out of what can still be read of a damaged one. `problem` says what was
/// found. The damaged files stay beside it as study.db.damaged-N (and -wal, -journal). Gives what
/// was lost, for people. An error with code `damaged` when nothing can be read; then nothing was
/// changed. May be cut short at any moment: the next start finishes or repeats it.
[[nodiscard]] Result<std::vector<std::string>> salvage(const std::string& study_dir,
                                                       const std::string& problem);

/// Puts a salvaged database in its place if a salvage was cut short just before that.
[[nodiscard]] Status finish_salvage(const std::string& study_dir);

}  // namespace seedbed
