#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>

#include "base/text.h"
#include "cli/option_checks.h"
#include "cli/run_options.h"
#include "controller/control_handler.h"
#include "controller/proposal_source.h"
#include "controller/record_only.h"
#include "env/posix/files.h"
#include "env/posix/study_lock.h"
#include "results/study_reader.h"
#include "samplers/sampler.h"

namespace seedbed {
namespace {

struct AddOptions {
  std::vector<std::string> words;
  std::optional<std::uint64_t> limit;
};

/// The points that the words give over the study's own file: a word replaces a parameter's values,
/// the others keep theirs.
struct ToAdd {
  std::vector<Point> points;
  std::vector<std::string> crossed;  ///< other parameters with several values
  std::vector<std::string> unknown;  ///< words for parameters that the study's space does not have
  std::vector<std::string> names;    ///< that it has
};

/// Of `NAME=SPEC`.
std::string name_of(const std::string& word) {
  std::string_view name = std::string_view(word).substr(0, word.find('='));
  for (int i = 0; i < 2 && name.starts_with('+'); ++i) name.remove_prefix(1);  // Hydra's
  return std::string(trim(name));
}

Result<ToAdd> points_to_add(const std::string& study_dir, const AddOptions& options) {
  StudySources sources;
  sources.file_name = study_dir + "/sweep.yaml";
  auto text = read_file(sources.file_name);
  if (!text) return propagate(text);
  sources.file_text = std::move(*text);
  ToAdd add;
  if (auto own = read_study(sources, [](const std::string& path) { return read_file(path); })) {
    add.names = own->space.names();
    for (const std::string& word : options.words) {
      const std::string name = name_of(word);
      if (std::find(add.names.begin(), add.names.end(), name) == add.names.end()) {
        add.unknown.push_back(name);
      }
    }
  }
  sources.words = options.words;
  sources.limit = options.limit;
  auto spec = read_study(sources, [](const std::string& path) { return read_file(path); });
  if (!spec) return propagate(spec);
  // What the last run was limited to is no limit of what is added.
  if (!options.limit) spec->run_cap.reset();
  if (const std::string many = too_many(*spec); !many.empty()) {
    return fail(ErrorCode::usage,
                many + " to add; say --limit N for the first N, or give fewer values");
  }
  auto sampler = make_sampler(*spec);
  if (!sampler) return propagate(sampler);
  for (const std::string& name : spec->space.varying()) {
    const bool given = std::any_of(options.words.begin(), options.words.end(),
                                   [&](const std::string& word) { return name_of(word) == name; });
    if (!given) add.crossed.push_back(name);
  }
  std::vector<Point>& points = add.points;
  ProposalsMade made;
  const std::uint64_t most = spec->run_cap.value_or(kManyTrials);
  while (!made.exhausted && points.size() < most) {
    made = collect_proposals(**sampler, spec->sampler_seed, made.next, most - points.size());
    if (!made.error.empty()) return fail(ErrorCode::usage, made.error);
    for (auto& one : made.points) points.push_back(std::move(one.point));
  }
  return add;
}

/// A parameter that the study never had may be meant, or a slip.
void warn_of_unknown(const std::string& study_dir, const ToAdd& add) {
  if (add.unknown.empty()) return;
  std::set<std::string> met;
  if (auto reader = StudyReader::open(study_dir)) {
    static_cast<void>(reader->entries_after({}, [&met](const Entry& entry) {
      const auto* made = std::get_if<TrialProposed>(&entry.record);
      if (made == nullptr) return;
      for (const Parameter& parameter : made->point.parameters) met.insert(parameter.name);
    }));
  }
  for (const std::string& name : add.unknown) {
    if (met.contains(name)) continue;
    const auto near = nearest(name, add.names);
    std::fprintf(stderr, "seedbed: warning: no trial had a parameter `%s` before%s\n",
                 one_line(name, 80).c_str(),
                 near ? fmt::format("; did you mean `{}`?", one_line(*near, 80)).c_str() : "");
  }
}

/// What the answer does not say: that values not given are those of the study's space.
void tell_crossed(const ToAdd& add, const AddOptions& options) {
  if (add.crossed.empty()) return;
  std::vector<std::string> fixed;
  for (const std::string& name : add.crossed) fixed.push_back(shell_quote(name + "=VALUE"));
  std::printf(
      "  %s was combined with every value of %s in the study's space; for single points give %s "
      "too\n",
      one_line(join(options.words, " "), 200).c_str(),
      one_line(join(add.crossed, ", "), 200).c_str(), one_line(join(fixed, " "), 200).c_str());
}

/// The controller runs them with what it was started with, which need not be what is set here (case
/// J9). Only variables that decide which program runs are compared.
void tell_environment(const LockHolder& holder) {
  constexpr std::size_t kMostBytes = 4 << 20;
  const auto there = read_file(fmt::format("/proc/{}/environ", holder.pid), kMostBytes);
  if (!there || there->empty()) return;  // another user's, or gone
  std::map<std::string, std::string, std::less<>> variables;
  for (const std::string_view word : split(*there, '\0')) {
    const std::size_t at = word.find('=');
    if (at != word.npos) variables.emplace(word.substr(0, at), word.substr(at + 1));
  }
  std::vector<std::string> differ;
  for (const char* name :
       {"VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "LD_LIBRARY_PATH", "PATH"}) {
    const char* here = std::getenv(name);
    const auto its = variables.find(name);
    const std::string ours = here == nullptr ? "" : here;
    if ((its == variables.end() ? "" : its->second) != ours) differ.emplace_back(name);
  }
  if (differ.empty()) return;
  std::printf("  they run with the environment of the running controller (pid %lld), whose %s %s\n",
              static_cast<long long>(holder.pid), join(differ, ", ").c_str(),
              differ.size() == 1 ? "differs from yours" : "differ from yours");
}

Result<int> add(const Invocation& invocation, const AddOptions& options) {
  auto dir = find_study(invocation);
  if (!dir) return propagate(dir);
  auto adding = points_to_add(*dir, options);
  if (!adding) return propagate(adding);
  warn_of_unknown(*dir, *adding);
  constexpr Milliseconds kAnswerTimeout{60'000};
  const auto holder = StudyLock::holder(*dir);
  if (!holder) {
    auto text = record_only(*dir, invocation.command_line(), PointsAdded{adding->points});
    if (!text) return propagate(text);
    std::printf("%s: %s\n", study_name(*dir).c_str(), text->c_str());
    tell_crossed(*adding, options);
    return 0;
  }
  auto answer = ask_study(*dir, control_request::add(adding->points), kAnswerTimeout);
  if (!answer) return propagate(answer);
  std::printf("%s: %s\n", study_name(*dir).c_str(), answer->c_str());
  tell_crossed(*adding, options);
  tell_environment(*holder);
  return 0;
}

}  // namespace

void add_add_command(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<AddOptions>();
  CLI::App* command = app.add_subcommand("add", "More trials for a study, running or not");
  command->add_option("NAME=SPEC", options->words, "Values that replace the sweep file's")
      ->required();
  whole_number(command->add_option("--limit", options->limit, "The first N points"), 1,
               kMostTrials);
  add_study_options(*command, invocation, false);
  command->footer("Example:\n  seedbed add lr=3e-4 seed=0..4");
  command->callback([&invocation, options] {
    invocation.action = [&invocation, options] { return add(invocation, *options); };
  });
}

}  // namespace seedbed
