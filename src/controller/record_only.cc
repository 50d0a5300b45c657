#include "controller/record_only.h"

#include <fmt/format.h>

#include <algorithm>

#include "controller/held_study.h"
#include "controller/request_text.h"
#include "env/posix/posix.h"
#include "results/connection.h"
#include "study/readers.h"

namespace seedbed {
namespace {

constexpr const char* kNextRun = "; no controller runs, the next `seedbed run` acts on it";

/// How many trials were added, and the first of them.
std::string added_text(const std::vector<Entry>& entries, const StudyState& state) {
  std::vector<Point> points;
  std::size_t there = 0;  // in the space, and from now on whatever later runs name
  for (const Entry& entry : entries) {
    if (const auto* made = std::get_if<TrialProposed>(&entry.record)) {
      points.push_back(made->point);
    } else if (const auto* kept = std::get_if<TrialKept>(&entry.record)) {
      const TrialStatus& trial = *state.trial(kept->trial);
      if (state.in_space(trial)) {
        ++there;
      } else {
        points.push_back(trial.point);
      }
    }
  }
  if (points.empty()) return "nothing to add: every point is there already";
  return fmt::format("{} trial{} added: {}{}", points.size(), points.size() == 1 ? "" : "s",
                     first_points_text(points),
                     there == 0 ? "" : fmt::format("; {} there already", there)) +
         kNextRun;
}

}  // namespace

Result<std::string> record_only(const std::string& study_dir, const std::string& command_line,
                                const Input& input) {
  auto clock = make_posix_clock();
  HoldOptions options;
  options.command_line = command_line;
  options.now = clock->wall();
  options.mend = false;  // that is for `run`, which says what was lost
  auto held = hold_study(study_dir, options);
  if (!held && held.error().code == ErrorCode::damaged) {
    return tl::unexpected<Error>(with_advice(study_dir, held.error()));
  }
  if (!held) return propagate(held);
  EngineConfig config;
  if (const SpaceSet* space = held->latest_space()) {
    StudySources sources;
    sources.file_name = study_dir + "/sweep.yaml";
    sources.file_text = space->spec_yaml;
    auto spec = read_study(sources, {});  // no file but a template, which does not matter here
    if (!spec) return propagate(spec);
    auto made = engine_config(*spec);
    if (!made) return propagate(made);
    config = std::move(*made);
  }
  // A run that was killed is still open in the record: nothing may be decided in its name.
  config.records_only = true;
  Engine engine(std::move(config), {});
  if (Status folded = held->fold(engine); !folded) return propagate(folded);
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
  if (std::holds_alternative<PointsAdded>(input)) return added_text(entries, engine.state());
  if (entries.empty()) return text;
  return *text + kNextRun;
}

}  // namespace seedbed
