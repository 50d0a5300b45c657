#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/local_time.h"
#include "cli/invocation.h"
#include "cli/print_table.h"
#include "env/posix/study_lock.h"
#include "results/study_reader.h"

namespace seedbed {
namespace {

std::string activity(const ListedStudy& study, bool text) {
  if (!study.error.empty()) {
    // People get a table that fits: `status` tells the rest.
    return text ? "unreadable; see status" : "unreadable: " + study.error;
  }
  if (auto holder = StudyLock::holder(study.path)) {
    return "running, pid " + std::to_string(holder->pid) + " on " + holder->host;
  }
  if (study.status->finished()) return "finished";
  const auto& run = study.status->last_run;
  const bool broken_off = run && (!run->ended_at || run->exit_code >= 128);
  return broken_off ? "interrupted" : "unfinished";
}

Result<int> list(const Invocation& invocation) {
  auto studies = list_studies(invocation.dir);
  if (!studies) return propagate(studies);
  const bool text = invocation.output == "text";
  // A column that is seldom needed makes the table too wide for people.
  const bool interrupted =
      !text || std::any_of(studies->begin(), studies->end(), [](const ListedStudy& study) {
        return study.status && study.status->interrupted() > 0;
      });
  Table table;
  table.columns = {{"study"}, {"activity"}, {"total", "trials", Align::right}};
  for (const char* state : {"completed", "running", "waiting", "failed", "pruned", "cancelled"}) {
    table.columns.push_back({state, state, Align::right});
  }
  if (interrupted) table.columns.push_back({"interrupted", "interrupted", Align::right});
  table.columns.push_back({"changed"});
  for (const ListedStudy& study : *studies) {
    std::vector<Cell> row = {Cell::text(study.name), Cell::text(activity(study, text))};
    if (study.status) {
      const StudyStatus& status = *study.status;
      row.push_back(Cell::integer(static_cast<std::int64_t>(status.total())));
      for (const TrialState state :
           {TrialState::completed, TrialState::running, TrialState::waiting, TrialState::failed,
            TrialState::pruned, TrialState::cancelled}) {
        std::uint64_t count = status.count(state);
        if (state == TrialState::waiting) count += status.unproposed.value_or(0);
        if (state == TrialState::running) count -= status.interrupted();
        row.push_back(Cell::integer(static_cast<std::int64_t>(count)));
      }
      if (interrupted) {
        row.push_back(Cell::integer(static_cast<std::int64_t>(status.interrupted())));
      }
      row.push_back(!status.changed_at ? Cell()
                    : text             ? Cell::text(format_local_time(*status.changed_at))
                                       : Cell::text(format_timestamp(*status.changed_at)));
    }
    table.rows.push_back(std::move(row));
  }
  print_table(table, invocation.output);
  return 0;
}

}  // namespace

void add_list_command(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("list", "The studies here, a line each");
  command->add_option("--dir", invocation.dir, "Folder of the studies")->capture_default_str();
  add_output_option(*command, invocation);
  command->footer("Example:\n  seedbed list --dir /data/studies");
  command->callback([&invocation] { invocation.action = [&] { return list(invocation); }; });
}

}  // namespace seedbed
