#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>
#include <set>

#include "base/bytes.h"
#include "base/text.h"
#include "cli/folder_walk.h"
#include "cli/invocation.h"
#include "cli/option_checks.h"
#include "cli/print_table.h"
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
  std::string metric, goal, by = "last";
  bool yes = false;
};

struct Removal {
  TrialNumber trial = 0;
  fs::path path;
  std::uint64_t bytes = 0;
  bool deleted = false;
  std::string stays;  ///< why it was not deleted, although it should have been
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
    each_entry<fs::recursive_directory_iterator>(path, [&](const fs::directory_entry& entry) {
      if (entry.is_regular_file(error) && !entry.is_symlink(error)) bytes += entry.file_size(error);
    });
  }
  return bytes;
}

struct Kept {
  std::set<TrialNumber> trials;
  std::string why;  ///< `the best 2 by acc (last, maximize): trials 4, 2`
};

std::string why_kept(const std::vector<TrialNumber>& ranked, const Best& best) {
  constexpr std::size_t kShown = 10;
  std::vector<std::string> numbers;
  for (const TrialNumber trial : ranked) {
    if (numbers.size() < kShown) numbers.push_back(std::to_string(trial));
  }
  return fmt::format(
      "the best by {} ({}, {}): trial{} {}{}", one_line(best.metric, 80), best.by.text(),
      best.goal == Goal::maximize ? "maximize" : "minimize", ranked.size() == 1 ? "" : "s",
      join(numbers, ", "),
      ranked.size() > kShown ? fmt::format(" and {} more", ranked.size() - kShown) : "");
}

/// The trials whose files stay: the best k of the present space by the measure, as `best` ranks.
Result<Kept> kept_trials(const Snapshot& snapshot, const CleanOptions& options) {
  if (options.keep == 0) return Kept{{}, "none"};
  CompareOptions compared;
  compared.metric = options.metric;
  if (!options.goal.empty()) {
    compared.goal = options.goal == "maximize" ? Goal::maximize : Goal::minimize;
  }
  auto by = Measure::parse(options.by);
  if (!by) return tl::unexpected(by.error().with_context("--by"));
  compared.by = *by;
  auto ranked = ranked_trials(snapshot, compared);
  if (!ranked) return propagate(ranked);
  if (ranked->empty()) {
    return fail(ErrorCode::usage,
                "there is no best trial to keep: no completed trial has the "
                "metric; name one with --metric, or say --keep 0");
  }
  ranked->resize(std::min<std::uint64_t>(ranked->size(), options.keep));
  const auto best = best_trial(snapshot, compared);
  if (!best) return propagate(best);
  return Kept{{ranked->begin(), ranked->end()}, why_kept(*ranked, *best)};
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
    each_entry<fs::directory_iterator>(folder, [&](const fs::directory_entry& entry) {
      if (belongs_to_record(entry.path().filename().string())) return;
      removals.push_back({row.number, entry.path(), size_of(entry.path()), false, {}});
    });
  }
  return removals;
}

/// Deletes what can be deleted; the first failure is the error. Beside a live controller each trial
/// is looked at again first: `retry` may have made it run since it was listed.
Status delete_all(const StudyReader& reader, bool live, std::vector<Removal>& removals) {
  Status done;
  for (Removal& removal : removals) {
    if (live) {
      const auto now = reader.trial(removal.trial);
      if (!now) return propagate(now);
      if (!is_terminal(now->row.state)) {
        removal.stays = "its trial goes on";
        continue;
      }
    }
    std::error_code error;
    fs::remove_all(removal.path, error);  // removes a link itself, never what it leads to
    removal.deleted = !error;
    if (!error) continue;
    removal.stays = error.message();
    if (done) done = fail(ErrorCode::machine, removal.path.string() + ": " + error.message());
  }
  return done;
}

void print_json(const std::vector<Removal>& removals) {
  Table table;
  table.columns = {{"trial"}, {"path"}, {"bytes"}, {"deleted"}};
  for (const Removal& removal : removals) {
    table.rows.push_back(
        {Cell::integer(static_cast<std::int64_t>(removal.trial)), Cell::text(removal.path.string()),
         Cell::integer(static_cast<std::int64_t>(removal.bytes)), Cell::boolean(removal.deleted)});
  }
  print_table(table, "json");
}

std::string entries_text(std::size_t count) {
  return count == 1 ? "1 file or folder" : fmt::format("{} files and folders", count);
}

void print_text(const std::vector<Removal>& removals, const Kept& kept, bool yes) {
  std::printf("keeps %s\n", kept.why.c_str());
  std::uint64_t bytes = 0, deleted_bytes = 0;
  std::size_t deleted = 0;
  for (const Removal& removal : removals) {
    bytes += removal.bytes;
    if (removal.deleted) {
      ++deleted;
      deleted_bytes += removal.bytes;
    }
    std::printf("%s  %s%s\n", format_bytes(removal.bytes).c_str(),
                one_line(removal.path.string()).c_str(),
                removal.stays.empty() ? "" : ("  stays: " + removal.stays).c_str());
  }
  if (removals.empty()) {
    std::printf("nothing to delete\n");
  } else if (yes) {
    std::printf("deleted %s, %s\n", entries_text(deleted).c_str(),
                format_bytes(deleted_bytes).c_str());
  } else {
    std::printf(
        "%s, %s in all; the records, logs and parameters of all trials stay. Delete %s with "
        "--yes.\n",
        entries_text(removals.size()).c_str(), format_bytes(bytes).c_str(),
        removals.size() == 1 ? "it" : "them");
  }
}

Result<int> clean(const Invocation& invocation, const CleanOptions& options) {
  auto dir = find_study(invocation);
  if (!dir) return propagate(dir);
  // Held before anything is read, so that no run begins between the list and the deletion.
  std::optional<StudyLock> lock;
  if (options.yes && !StudyLock::holder(*dir)) {
    auto held =
        StudyLock::acquire(*dir, {invocation.command_line(), make_posix_clock()->wall(), false});
    if (!held) return propagate(held);
    lock.emplace(std::move(*held));
  }
  auto reader = StudyReader::open(*dir);
  if (!reader) return propagate(reader);
  auto snapshot = reader->snapshot();
  if (!snapshot) return propagate(snapshot);
  auto kept = kept_trials(*snapshot, options);
  if (!kept) return propagate(kept);
  std::vector<Removal> removals = find_removals(*dir, *snapshot, kept->trials);
  Status done;
  if (options.yes) done = delete_all(*reader, !lock, removals);
  if (invocation.output == "json") {
    print_json(removals);
  } else {
    print_text(removals, *kept, options.yes);
  }
  if (!done) return propagate(done);
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
  one_of(command->add_option("--goal", options->goal, "minimize or maximize"),
         {"minimize", "maximize"});
  one_of(command->add_option("--by", options->by, "last or best"), {"last", "best"})
      ->capture_default_str();
  command->add_flag("--yes,-y", options->yes, "Delete, not only list");
  add_output_option(*command, invocation);
  command->footer(
      "Example:\n  seedbed clean digits --keep 3         lists only\n  seedbed clean digits --keep "
      "3 --yes   deletes");
  command->callback([&invocation, options] {
    invocation.action = [&invocation, options] { return clean(invocation, *options); };
  });
}

}  // namespace seedbed
