#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/invocation.h"
#include "machine/gpus.h"

// What `ask_gpus` starts: the question to the drivers in a process of its own, which may hang and
// be killed. Not for people; `seedbed doctor` is.

namespace seedbed {

void add_gpu_report_command(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand(kGpuReportCommand, "The GPUs as JSON");
  command->group("");  // not in the help
  command->callback([&invocation] {
    invocation.action = []() -> Result<int> {
      std::puts(gpu_report_json(read_gpus()).c_str());
      return 0;
    };
  });
}

}  // namespace seedbed
