#include "controller/held_study.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "controller/lend_machine.h"
#include "env/posix/files.h"
#include "samplers/sampler.h"
#include "study/readers.h"

namespace seedbed {
namespace {

bool has_content(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return !error && size > 0;
}

/// Trials' folders that are newer than the record: an older copy of it was put back, or its end was
/// lost. When their trials come up again, what ended there is found (see the launcher).
std::optional<std::string> unrecorded_folders(const HeldStudy& held) {
  TrialNumber last = 0;
  for (const Entry& entry : held.entries) {
    if (const auto* trial = std::get_if<TrialProposed>(&entry.record)) last = trial->trial;
  }
  std::size_t count = 0;
  std::string first;
  std::error_code error;
  for (std::filesystem::directory_iterator at(held.dir + "/trials", error), end;
       !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename();
    TrialNumber number = 0;
    const auto read = std::from_chars(name.data(), name.data() + name.size(), number);
    const bool ours =
        read.ptr - name.data() >= 5 && (read.ptr == name.data() + name.size() || *read.ptr == '-');
    if (!ours || number <= last || !path_exists(at->path().string() + "/params.json")) continue;
    if (first.empty() || name < first) first = name;
    ++count;
  }
  if (count == 0) return std::nullopt;
  return fmt::format(
      "trials/ holds {} of which the record knows nothing, from {} on: what ended there is taken "
      "over when the same command and parameters come up again, the rest stays as it is",
      count == 1 ? "a folder" : fmt::format("{} folders", count), first);
}

/// CommandTemplate::identity for people.
struct CommandWords {
  std::vector<std::string> words;
  std::vector<std::string> others;  ///< `program: train.py`, `shell: true`

  [[nodiscard]] std::string line() const {
    constexpr std::size_t kLongest = 1000;
    std::vector<std::string> shown;
    for (const std::string& word : words) shown.push_back(shown_word(word));
    std::string text = join(shown, " ");
    if (!others.empty()) text += "   (" + join(others, ", ") + ")";
    return one_line(text, kLongest);
  }

  /// Quoted only where a blank or quote would mislead: macros and placeholders stay readable.
  [[nodiscard]] static std::string shown_word(const std::string& word) {
    const bool plain = !word.empty() && word.find_first_of(" \t\n'\"") == std::string::npos;
    return plain ? word : shell_quote(word);
  }
};

CommandWords command_words(const std::string& identity) {
  using Json = nlohmann::json;
  const Json json = Json::parse(identity, nullptr, /*allow_exceptions=*/false);
  CommandWords command;
  if (!json.is_object() || !json.contains("words")) return {{identity}, {}};
  for (const Json& word : json["words"]) {
    if (word.is_string()) command.words.push_back(word.get<std::string>());
  }
  if (json.contains("program") && json["program"].is_string()) {
    command.others.push_back("program: " + json["program"].get<std::string>());
  }
  if (json.value("shell", Json()) == true) command.others.emplace_back("shell: true");
  if (json.value("params_by_file", Json()) == true) command.others.emplace_back("params: file");
  const Json style = json.value("booleans", Json());
  if (style == "lower") command.others.emplace_back("bool_style: true-false");
  if (style == "zero_one") command.others.emplace_back("bool_style: 01");
  return command;
}

/// The first word in which they differ, in a line; nothing when the lines alone tell it.
std::string difference(const CommandWords& then, const CommandWords& now) {
  constexpr std::size_t kLongest = 200;
  const std::size_t most = std::max(then.words.size(), now.words.size());
  for (std::size_t i = 0; i < most; ++i) {
    const auto word = [i](const CommandWords& command) {
      return i < command.words.size()
                 ? one_line(CommandWords::shown_word(command.words[i]), kLongest)
                 : std::string("nothing");
    };
    if (i < then.words.size() && i < now.words.size() && then.words[i] == now.words[i]) continue;
    return fmt::format("They differ from word {} on: {} then, {} now.\n", i + 1, word(then),
                       word(now));
  }
  return {};
}

}  // namespace

Status HeldStudy::fold(Engine& engine) {
  for (const Entry& entry : entries) engine.apply(entry);
  entries.clear();
  entries.shrink_to_fit();
  if (metric.empty()) return {};
  return store->load_points(metric, [&engine](const Entry& entry) { engine.apply(entry); });
}

const SpaceSet* HeldStudy::latest_space() const {
  const SpaceSet* latest = nullptr;
  for (const Entry& entry : entries) {
    if (const auto* space = std::get_if<SpaceSet>(&entry.record)) latest = space;
  }
  return latest;
}

std::uint64_t HeldStudy::runs() const {
  std::uint64_t runs = 0;
  for (const Entry& entry : entries) {
    if (const auto* run = std::get_if<RunStarted>(&entry.record)) runs = run->run;
  }
  return runs;
}

std::string HeldStudy::latest_details() const {
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    const auto* started = std::get_if<AttemptStarted>(&entry->record);
    if (started != nullptr && !started->details_json.empty()) return started->details_json;
  }
  return {};
}

Result<HeldStudy> hold_study(const std::string& dir, const HoldOptions& options) {
  if (options.create) {
    const std::string trials = dir + "/trials";
    if (Status made = make_directories(trials); !made) return propagate(made);
    if (::access(trials.c_str(), W_OK | X_OK) != 0)
      return tl::unexpected(file_error(trials, errno));
  } else if (!path_exists(dir + "/study.db")) {
    return fail(ErrorCode::usage,
                fmt::format("no study at {}; seedbed list shows the studies here", dir));
  }
  auto lock = StudyLock::acquire(dir, {options.command_line, options.now, options.take_over});
  if (!lock) return propagate(lock);
  const bool had_record = has_content(dir + "/study.db");
  auto opened = open_store(dir, options.create, options.mend);
  if (!opened) return propagate(opened);
  HeldStudy held{dir, std::move(*lock), std::move(opened->store), std::move(opened->notes),
                 {},  options.metric};
  if (const auto& previous = held.lock.previous()) {
    held.notes.push_back(
        fmt::format("the controller with pid {} since {} is gone; continuing "
                    "where it stopped",
                    previous->pid, previous->since));
  }
  Status loaded =
      held.store->load_records([&](const Entry& entry) { held.entries.push_back(entry); });
  if (!loaded) return propagate(loaded);
  if (auto found = unrecorded_folders(held)) {
    held.notes.push_back((had_record ? "" : "study.db was missing or empty and begins anew; ") +
                         std::move(*found));
  }
  return held;
}

Result<EngineConfig> engine_config(const StudySpec& spec) {
  EngineConfig config;
  config.request = request_of(spec.resources);
  config.objective = spec.objective;
  config.retries = spec.retries;
  if (!spec.halt.empty()) {
    auto halt = HaltRule::parse(spec.halt);
    if (!halt) return propagate(halt);
    config.halt = *halt;
  }
  config.limit = spec.run_cap;
  config.study_limit = spec.limits.study;
  config.varying = spec.space.varying();
  config.longest_first = spec.order == Order::longest_first;
  if (config.longest_first) config.lookahead = 100'000;  // the longest must be known to go first
  return config;
}

Result<std::vector<std::unique_ptr<Pruner>>> make_pruners(const StudySpec& spec) {
  std::vector<std::unique_ptr<Pruner>> pruners;
  for (const PrunerSpec& rule : spec.pruners) {
    auto pruner = make_pruner(rule, spec.objective.goal);
    if (!pruner) return propagate(pruner);
    pruners.push_back(std::move(*pruner));
  }
  return pruners;
}

std::optional<SpaceSet> changed_space(const StudySpec& spec, const SpaceSet* latest) {
  SpaceSet space;
  space.revision = latest == nullptr ? 1 : latest->revision + 1;
  space.spec_yaml = write_study(spec);
  space.command_identity = spec.command.identity();
  space.metric = spec.objective.metric;
  space.goal = spec.objective.goal;
  space.seed_parameter = spec.seed_parameter;
  if (latest != nullptr) {
    SpaceSet same = space;
    same.revision = latest->revision;
    if (same == *latest) return std::nullopt;
  }
  return space;
}

Status check_same_command(const StudySpec& spec, const SpaceSet* latest, const std::string& name,
                          bool new_command) {
  if (latest == nullptr || new_command || latest->command_identity == spec.command.identity()) {
    return {};
  }
  const CommandWords then = command_words(latest->command_identity);
  const CommandWords now = command_words(spec.command.identity());
  return fail(ErrorCode::usage,
              fmt::format("study '{}' was made with another command:\n  then: {}\n  now:  {}\n{}"
                          "Its trials would not compare. Give this one another --name, or say "
                          "--new-command to keep both in one study.",
                          one_line(name, 60), then.line(), now.line(), difference(then, now)));
}

}  // namespace seedbed
