#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "base/text.h"
#include "cli/invocation.h"
#include "cli/option_checks.h"
#include "cli/print_table.h"
#include "env/posix/files.h"
#include "metrics/explain.h"

namespace seedbed {
namespace {

struct CaptureTestOptions {
  std::string file;
  std::vector<std::string> patterns;
};

Result<int> capture_test(const Invocation& invocation, const CaptureTestOptions& options) {
  auto text = read_file(options.file, std::size_t{1} << 30);
  if (!text) return tl::unexpected(Error{ErrorCode::usage, text.error().message});
  std::vector<CaptureSpec> capture;
  for (const std::string& pattern : options.patterns) capture.push_back({"", pattern, ""});
  auto explained = explain_lines(*text, capture);
  if (!explained) return propagate(explained);
  Table table;
  table.columns = {
      {"line", "line", Align::right},   {"rule"}, {"metric"}, {"step", "step", Align::right},
      {"value", "value", Align::right}, {"text"}};
  for (const ExplainedLine& line : explained->lines) {
    for (const ExplainedPoint& point : line.points) {
      table.rows.push_back({Cell::integer(static_cast<std::int64_t>(line.number)),
                            Cell::text(point.rule), Cell::text(point.point.name),
                            Cell::number(point.point.step), Cell::number(point.point.value),
                            Cell::text(one_line(line.text, 200))});
    }
  }
  print_table(table, invocation.output);
  if (invocation.output != "text") return 0;
  std::vector<std::string> names;
  for (const std::string& name : explained->names) names.push_back(one_line(name));
  std::printf("%llu of %llu line%s give%s metrics: %s\n",
              static_cast<unsigned long long>(explained->lines_matched),
              static_cast<unsigned long long>(explained->lines_read),
              explained->lines_read == 1 ? "" : "s", explained->lines_matched == 1 ? "s" : "",
              names.empty() ? "none" : join(names, ", ").c_str());
  for (std::size_t i = 0; i < options.patterns.size(); ++i) {
    const auto matches = static_cast<unsigned long long>(explained->pattern_matches[i]);
    std::printf("pattern %zu matches %llu line%s: %s\n", i + 1, matches, matches == 1 ? "" : "s",
                one_line(options.patterns[i], 200).c_str());
  }
  for (const std::string& note : explained->notes)
    std::printf("note: %s\n", one_line(note).c_str());
  return 0;
}

}  // namespace

void add_capture_test_command(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<CaptureTestOptions>();
  CLI::App* command =
      app.add_subcommand("capture-test", "Which lines of a log match which metric patterns");
  command->add_option("FILE", options->file, "A log")->required();
  repeatable(command->add_option("--pattern", options->patterns,
                                 "A capture pattern, as in the sweep file; may be repeated"));
  add_output_option(*command, invocation);
  command->footer("Example:\n  seedbed capture-test run.log --pattern 'acc=(?P<acc>\\S+)'");
  command->callback([&invocation, options] {
    invocation.action = [&invocation, options] { return capture_test(invocation, *options); };
  });
}

}  // namespace seedbed
