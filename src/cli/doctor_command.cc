#include <CLI/CLI.hpp>

#include "cli/invocation.h"
#include "cli/print_table.h"
#include "machine/doctor.h"

namespace seedbed {
namespace {

Style style_of(CheckLevel level) {
  switch (level) {
    case CheckLevel::ok:
      return Style::good;
    case CheckLevel::warn:
      return Style::warning;
    case CheckLevel::bad:
      return Style::bad;
  }
  return Style::plain;
}

Result<int> doctor(const Invocation& invocation) {
  DoctorSource source;
  source.studies_dir = invocation.dir;
  Table table;
  table.columns = {{"check"}, {"level", ""}, {"value"}, {"remedy"}};
  for (const Check& check : examine(read_machine(), source)) {
    table.rows.push_back({Cell::text(check.name),
                          Cell::text(std::string(check_word(check.level)), style_of(check.level)),
                          Cell::text(check.value), Cell::text(check.remedy)});
  }
  print_table(table, invocation.output);
  return 0;
}

}  // namespace

void add_doctor_command(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("doctor", "What seedbed sees of this machine");
  command->add_option("--dir", invocation.dir, "Folder of the studies")->capture_default_str();
  add_output_option(*command, invocation);
  command->footer("Example:\n  seedbed doctor --output json");
  command->callback([&invocation] { invocation.action = [&] { return doctor(invocation); }; });
}

}  // namespace seedbed
