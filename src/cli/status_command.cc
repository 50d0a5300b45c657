#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/local_time.h"
#include "base/number_text.h"
#include "base/text.h"
#include "cli/invocation.h"
#include "env/posix/posix.h"
#include "env/posix/study_lock.h"
#include "reporters/configuration_text.h"
#include "reporters/estimate.h"
#include "reporters/log_tail.h"
#include "reporters/progress.h"
#include "results/study_reader.h"

namespace seedbed {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kShownFailures = 10;
constexpr std::size_t kLastLine = 160;  // of a failed trial's log

EstimateBasis basis_of(const StudyStatus& status, Timestamp now, bool live) {
  EstimateBasis basis;
  basis.finished = status.finished_attempts;
  basis.mean = status.mean_wall;
  basis.slots = std::max<std::uint64_t>(1, status.slots);
  for (const RunningLine& line : status.running) {
    basis.busy.push_back(line.started_at ? now - *line.started_at : Milliseconds(0));
  }
  if (status.unproposed) {
    basis.waiting = status.count(TrialState::waiting) + *status.unproposed;
  }
  basis.paused = status.paused;
  if (live && status.last_run && status.last_run->stopping) {
    basis.stop(*status.last_run->stopping);
  }
  return basis;
}

/// What waits of a study that no controller runs, and how it goes on; empty when nothing does.
/// `run_again`: the line to copy.
std::string waiting_line(const StudyStatus& status, const std::string& run_again) {
  if (status.revision == 0 || status.finished()) return {};
  const std::uint64_t running = status.count(TrialState::running);
  const std::uint64_t left =
      status.count(TrialState::waiting) + running + status.unproposed.value_or(0);
  std::string what = "trials are left";
  if (status.unproposed) {
    const char* verb =
        running > 0 ? (left == 1 ? "is left" : "are left") : (left == 1 ? "waits" : "wait");
    what = fmt::format("{}{} trial{} {}", status.unproposed_exact ? "" : "up to ", left,
                       left == 1 ? "" : "s", verb);
  }
  return fmt::format("{}; to go on: {}", what, run_again);
}

std::string controller_line(const StudyStatus& status, const std::optional<LockHolder>& holder) {
  if (holder) {
    return fmt::format("running (pid {} on {} since {}){}", holder->pid, holder->host,
                       local_time_of(holder->since),
                       status.frozen   ? ", paused and frozen"
                       : status.paused ? ", paused"
                                       : "");
  }
  if (!status.last_run) return "never run";
  const RunInfo& run = *status.last_run;
  if (!run.ended_at) {
    return fmt::format("interrupted: the controller (pid {} on {}) is gone", run.pid, run.host);
  }
  return fmt::format("{} {} with exit code {}{}",
                     status.left_since() ? "has work left since; the last run ended" : "ended",
                     format_local_time(*run.ended_at), run.exit_code,
                     run.reason.empty() ? "" : ": " + one_line(run.reason, 200));
}

std::string best_line(const BestSoFar& best) {
  constexpr std::size_t kMostColumns = 100;  // of the parameters; `seedbed best` shows all
  if (best.of_configuration) {
    return fmt::format("{}: {} {} ({}, mean of {} seed{}{})",
                       configuration_text(best.configuration, {}, kMostColumns),
                       one_line(best.metric), number_text(best.value),
                       best.goal == Goal::maximize ? "maximize" : "minimize", best.n,
                       best.n == 1 ? "" : "s", best.incomplete ? ", a seed is missing" : "");
  }
  return fmt::format("{} {} ({}, last value), trial {}", one_line(best.metric),
                     number_text(best.value), best.goal == Goal::maximize ? "maximize" : "minimize",
                     best.trial);
}

void print_text(const std::string& dir, const StudyStatus& status, const Estimate& estimate,
                const std::optional<LockHolder>& holder, const std::optional<BestSoFar>& best) {
  const std::string word = shell_quote(study_word(dir));
  const std::uint64_t waiting = status.count(TrialState::waiting) + status.unproposed.value_or(0);
  const std::uint64_t interrupted = status.interrupted();
  std::printf("%s: %s\n", study_name(dir).c_str(), controller_line(status, holder).c_str());
  std::printf(
      "  completed %llu · running %llu · waiting %llu · failed %llu · pruned %llu · "
      "cancelled %llu",
      static_cast<unsigned long long>(status.count(TrialState::completed)),
      static_cast<unsigned long long>(status.count(TrialState::running) - interrupted),
      static_cast<unsigned long long>(waiting),
      static_cast<unsigned long long>(status.count(TrialState::failed)),
      static_cast<unsigned long long>(status.count(TrialState::pruned)),
      static_cast<unsigned long long>(status.count(TrialState::cancelled)));
  if (interrupted > 0) {
    std::printf(" · interrupted %llu", static_cast<unsigned long long>(interrupted));
  }
  if (status.outside > 0) {
    std::printf(" · outside the present space %llu%s",
                static_cast<unsigned long long>(status.outside),
                never_run_text(status.outside, status.outside_never_run).c_str());
  }
  std::printf("\n");
  if (status.metric_missing > 0) {
    std::printf("  %llu completed without the metric %s\n",
                static_cast<unsigned long long>(status.metric_missing),
                one_line(status.metric).c_str());
  }
  if (best) std::printf("  best %s\n", best_line(*best).c_str());
  if (holder && !status.finished()) std::printf("  %s\n", estimate.text().c_str());
  if (interrupted > 0) {
    std::printf("  %llu trial%s ended while no controller watched; the next run records how\n",
                static_cast<unsigned long long>(interrupted), interrupted == 1 ? " has" : "s have");
  }
  if (!holder) {
    const std::string waits = waiting_line(status, run_again_line(dir));
    if (!waits.empty()) std::printf("  %s\n", waits.c_str());
  }
  const LogTail tail = make_log_tail(dir);
  std::size_t shown = 0;
  for (const FailureLine& failure : status.failures) {
    if (shown++ == kShownFailures) {
      std::printf("  … and %zu more: seedbed trials %s --where \"state == 'failed'\"\n",
                  status.failures.size() - kShownFailures, word.c_str());
      break;
    }
    const std::vector<std::string> last = tail(failure.folder, failure.attempts, 1);
    const std::string said =
        last.empty() ? "" : "; its log ends: " + one_line(trim(last.back()), kLastLine);
    std::printf("  failed %s: %s%s\n", one_line(failure.folder, 60).c_str(),
                one_line(failure.reason, 200).c_str(), said.c_str());
  }
}

void print_json(const std::string& name, const std::string& dir, const StudyStatus& status,
                const Estimate& estimate, const std::optional<LockHolder>& holder) {
  Json json;
  json["schema"] = 1;
  json["study"] = name;
  json["study_dir"] = dir;
  json["live"] = holder.has_value();
  if (holder) json["controller"] = {{"pid", holder->pid}, {"host", holder->host}};
  Json counts;
  for (const TrialState state : {TrialState::completed, TrialState::running, TrialState::waiting,
                                 TrialState::failed, TrialState::pruned, TrialState::cancelled}) {
    std::uint64_t count = status.count(state);
    if (state == TrialState::waiting) count += status.unproposed.value_or(0);
    if (state == TrialState::running) count -= status.interrupted();
    counts[std::string(trial_state_word(state))] = count;
  }
  json["counts"] = std::move(counts);
  json["interrupted"] = status.interrupted();
  json["outside"] = status.outside;
  json["outside_never_run"] = status.outside_never_run;
  json["metric_missing"] = status.metric_missing;
  json["paused"] = status.paused;
  json["frozen"] = status.frozen;
  json["slots"] = status.slots;
  if (estimate.left) {
    json["left_s"] = static_cast<double>(estimate.left->count()) / 1000;
  } else {
    json["left_s"] = nullptr;
  }
  json["estimate"] = estimate.how;
  json["failures"] = Json::array();
  for (const FailureLine& failure : status.failures) {
    json["failures"].push_back({{"trial", failure.trial},
                                {"folder", failure.folder},
                                {"attempts", failure.attempts},
                                {"reason", one_line(failure.reason, 500)}});
  }
  std::puts(json.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
}

Result<int> status_command(const Invocation& invocation) {
  auto dir = find_study(invocation);
  if (!dir) return propagate(dir);
  auto reader = StudyReader::open(*dir);
  if (!reader) return propagate(reader);
  auto status = reader->status();
  if (!status) return propagate(status);
  const auto holder = StudyLock::holder(*dir);
  const Timestamp now = make_posix_clock()->wall();
  const Estimate estimate = estimate_end(basis_of(*status, now, holder.has_value()));
  if (invocation.output == "json") {
    print_json(study_name(*dir), *dir, *status, estimate, holder);
  } else {
    std::optional<BestSoFar> best;
    if (!status->metric.empty()) {
      auto found = reader->best_so_far();
      if (!found) return propagate(found);
      best = std::move(*found);
    }
    print_text(*dir, *status, estimate, holder, best);
  }
  return status->exit_code_now(holder.has_value());
}

}  // namespace

void add_status_command(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("status", "How far a study is, what failed, when it ends");
  add_study_options(*command, invocation);
  add_output_option(*command, invocation);
  command->footer("Example:\n  seedbed status digits --output json");
  command->callback(
      [&invocation] { invocation.action = [&] { return status_command(invocation); }; });
}

}  // namespace seedbed
