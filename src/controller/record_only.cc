#include "controller/record_only.h"

#include <fmt/format.h>

#include <map>

#include "controller/held_study.h"
#include "env/posix/posix.h"
#include "study/readers.h"

namespace seedbed {
namespace {

/// What a person would want to know of the records: how many trials went where.
std::string summary(const std::vector<Entry>& entries) {
  std::map<std::string, int> counts;
  for (const Entry& entry : entries) {
    if (std::holds_alternative<TrialProposed>(entry.record)) ++counts["added"];
    if (std::holds_alternative<TrialReopened>(entry.record)) ++counts["waiting again"];
    if (const auto* finished = std::get_if<TrialFinished>(&entry.record)) {
      ++counts[std::string(trial_state_word(finished->state))];
    }
  }
  std::string text;
  for (const auto& [what, count] : counts) {
    text += fmt::format("{}{} trial{} {}", text.empty() ? "" : ", ", count, count == 1 ? "" : "s",
                        what);
  }
  if (text.empty()) return "nothing to change";
  return text + "; no controller runs, the next `seedbed run` acts on it";
}

}  // namespace

Result<std::string> record_only(const std::string& study_dir, const std::string& command_line,
                                const Input& input) {
  auto clock = make_posix_clock();
  HoldOptions options;
  options.command_line = command_line;
  options.now = clock->wall();
  auto held = hold_study(study_dir, options);
  if (!held) return propagate(held);
  EngineConfig config;
  if (const SpaceSet* space = held->latest_space()) {
    StudySources sources;
    sources.file_name = study_dir + "/sweep.yaml";
    sources.file_text = space->spec_yaml;
    auto spec = read_study(sources, [](const std::string& path) -> Result<std::string> {
      return fail(ErrorCode::damaged, "the recorded space refers to a file: " + path);
    });
    if (!spec) return propagate(spec);
    auto made = engine_config(*spec);
    if (!made) return propagate(made);
    config = std::move(*made);
  }
  Engine engine(std::move(config), {});
  held->fold(engine);
  const Timestamp now = clock->wall();
  Decision decision = engine.decide(now, input);
  std::vector<Entry> entries;
  for (Record& record : decision.records) entries.push_back({now, std::move(record)});
  if (!entries.empty()) {
    if (Status committed = held->store->commit(entries); !committed) return propagate(committed);
  }
  if (Status closed = held->store->close(); !closed) return propagate(closed);
  return summary(entries);
}

}  // namespace seedbed
