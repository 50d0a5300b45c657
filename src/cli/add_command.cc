#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "cli/run_options.h"
#include "controller/control_handler.h"
#include "controller/proposal_source.h"
#include "controller/record_only.h"
#include "env/posix/files.h"
#include "env/posix/study_lock.h"
#include "samplers/sampler.h"

namespace seedbed {
namespace {

struct AddOptions {
  std::vector<std::string> words;
  std::optional<std::uint64_t> limit;
};

/// The points that the words give over the study's own file: a word replaces a parameter's values,
/// the others keep theirs.
Result<std::vector<Point>> points_to_add(const std::string& study_dir, const AddOptions& options) {
  StudySources sources;
  sources.file_name = study_dir + "/sweep.yaml";
  auto text = read_file(sources.file_name);
  if (!text) return propagate(text);
  sources.file_text = std::move(*text);
  sources.words = options.words;
  sources.limit = options.limit;
  auto spec = read_study(sources, [](const std::string& path) { return read_file(path); });
  if (!spec) return propagate(spec);
  if (Status size = check_size(*spec, false); !size) return propagate(size);
  auto sampler = make_sampler(*spec);
  if (!sampler) return propagate(sampler);
  std::vector<Point> points;
  ProposalsMade made;
  const std::uint64_t most = spec->run_cap.value_or(kManyTrials);
  while (!made.exhausted && points.size() < most) {
    made = collect_proposals(**sampler, spec->sampler_seed, made.next, most - points.size());
    if (!made.error.empty()) return fail(ErrorCode::usage, made.error);
    for (auto& one : made.points) points.push_back(std::move(one.point));
  }
  return points;
}

Result<int> add(const Invocation& invocation, const AddOptions& options) {
  auto dir = find_study(invocation);
  if (!dir) return propagate(dir);
  auto points = points_to_add(*dir, options);
  if (!points) return propagate(points);
  constexpr Milliseconds kAnswerTimeout{60'000};
  if (!StudyLock::holder(*dir)) {
    auto text = record_only(*dir, invocation.command_line(), PointsAdded{std::move(*points)});
    if (!text) return propagate(text);
    std::printf("%s: %s\n", study_name(*dir).c_str(), text->c_str());
    return 0;
  }
  auto answer = ask_study(*dir, control_request::add(*points), kAnswerTimeout);
  if (!answer) return propagate(answer);
  std::printf("%s: %s\n", study_name(*dir).c_str(), answer->c_str());
  return 0;
}

}  // namespace

void add_add_command(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<AddOptions>();
  CLI::App* command = app.add_subcommand("add", "More trials for a study, running or not");
  command->add_option("NAME=SPEC", options->words, "Values that replace the sweep file's")
      ->required();
  command->add_option("--limit", options->limit, "The first N points");
  add_study_options(*command, invocation, false);
  command->footer("Example:\n  seedbed add lr=3e-4 seed=0..4");
  command->callback([&invocation, options] {
    invocation.action = [&invocation, options] { return add(invocation, *options); };
  });
}

}  // namespace seedbed
