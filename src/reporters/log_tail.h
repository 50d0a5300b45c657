#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reporters/make_reporter.h"

namespace seedbed {

/// The last lines of a text as a person would see them: of a line that was written over with
/// carriage returns the last state, empty lines at the end left out. What an mpirun says when a
/// rank has failed is left out too, unless it is all there is: the cause stands above it. Bytes
/// unchanged otherwise.
[[nodiscard]] std::vector<std::string> last_lines(std::string_view text, std::size_t lines);

/// Reads STUDY_DIR/trials/FOLDER/attempt-N.log, at most its last 32 KiB.
[[nodiscard]] LogTail make_log_tail(std::string study_dir);

}  // namespace seedbed
