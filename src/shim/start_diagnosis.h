#pragma once

#include <string>

#include "protocol/message.h"

// Why a program could not be started, in words: the system gives one number for many causes
// (ENOENT also for a missing interpreter of a script that is there).

namespace seedbed::shim {

struct Program {
  std::string path;  ///< for execve, absolute or relative to the working folder
  std::string why;   ///< not empty: it was not found
};

/// argv[0], sought along the PATH of the order's environment unless it has a slash.
[[nodiscard]] Program find_program(const StartOrder& order);

[[nodiscard]] std::string explain_chdir(const StartOrder& order, int error);
[[nodiscard]] std::string explain_exec(const StartOrder& order, const std::string& path, int error);

/// For a main process that ended with 126 or 127: the cause, when the program is a script whose
/// first line sends `env` after something that is not there (`python3\r`). Empty otherwise.
[[nodiscard]] std::string explain_exit_127(const StartOrder& order);

}  // namespace seedbed::shim
