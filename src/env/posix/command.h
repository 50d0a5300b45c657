#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace seedbed {

struct CommandOutput {
  int exit_code = 0;   ///< 128 + signal when killed by one
  std::string output;  ///< standard output, alone unless asked otherwise
};

/// Runs a helper program (git, say) to its end and collects its standard output, at most
/// `output_limit` bytes; killed after `timeout`. No shell; standard error is thrown away, standard
/// input is empty. Blocks: not for the loop's thread once trials run.
[[nodiscard]] Result<CommandOutput> run_command(const std::vector<std::string>& argv,
                                                const std::string& working_dir,
                                                Milliseconds timeout,
                                                std::size_t output_limit = 16 << 20);

struct CommandOptions {
  std::string working_dir = ".";
  Milliseconds timeout{1000};
  std::size_t output_limit = 16 << 20;        ///< bytes
  std::vector<std::string> environment = {};  ///< `NAME=value`; empty: our own
  bool with_errors = false;                   ///< standard error too, in order
  /// Becomes true when nobody waits for the answer any more: then it is killed soon.
  const std::atomic<bool>* given_up = nullptr;
};

/// The same with more to say. It is killed with its process group.
[[nodiscard]] Result<CommandOutput> run_command(const std::vector<std::string>& argv,
                                                const CommandOptions& options);

}  // namespace seedbed
