#include <CLI/CLI.hpp>
#include <memory>

#include "cli/plan.h"
#include "cli/run_options.h"

namespace seedbed {

void add_plan_command(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("plan", "Show what a run would do; start nothing");
  add_run_options(*command, invocation, *options);
  command->footer("Example:\n  seedbed plan sweep.yaml lr=1e-4,1e-3");
  command->callback([&invocation, options] {
    invocation.action = [&invocation, options] { return print_plan(invocation, *options); };
  });
}

}  // namespace seedbed
