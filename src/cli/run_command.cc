#include <CLI/CLI.hpp>
#include <memory>

#include "cli/plan.h"
#include "cli/run_options.h"
#include "cli/run_output.h"

namespace seedbed {
namespace {

Result<int> run(const Invocation& invocation, const RunOptions& options) {
  if (options.dry_run) return print_plan(invocation, options);
  auto request = read_run(invocation, options);
  if (!request) return propagate(request);
  if (Status size = check_size(request->spec, options.yes); !size) return propagate(size);
  return run_and_show(std::move(*request), invocation, options.detach);
}

}  // namespace

void add_run_command(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("run", "Run a study, or what is missing of it");
  add_run_options(*command, invocation, *options);
  command->add_flag("--detach", options->detach, "Run in the background");
  command->add_flag("--dry-run", options->dry_run, "Show what would run (= seedbed plan)");
  command->footer(
      "Example:\n"
      "  seedbed run lr=1e-3,1e-2 seed=0..4 -- python3 train.py   or   seedbed run sweep.yaml");
  command->callback([&invocation, options] {
    invocation.action = [&invocation, options] { return run(invocation, *options); };
  });
}

}  // namespace seedbed
