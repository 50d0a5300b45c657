#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace seedbed {

struct CommandOutput {
  int exit_code = 0;   ///< 128 + signal when killed by one
  std::string output;  ///< standard output alone
};

/// Runs a helper program (git, say) to its end and collects its standard output, at most
/// `output_limit` bytes; killed after `timeout`. No shell; standard error is thrown away, standard
/// input is empty. Blocks: not for the loop's thread once trials run. `given_up`: becomes true when
/// nobody waits for the answer any more; then the program is killed soon.
[[nodiscard]] Result<CommandOutput> run_command(const std::vector<std::string>& argv,
                                                const std::string& working_dir,
                                                Milliseconds timeout,
                                                std::size_t output_limit = 16 << 20,
                                                const std::atomic<bool>* given_up = nullptr);

}  // namespace seedbed
