#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/text.h"
#include "cli/invocation.h"
#include "cli/view.h"
#include "env/posix/identity.h"
#include "env/posix/study_lock.h"
#include "results/study_reader.h"

namespace seedbed {
namespace {

Result<int> attach(const Invocation& invocation) {
  auto dir = find_study(invocation);
  if (!dir) return propagate(dir);
  const auto holder = StudyLock::holder(*dir);
  if (!holder) {
    auto reader = StudyReader::open(*dir);
    if (!reader) return propagate(reader);
    auto status = reader->status();
    if (!status) return propagate(status);
    std::printf("%s: no controller runs; seedbed status %s tells how it ended\n",
                study_name(*dir).c_str(), shell_quote(study_word(*dir)).c_str());
    return status->exit_code_now(false);
  }
  if (holder->host != host_name()) {
    return fail(ErrorCode::machine,
                fmt::format("the controller runs on {}; attach there", holder->host));
  }
  ViewTarget target;
  target.study_dir = *dir;
  target.name = study_name(*dir);
  target.controller = static_cast<pid_t>(holder->pid);
  return watch_study(target);
}

}  // namespace

void add_attach_command(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("attach", "The live view of a running study again");
  add_study_options(*command, invocation);
  command->footer(
      "Ctrl-C and TERM are passed on to the run, as steps of its ladder (stop, kill, leave); the "
      "key\n"
      "q, Ctrl-Z or a closed terminal end the view alone.\n"
      "Example:\n  seedbed attach digits");
  command->callback([&invocation] { invocation.action = [&] { return attach(invocation); }; });
}

}  // namespace seedbed
