#include "controller/before_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.h"
#include "controller/proposal_source.h"
#include "study/folder_name.h"

namespace seedbed {
namespace {

constexpr std::uint64_t kMostWalked = 100'000;
constexpr std::uint64_t kMostLooks = 2 * kMostWalked;  // `where` may drop nearly all

void count(TrialState state, DoneBefore& counts) {
  switch (state) {
    case TrialState::completed:
    case TrialState::pruned:
    case TrialState::cancelled:
      ++counts.done;
      break;
    case TrialState::failed:
      ++counts.failed;
      break;
    case TrialState::waiting:
    case TrialState::running:
      ++counts.left;
      break;
  }
}

}  // namespace

Result<std::optional<AttemptSetup::Prepared>> prepare_first(const StudySpec& spec,
                                                            const Sampler& sampler,
                                                            AttemptSetup& dry_setup) {
  const ProposalsMade first = collect_proposals(sampler, spec.sampler_seed, 0, 1);
  if (!first.error.empty()) return fail(ErrorCode::usage, first.error);
  if (first.points.empty()) {
    if (!first.exhausted) return std::nullopt;
    return fail(ErrorCode::usage, "the space has no point: `where` drops every one");
  }
  TrialStatus trial;
  trial.number = 1;
  trial.point = first.points[0].point;
  trial.folder = trial_folder_name(1, trial.point, spec.space.varying());
  auto prepared = dry_setup.prepare(trial, {1, 1}, Allocation{});
  if (!prepared) return std::nullopt;
  return std::move(*prepared);
}

Status check_first_command(const StudySpec& spec, const Sampler& sampler, AttemptSetup& dry_setup,
                           const SetupContext& context) {
  const auto prepared = prepare_first(spec, sampler, dry_setup);
  if (!prepared) return propagate(prepared);
  if (!*prepared || spec.command.options().shell) return {};
  Variables variables = base_variables(context.surroundings);
  for (const auto& [name, value] : spec.env) variables[name] = value;
  Status found = check_program((**prepared).order.argv, context.working_dir, variables);
  const std::string& first = spec.command.words().front();
  if (found || trim(first).find_first_of(" \t") == std::string_view::npos) return found;
  if (check_program({(**prepared).order.argv[0]}, context.working_dir, variables)) return found;
  constexpr std::size_t kLongest = 200;
  return fail(ErrorCode::usage,
              fmt::format("cannot run {}: no program has this name; leave out the quotes: -- {}; "
                          "for a shell line write bash -c '…' or shell: true",
                          one_line(shell_quote(first), kLongest), one_line(trim(first), kLongest)));
}

Status prepare_mpi(const StudySpec& spec, const Sampler& sampler, AttemptSetup& dry_setup,
                   const StudyLending& lending, bool try_it, SetupContext& context) {
  MpiQuestion question{
      spec, lending.request, lending.inventory, {}, {}, context.working_dir, {}, ::geteuid() == 0,
      {}};
  const auto first = prepare_first(spec, sampler, dry_setup);
  if (!first) return propagate(first);
  if (*first && !spec.command.options().shell) question.argv = (**first).order.argv;
  if (*first) question.environment = (**first).order.environment;
  const auto named = context.surroundings.find("SEEDBED_MPIRUN");
  if (named != context.surroundings.end()) question.named = named->second;
  auto findings = find_mpi(question);
  if (!findings) return propagate(findings);
  context.mpi = std::move(*findings);
  return try_it ? try_ranks(context.mpi, question.environment) : Status();
}

std::vector<std::string> shared_capture_warnings(const StudySpec& spec) {
  std::vector<std::string> warnings;
  const PointCount count = spec.space.count();
  const bool one = !count.infinite && !count.saturated && count.value <= 1;
  if (spec.workdir == Workdir::trial || one) return warnings;
  for (const CaptureSpec& capture : spec.capture) {
    if (capture.file.empty() || capture.file.find('{') != std::string::npos) continue;
    warnings.push_back(
        fmt::format("capture: {} is one file for all trials, so that values of one may be taken "
                    "for another's; have each write its own ({{trial_dir}}/{}), or say workdir: "
                    "trial",
                    capture.file, capture.file));
  }
  return warnings;
}

std::string where_keeps_nothing(const StudySpec& spec, const Sampler& sampler) {
  const auto& branches = spec.space.branches();
  const bool filtered = std::any_of(branches.begin(), branches.end(),
                                    [](const SpaceBranch& one) { return !one.where.empty(); });
  if (!filtered) return {};
  ProposalsMade made;
  while (!made.exhausted && made.next < kMostLooks) {
    made = collect_proposals(sampler, spec.sampler_seed, made.next, 1);
    if (!made.points.empty() || !made.error.empty()) return {};  // the run tells of an error
  }
  if (made.exhausted) return {};  // refused
  return fmt::format(
      "`where` keeps none of the first {} points; the others are still looked through", made.next);
}

std::string DoneBefore::text() const {
  const std::uint64_t ended = done + failed;
  if (ended == 0) return {};
  std::string text =
      fmt::format("{} of {} trial{} done before", ended, total(), total() == 1 ? "" : "s");
  if (failed > 0) text += fmt::format(", {} of them failed", failed);
  return text;
}

KnownTrials known_trials(const StudyState& state, const std::string& command) {
  KnownTrials known;
  for (const auto& [number, trial] : state.trials()) {
    if (state.command_of(trial) == command) {
      known[trial.point.identity()] = {trial.state, trial.added, number, trial.folder, {}};
    }
  }
  return known;
}

void RecordedTrials::take(const Entry& entry) {
  const auto find = [this](TrialNumber number) -> KnownTrial* {
    const auto trial = trials_.find(number);
    return trial == trials_.end() ? nullptr : &trial->second.known;
  };
  if (const auto* space = std::get_if<SpaceSet>(&entry.record)) {
    space_ = *space;
  } else if (const auto* made = std::get_if<TrialProposed>(&entry.record)) {
    trials_[made->trial] = {
        made->point.identity(),
        space_ ? space_->command_identity : "",
        {TrialState::waiting, made->added, made->trial, made->folder, made->point}};
  } else if (const auto* kept = std::get_if<TrialKept>(&entry.record)) {
    if (KnownTrial* trial = find(kept->trial)) trial->added = trial->added || kept->added;
  } else if (const auto* finished = std::get_if<TrialFinished>(&entry.record)) {
    if (KnownTrial* trial = find(finished->trial)) trial->state = finished->state;
  } else if (const auto* opened = std::get_if<TrialReopened>(&entry.record)) {
    if (KnownTrial* trial = find(opened->trial)) trial->state = TrialState::waiting;
  }
}

KnownTrials RecordedTrials::of_command(const std::string& command) const {
  KnownTrials known;
  for (const auto& [number, trial] : trials_) {
    if (trial.command == command) known[trial.identity] = trial.known;
  }
  return known;
}

std::optional<DoneBefore> count_done_before(const StudySpec& spec, const Sampler& sampler,
                                            const KnownTrials& known) {
  const std::uint64_t limit = spec.run_cap.value_or(kMostWalked);
  if (limit > kMostWalked) return std::nullopt;
  DoneBefore counts;
  std::set<std::string> met;
  ProposalsMade made;
  while (!made.exhausted && met.size() < limit) {
    made = collect_proposals(sampler, spec.sampler_seed, made.next, limit - met.size());
    if (!made.error.empty() || made.next > kMostLooks) return std::nullopt;
    for (const ProposalsMade::One& one : made.points) {
      std::string identity = one.point.identity();
      const auto trial = known.find(identity);
      if (!met.insert(std::move(identity)).second) continue;
      count(trial == known.end() ? TrialState::waiting : trial->second.state, counts);
    }
  }
  if (!made.exhausted && !spec.run_cap) return std::nullopt;
  for (const auto& [identity, trial] : known) {
    if (trial.added && !met.contains(identity)) count(trial.state, counts);
  }
  return counts;
}

Result<std::vector<TrialStatus>> first_to_run(const StudySpec& spec, const Sampler& sampler,
                                              const KnownTrials& known, TrialNumber last,
                                              bool retry_failed, std::size_t most) {
  std::vector<TrialStatus> first;
  const auto take = [&](const Point& point, const KnownTrial* trial) {
    if (trial != nullptr && trial->state != TrialState::waiting &&
        trial->state != TrialState::running &&
        (trial->state != TrialState::failed || !retry_failed)) {
      return;
    }
    TrialStatus made;
    made.number = trial == nullptr ? ++last : trial->number;
    made.point = point;
    made.folder = trial == nullptr ? trial_folder_name(made.number, point, spec.space.varying())
                                   : trial->folder;
    first.push_back(std::move(made));
  };
  const std::uint64_t limit = spec.run_cap.value_or(kMostWalked);
  std::set<std::string> met;
  ProposalsMade made;
  while (!made.exhausted && met.size() < limit && first.size() < most && made.next < kMostLooks) {
    const std::uint64_t wanted =
        known.empty() ? most : std::min(limit - met.size(), kMostWalked / 100);
    made = collect_proposals(sampler, spec.sampler_seed, made.next,
                             std::min(wanted, limit - met.size()));
    if (!made.error.empty()) return fail(ErrorCode::usage, made.error);
    for (const ProposalsMade::One& one : made.points) {
      if (first.size() == most || met.size() == limit) break;
      std::string identity = one.point.identity();
      const auto trial = known.find(identity);
      if (!met.insert(std::move(identity)).second) continue;
      take(one.point, trial == known.end() ? nullptr : &trial->second);
    }
  }
  for (const auto& [identity, trial] : known) {
    if (first.size() < most && trial.added && !met.contains(identity)) take(trial.point, &trial);
  }
  return first;
}

}  // namespace seedbed
