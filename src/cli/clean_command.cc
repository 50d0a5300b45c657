#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>
#include <set>

#include "base/bytes.h"
#include "base/text.h"
#include "cli/invocation.h"
#include "cli/option_checks.h"
#include "env/posix/posix.h"
#include "env/posix/study_lock.h"
#include "results/compare.h"
#include "results/study_reader.h"

// Deletes what trials wrote, all but the best k of them. Never a running or waiting trial, never
// the logs, exit records and parameters that belong to the record, never through a link.

namespace seedbed {
namespace fs = std::filesystem;
namespace {

struct CleanOptions {
  std::uint64_t keep = 0;
  std::string metric, by = "last";
  bool yes = false;
};

struct Removal {
  TrialNumber trial = 0;
  fs::path path;
  std::uint64_t bytes = 0;
};

/// Files of ours in a trial's folder: part of the record, they stay.
bool belongs_to_record(const std::string& name) {
  return name == "params.json" || name == "args.json" || name == "wandb-params.yaml" ||
         name == "metrics.jsonl" ||
         (name.starts_with("attempt-") && (name.ends_with(".log") || name.ends_with(".exit")));
}

std::uint64_t size_of(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(path, error);
  if (fs::is_regular_file(status)) return fs::file_size(path, error);
  std::uint64_t bytes = 0;
  if (fs::is_directory(status)) {
    for (const auto& entry : fs::recursive_directory_iterator(path, error)) {
      if (entry.is_regular_file(error) && !entry.is_symlink(error)) bytes += entry.file_size(error);
    }
  }
  return bytes;
}

/// The trials whose files stay: the best k by the measure.
Result<std::set<TrialNumber>> kept_trials(const Snapshot& snapshot, const CleanOptions& options) {
  const std::string& metric = options.metric.empty() ? snapshot.metric : options.metric;
  auto by = Measure::parse(options.by);
  if (!by) return tl::unexpected(by.error().with_context("--by"));
  std::vector<std::pair<double, TrialNumber>> ranked;
  for (const TrialRow& row : snapshot.trials) {
    if (row.state != TrialState::completed || metric.empty()) continue;
    const MetricNumbers* numbers = row.metric(metric);
    if (numbers == nullptr) continue;
    const auto value = measured(*numbers, *by, snapshot.goal);
    if (value && std::isfinite(*value)) ranked.emplace_back(*value, row.number);
  }
  if (options.keep > 0 && ranked.empty()) {
    return fail(ErrorCode::usage,
                "there is no best trial to keep: no completed trial has the "
                "metric; name one with --metric, or say --keep 0");
  }
  std::stable_sort(ranked.begin(), ranked.end(), [&](const auto& a, const auto& b) {
    return better(a.first, b.first, snapshot.goal);
  });
  std::set<TrialNumber> kept;
  for (const auto& [value, trial] : ranked) {
    if (kept.size() < options.keep) kept.insert(trial);
  }
  return kept;
}

std::vector<Removal> find_removals(const std::string& dir, const Snapshot& snapshot,
                                   const std::set<TrialNumber>& kept) {
  std::vector<Removal> removals;
  for (const TrialRow& row : snapshot.trials) {
    if (!is_terminal(row.state) || kept.contains(row.number)) continue;
    const fs::path folder = fs::path(dir) / "trials" / row.folder;
    std::error_code error;
    // A folder that was replaced by a link leads out of the study.
    if (!fs::is_directory(fs::symlink_status(folder, error))) continue;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
      if (belongs_to_record(entry.path().filename().string())) continue;
      removals.push_back({row.number, entry.path(), size_of(entry.path())});
    }
  }
  return removals;
}

Result<int> clean(const Invocation& invocation, const CleanOptions& options) {
  auto dir = find_study(invocation);
  if (!dir) return propagate(dir);
  auto reader = StudyReader::open(*dir);
  if (!reader) return propagate(reader);
  auto snapshot = reader->snapshot();
  if (!snapshot) return propagate(snapshot);
  auto kept = kept_trials(*snapshot, options);
  if (!kept) return propagate(kept);
  const std::vector<Removal> removals = find_removals(*dir, *snapshot, *kept);
  std::uint64_t bytes = 0;
  for (const Removal& removal : removals) {
    bytes += removal.bytes;
    std::printf("%s  %s\n", format_bytes(removal.bytes).c_str(),
                one_line(removal.path.string()).c_str());
  }
  if (removals.empty()) {
    std::printf("nothing to delete\n");
    return 0;
  }
  const std::string entries = removals.size() == 1
                                  ? "1 file or folder"
                                  : fmt::format("{} files and folders", removals.size());
  if (!options.yes) {
    std::printf(
        "%s, %s in all; the records, logs and parameters of all trials stay. Delete %s with "
        "--yes.\n",
        entries.c_str(), format_bytes(bytes).c_str(), removals.size() == 1 ? "it" : "them");
    return 0;
  }
  std::optional<StudyLock> lock;
  if (!StudyLock::holder(*dir)) {
    auto held = StudyLock::acquire(*dir, {invocation.command_line(), make_posix_clock()->wall()});
    if (!held) return propagate(held);
    lock.emplace(std::move(*held));
  }
  for (const Removal& removal : removals) {
    std::error_code error;
    fs::remove_all(removal.path, error);  // removes a link itself, never what it leads to
    if (error) {
      return fail(ErrorCode::machine, removal.path.string() + ": " + error.message());
    }
  }
  std::printf("deleted %s, %s\n", entries.c_str(), format_bytes(bytes).c_str());
  return 0;
}

}  // namespace

void add_clean_command(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<CleanOptions>();
  CLI::App* command =
      app.add_subcommand("clean", "List, then delete files of all but the best trials");
  add_study_options(*command, invocation);
  whole_number(command->add_option("--keep", options->keep, "Keep the files of the best N trials"),
               0, std::numeric_limits<std::uint64_t>::max())
      ->required();
  command->add_option("--metric", options->metric, "Another metric than the study's");
  one_of(command->add_option("--by", options->by, "last or best"), {"last", "best"})
      ->capture_default_str();
  command->add_flag("--yes,-y", options->yes, "Delete, not only list");
  command->footer(
      "Example:\n  seedbed clean digits --keep 3         lists only\n  seedbed clean digits --keep "
      "3 --yes   deletes");
  command->callback([&invocation, options] {
    invocation.action = [&invocation, options] { return clean(invocation, *options); };
  });
}

}  // namespace seedbed
