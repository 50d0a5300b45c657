#include "cli/plan.h"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>

#include "base/bytes.h"
#include "base/local_time.h"
#include "base/number_text.h"
#include "base/shown_text.h"
#include "base/text.h"
#include "cli/text_wrap.h"
#include "controller/attempt_setup.h"
#include "controller/before_run.h"
#include "controller/held_study.h"
#include "controller/lend_machine.h"
#include "controller/proposal_source.h"
#include "env/posix/files.h"
#include "env/posix/identity.h"
#include "env/posix/study_lock.h"
#include "results/study_reader.h"
#include "samplers/sampler.h"

namespace seedbed {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kShownTrials = 5;
constexpr std::size_t kShownValues = 12;
constexpr std::uint64_t kCountedByWalking = 100'000;

struct PlannedTrial {
  TrialStatus trial;
  std::vector<std::string> argv;
  std::vector<std::string> env;       ///< `NAME=value` of changed variables
  std::set<std::string> seedbed_env;  ///< of these, where seedbed keeps the trial's things
  std::set<std::string> own_env;      ///< of these, whose value is the trial's own
  std::string folder;
  std::string refused;  ///< why this trial could not start
};

struct Plan {
  std::string trials;  ///< `24 trials`, `at most 24 trials`, `endless`
  Json count;
  std::string machine;
  Request request;
  std::uint32_t slots = 1;
  std::optional<RankPlan> mpi;
  std::vector<std::string> warnings;
  std::vector<std::string> refusals;  ///< why `run` would not start
  std::optional<DoneBefore> before;   ///< in the study of that name, when there is one
  bool study_exists = false;
  KnownTrials known;           ///< of that study and this command
  TrialNumber last_known = 0;  ///< the last of all
  std::vector<PlannedTrial> first;
};

/// What the study of that name knows already, read beside whoever runs it.
Status look_at_study(const RunRequest& request, const Sampler& sampler, Plan& plan) {
  if (!path_exists(request.study_dir + "/study.db")) return {};
  auto reader = StudyReader::open(request.study_dir);
  if (!reader) return propagate(reader);
  RecordedTrials trials;
  auto read = reader->entries_after({}, [&](const Entry& entry) { trials.take(entry); });
  if (!read) return propagate(read);
  plan.study_exists = true;
  plan.known = trials.of_command(request.spec.command.identity());
  plan.last_known = trials.last();
  plan.before = count_done_before(request.spec, sampler, plan.known);
  if (plan.before && request.retry_failed) {
    plan.before->left += plan.before->failed;
    plan.before->failed = 0;
  }
  if (const auto holder = StudyLock::holder(request.study_dir)) {
    plan.refusals.push_back(fmt::format("the study is in use by pid {} on {} since {}", holder->pid,
                                        holder->host, local_time_of(holder->since)));
  }
  return check_same_command(request.spec, trials.latest_space(), request.name, request.new_command);
}

/// The checks that `run` makes before it starts anything.
void find_refusals(const RunRequest& request, bool yes, const Sampler& sampler, AttemptSetup& setup,
                   const SetupContext& context, const StudyLending& lending, Plan& plan) {
  const auto take = [&plan](const Status& status) {
    if (!status) plan.refusals.push_back(status.error().message);
  };
  take(look_at_study(request, sampler, plan));
  take(check_size(request.spec, yes));
  if (const auto config = engine_config(request.spec); !config) take(propagate(config));
  if (const auto pruners = make_pruners(request.spec); !pruners) take(propagate(pruners));
  take(Placement(lending.inventory).can_ever_fit(lending.request));
  take(check_first_command(request.spec, sampler, setup, context));
}

/// Counts exactly where filters make multiplication an upper bound and walking is cheap.
Result<std::string> count_trials(const StudySpec& spec, const Sampler& sampler, Json& json) {
  PointCount count = spec.space.count();
  if (!count.infinite && !count.exact && !count.saturated && count.value <= kCountedByWalking) {
    std::set<std::string> distinct;
    ProposalsMade made;
    while (!made.exhausted) {
      made = collect_proposals(sampler, spec.sampler_seed, made.next, kCountedByWalking);
      if (!made.error.empty()) return fail(ErrorCode::usage, made.error);
      for (const auto& one : made.points) distinct.insert(one.point.identity());
    }
    count.value = distinct.size();
    count.exact = true;
  }
  if (spec.run_cap && (count.infinite || count.saturated || *spec.run_cap < count.value)) {
    json = {{"trials", *spec.run_cap}, {"exact", count.exact || count.infinite}};
    return fmt::format("{} trial{} (the first {} of {})", *spec.run_cap,
                       *spec.run_cap == 1 ? "" : "s", *spec.run_cap,
                       count.infinite    ? "an endless space"
                       : count.saturated ? "more than 10^19 points"
                                         : fmt::format("{} points", count.value));
  }
  json = {{"trials", count.value}, {"exact", count.exact && !count.saturated}};
  if (count.infinite) {
    json = {{"trials", nullptr}, {"exact", false}};
    return std::string("an endless space; give --limit N");
  }
  if (count.saturated) return std::string("more than 10^19 trials");
  return fmt::format("{}{} trial{}", count.exact ? "" : "at most ", count.value,
                     count.value == 1 ? "" : "s");
}

/// ` and 1 GPU`, ` and 0.25 of a GPU`, ` and 8GiB of a GPU`; empty without any.
std::string gpus_text(const Request& request) {
  if (request.gpu_memory > 0) return " and " + format_bytes(request.gpu_memory) + " of a GPU";
  if (request.gpus <= 0) return {};
  const std::string count = number_text(request.gpus);
  return request.gpus < 1   ? " and " + count + " of a GPU"
         : request.gpus > 1 ? " and " + count + " GPUs"
                            : " and 1 GPU";
}

std::string shown_values(const Dimension& dimension) {
  if (!dimension.finite() || dimension.values.empty()) {
    return dimension.distribution ? dimension.distribution->describe() : "";
  }
  std::vector<std::string> values;
  for (std::uint64_t i = 0; i < dimension.size() && i < kShownValues; ++i) {
    const Value value = dimension.at(i);
    values.push_back(fmt::format("{} ({})",
                                 value.is_absent() ? "absent" : shown_text(value.spelling(), 40),
                                 kind_word(value.kind())));
  }
  if (dimension.size() > kShownValues) {
    values.push_back(fmt::format("… {} in all", dimension.size()));
  }
  return join(values, ", ");
}

/// Whether another trial may have another value, whatever the shown ones have.
bool is_per_trial(const StudySpec& spec, const std::string& variable) {
  const auto set = spec.env.find(variable);
  return variable.ends_with("_VISIBLE_DEVICES") ||
         (set != spec.env.end() && set->second.find('{') != std::string::npos);
}

Result<Plan> make_plan(const RunRequest& request, bool yes) {
  const StudySpec& spec = request.spec;
  auto sampler = make_sampler(spec);
  if (!sampler) return propagate(sampler);
  Plan plan;
  auto counted = count_trials(spec, **sampler, plan.count);
  if (!counted) return propagate(counted);
  plan.trials = *counted;
  auto lending = lend_machine(spec, request.slots, request.gpus, request.surroundings);
  if (!lending) return propagate(lending);
  plan.machine = lending->describe();
  plan.slots = lending->inventory.slots;
  plan.request = lending->request;
  plan.warnings = spec.warnings;
  for (std::string& warning : shared_capture_warnings(spec))
    plan.warnings.push_back(std::move(warning));
  if (std::string nothing = where_keeps_nothing(spec, **sampler); !nothing.empty()) {
    plan.warnings.push_back(std::move(nothing));
  }
  for (std::string& warning : lending->warnings) plan.warnings.push_back(std::move(warning));

  SetupContext context;
  context.study_dir = request.study_dir;
  context.working_dir = request.working_dir;
  context.surroundings = request.surroundings;
  context.host = host_name();
  context.devices = lending->devices;
  context.pins = !lending->inventory.shared_cores && !lending->inventory.cores.empty();
  context.write_files = false;
  if (!spec.template_file.empty()) {
    auto text = read_file(spec.template_file);
    if (!text) return tl::unexpected(text.error().with_context("template"));
    context.template_text = std::move(*text);
  }
  auto setup = make_attempt_setup(spec, context);
  find_refusals(request, yes, **sampler, *setup, context, *lending, plan);
  if (Status mpi = prepare_mpi(spec, **sampler, *setup, *lending, false, context); !mpi) {
    plan.refusals.push_back(mpi.error().message);
  }
  for (const std::string& warning : context.mpi.warnings) plan.warnings.push_back(warning);
  plan.mpi = context.mpi.plan;
  setup = make_attempt_setup(spec, context);
  Placement placement(lending->inventory);
  auto first = first_to_run(spec, **sampler, plan.known, plan.last_known, request.retry_failed,
                            kShownTrials);
  if (!first) return propagate(first);
  for (TrialStatus& trial : *first) {
    PlannedTrial planned;
    planned.trial = std::move(trial);
    const AttemptId attempt{planned.trial.number, 1};
    auto allocation = placement.place(plan.request);
    if (!allocation) {  // all are lent: the next one starts when they have ended
      placement = Placement(lending->inventory);
      allocation = placement.place(plan.request).value_or(Allocation{});
    }
    placement.lend(*allocation);
    auto prepared = setup->prepare(planned.trial, attempt, *allocation);
    if (prepared) {
      planned.argv = prepared->order.argv;
      const Json details = Json::parse(prepared->details_json);
      for (const auto& [name, value] : details.at("env").items()) {
        // A port that is free now; the run takes its own.
        if (name == "MASTER_PORT" && !spec.env.contains(name)) continue;
        const bool ours = name.starts_with("SEEDBED_") || name == "WANDB_SWEEP_PARAM_PATH";
        if (ours && !spec.env.contains(name)) planned.seedbed_env.insert(name);
        if (is_per_trial(spec, name)) planned.own_env.insert(name);
        planned.env.push_back(value.is_null() ? name + " (removed)"
                                              : name + "=" + value.get<std::string>());
      }
    } else {
      planned.refused = prepared.error().message;
    }
    planned.folder = setup->trial_dir(planned.trial);
    plan.first.push_back(std::move(planned));
  }
  return plan;
}

constexpr std::size_t kLongestVariable = 80;

std::string name_of(const std::string& variable) {
  return variable.substr(0, variable.find_first_of("= "));
}

/// Variables that all of the shown trials have alike: said once.
std::set<std::string> common_env(const Plan& plan) {
  std::set<std::string> common;
  bool first = true;
  for (const PlannedTrial& planned : plan.first) {
    if (!planned.refused.empty()) continue;
    std::set<std::string> own(planned.env.begin(), planned.env.end());
    if (first) {
      common = std::move(own);
    } else {
      std::erase_if(common, [&](const std::string& one) { return !own.contains(one); });
    }
    first = false;
    std::erase_if(common, [&](const std::string& one) {
      const std::string name = name_of(one);
      return planned.seedbed_env.contains(name) || planned.own_env.contains(name);
    });
  }
  return common;
}

/// Several lines, each safe for a terminal.
std::string safe(const std::string& text) {
  std::vector<std::string> lines;
  for (const std::string_view line : split(text, '\n')) lines.push_back(one_line(line));
  return join(lines, "\n");
}

void print_text(const RunRequest& request, const Plan& plan) {
  const StudySpec& spec = request.spec;
  std::string text = fmt::format("{}: {}\n", request.name, plan.trials);
  text += fmt::format("  records   {}\n", request.study_dir);
  const int ranks = plan.request.ranks;
  text += fmt::format("  machine   {}; {} at once, {}{} core{}{} each\n", plan.machine, plan.slots,
                      ranks > 1 ? fmt::format("{} ranks of ", ranks) : "",
                      number_text(plan.request.cpus), plan.request.cpus == 1 ? "" : "s",
                      gpus_text(plan.request));
  if (plan.mpi) {
    text += fmt::format("  MPI       {} ({})\n", one_line(plan.mpi->launcher.resolved),
                        plan.mpi->launcher.name());
  }
  if (!spec.objective.metric.empty()) {
    text += fmt::format("  metric    {} ({})\n", one_line(spec.objective.metric),
                        spec.objective.goal == Goal::maximize ? "maximize" : "minimize");
  }
  if (plan.before) {
    text += fmt::format("  study     exists: {} done, {} failed, {} to run\n", plan.before->done,
                        plan.before->failed, plan.before->left);
  } else if (plan.study_exists) {
    text += "  study     exists; what of this is done already was not counted\n";
  }
  text += "  parameters\n";
  for (const std::string& name : spec.space.names()) {
    const Dimension* dimension = spec.space.dimension(name);
    text +=
        fmt::format("    {}: {}\n", one_line(name, 60),
                    dimension == nullptr ? "from the explicit trials" : shown_values(*dimension));
  }
  for (const std::string& warning : plan.warnings) text += "  warning: " + one_line(warning) + "\n";
  for (const std::string& key : spec.unsupported)
    text += "  without effect: " + one_line(key) + "\n";
  const std::set<std::string> common = common_env(plan);
  if (!common.empty()) {
    text += "  environment of every trial\n";
    std::vector<std::string> words;
    for (const std::string& one : common) words.push_back(one_line(one, kLongestVariable));
    text += wrap_words(words, "    ") + "\n";
  }
  text += plan.first.empty() ? "  nothing to run\n" : "  first trials\n";
  for (const PlannedTrial& planned : plan.first) {
    text += fmt::format("    {}\n", planned.trial.folder);
    if (!planned.refused.empty()) {
      text += "      refused: " + planned.refused + "\n";
      continue;
    }
    text += "      " + one_line(shell_quote(planned.argv), 2000) + "\n";
    std::vector<std::string> env = {"env"};
    for (const std::string& one : planned.env) {
      if (common.contains(one) || planned.seedbed_env.contains(name_of(one))) continue;
      env.push_back(one_line(one, kLongestVariable));
    }
    if (!planned.seedbed_env.empty()) env.emplace_back("SEEDBED_…");
    if (env.size() > 1) text += wrap_words(env, "      ") + "\n";
  }
  for (const std::string& refusal : plan.refusals)
    text += "run would refuse: " + safe(refusal) + "\n";
  text += "Nothing was started or written.\n";
  std::fputs(text.c_str(), stdout);
}

void print_json(const RunRequest& request, const Plan& plan) {
  const StudySpec& spec = request.spec;
  Json json;
  json["schema"] = 1;
  json["study"] = request.name;
  json["study_dir"] = request.study_dir;
  json["count"] = plan.count;
  json["slots"] = plan.slots;
  json["machine"] = plan.machine;
  if (plan.mpi) {
    json["mpi"] = {{"launcher", plan.mpi->launcher.resolved}, {"name", plan.mpi->launcher.name()}};
  }
  if (!spec.objective.metric.empty()) {
    json["metric"] = {{"name", spec.objective.metric},
                      {"goal", spec.objective.goal == Goal::maximize ? "maximize" : "minimize"}};
  }
  json["parameters"] = Json::array();
  for (const std::string& name : spec.space.names()) {
    const Dimension* dimension = spec.space.dimension(name);
    Json one{{"name", name}};
    if (dimension != nullptr && !dimension->values.empty()) {
      one["values"] = Json::array();
      for (const Value& value : dimension->values) {
        one["values"].push_back({{"text", value.spelling()}, {"kind", kind_word(value.kind())}});
      }
    } else if (dimension != nullptr && dimension->distribution) {
      one["distribution"] = dimension->distribution->describe();
    }
    json["parameters"].push_back(std::move(one));
  }
  if (plan.before) {
    json["before"] = {{"done", plan.before->done},
                      {"failed", plan.before->failed},
                      {"to_run", plan.before->left}};
  }
  json["refusals"] = plan.refusals;
  json["warnings"] = plan.warnings;
  json["unsupported"] = spec.unsupported;
  json["first_trials"] = Json::array();
  for (const PlannedTrial& planned : plan.first) {
    Json one{{"trial", planned.trial.number},
             {"folder", planned.folder},
             {"argv", planned.argv},
             {"env", planned.env},
             {"working_dir", request.working_dir}};
    if (!planned.refused.empty()) one["refused"] = planned.refused;
    json["first_trials"].push_back(std::move(one));
  }
  std::puts(json.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
}

}  // namespace

Result<int> print_plan(const Invocation& invocation, const RunOptions& options) {
  auto request = read_run(invocation, options);
  std::string endless;
  if (!request && !options.limit) {
    // What a limit alone would mend is a space without an end: its first points can be shown.
    RunOptions limited = options;
    limited.limit = kShownTrials;
    auto first = read_run(invocation, limited);
    if (!first) return propagate(request);
    endless = request.error().message;
    request = std::move(first);
  }
  if (!request) return propagate(request);
  auto plan = make_plan(*request, options.yes);
  if (!plan) return propagate(plan);
  if (!endless.empty()) {
    plan->trials = "an endless space";
    plan->count = {{"trials", nullptr}, {"exact", false}};
    plan->before.reset();
    plan->refusals.push_back(endless);
  }
  if (invocation.output == "json") {
    print_json(*request, *plan);
  } else {
    print_text(*request, *plan);
  }
  return 0;
}

}  // namespace seedbed
