#include "controller/record_only.h"

#include <fmt/format.h>

#include <algorithm>

#include "controller/held_study.h"
#include "controller/request_text.h"
#include "env/posix/posix.h"
#include "study/readers.h"

namespace seedbed {
namespace {

/// How many trials were added.
std::string added_text(const std::vector<Entry>& entries) {
  const auto added = std::count_if(entries.begin(), entries.end(), [](const Entry& entry) {
    return std::holds_alternative<TrialProposed>(entry.record) ||
           std::holds_alternative<TrialKept>(entry.record);
  });
  if (added == 0) return "nothing to add: every point is there already";
  return fmt::format("{} trial{} added", added, added == 1 ? "" : "s");
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
  auto text = request_text(engine.state(), input, now);
  std::vector<Entry> entries;
  if (text) {
    Decision decision = engine.decide(now, input);
    for (Record& record : decision.records) entries.push_back({now, std::move(record)});
  }
  if (!entries.empty()) {
    if (Status committed = held->store->commit(entries); !committed) return propagate(committed);
  }
  if (Status closed = held->store->close(); !closed) return propagate(closed);
  if (!text) return text;
  if (std::holds_alternative<PointsAdded>(input)) text = added_text(entries);
  if (entries.empty()) return text;
  return *text + "; no controller runs, the next `seedbed run` acts on it";
}

}  // namespace seedbed
