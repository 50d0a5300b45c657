#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/local_time.h"
#include "base/number_text.h"
#include "base/shown_text.h"
#include "base/text.h"
#include "cli/invocation.h"
#include "cli/text_wrap.h"
#include "controller/control_handler.h"
#include "controller/run_study.h"
#include "env/posix/study_lock.h"
#include "machine/machine.h"
#include "results/study_reader.h"

namespace seedbed {
namespace {

using Json = nlohmann::ordered_json;

std::string when(const std::optional<Timestamp>& time) {
  return time ? format_local_time(*time) : "-";
}

void line(const std::string& key, const std::string& value) {
  std::printf("  %-10s %s\n", key.c_str(), value.c_str());
}

/// What the environment has besides the user's own. Where seedbed keeps the trial's things is left
/// out: the folder and the line to repeat say it.
std::string environment_lines(const AttemptDetails& attempt) {
  constexpr std::size_t kLongestValue = 60;
  const std::string indent(13, ' ');  // below the value of `line`
  std::vector<std::string> words;
  bool own = false;
  for (const auto& variable : attempt.env) {
    if (variable.name.starts_with("SEEDBED_") || variable.name == "WANDB_SWEEP_PARAM_PATH") {
      own = true;
      continue;
    }
    words.push_back(
        variable.value ? one_line(variable.name + "=" + shell_quote(*variable.value), kLongestValue)
                       : one_line(variable.name) + " (removed)");
  }
  if (own) words.emplace_back("SEEDBED_…");
  return wrap_words(words, indent).substr(words.empty() ? 0 : indent.size());
}

/// `0, GPU-1234 (NVIDIA H200), 0.5 of it`.
std::string gpu_text(const AttemptDetails::LentDevice& device) {
  std::string text = one_line(device.index ? std::to_string(*device.index) : device.word);
  if (!device.uuid.empty() && device.uuid != text) text += ", " + one_line(device.uuid);
  if (!device.name.empty()) text += " (" + one_line(device.name) + ")";
  if (device.share < 1) text += fmt::format(", {:.3g} of it", device.share);
  return text;
}

void print_attempt(const AttemptDetails& attempt) {
  std::printf("attempt %u: %s%s\n", attempt.attempt,
              attempt.outcome ? describe(*attempt.outcome).c_str() : attempt.phase.c_str(),
              attempt.stopping
                  ? (" (stopped: " + one_line(attempt.stopping->reason, 300) + ")").c_str()
                  : "");
  line("started", when(attempt.started_at));
  line("ended", when(attempt.ended_at));
  if (attempt.usage) {
    line("used", fmt::format("{} wall, {} CPU, peak memory {}",
                             format_duration(Milliseconds(attempt.usage->wall_ms)),
                             format_duration(Milliseconds(attempt.usage->cpu_ms)),
                             format_bytes(attempt.usage->peak_memory)));
  }
  if (attempt.started) {
    line("host",
         fmt::format("{}, pid {}, slot {}, cores {}", attempt.started->host, attempt.started->pid,
                     attempt.allocation.slot,
                     attempt.allocation.cores.empty() ? "not pinned"
                                                      : number_ranges(attempt.allocation.cores)));
  }
  for (const AttemptDetails::LentDevice& device : attempt.devices) line("GPU", gpu_text(device));
  if (!attempt.mpi.empty()) line("MPI", one_line(attempt.mpi));
  if (!attempt.argv.empty()) line("command", one_line(shell_quote(attempt.argv), 4000));
  if (!attempt.cwd.empty()) line("folder", one_line(attempt.cwd));
  if (!attempt.env.empty()) {
    line("variables", environment_lines(attempt));
  }
  if (!attempt.code_file.empty()) {
    line("code", fmt::format("{} (hash {})", one_line(attempt.code_file), attempt.code_hash));
  }
  if (!attempt.git_commit.empty()) {
    line("git", attempt.git_commit + (attempt.git_dirty ? ", with uncommitted changes" : ""));
  }
  line("log", one_line(attempt.log));
}

void print_text(const TrialDetails& details, const std::string& why) {
  const TrialRow& row = details.row;
  std::printf("trial %llu: %s%s%s%s\n", static_cast<unsigned long long>(row.number),
              row.ended_unseen ? "interrupted" : std::string(trial_state_word(row.state)).c_str(),
              row.metric_missing ? ", metric missing" : "",
              row.in_space ? "" : ", outside the present space",
              row.reason.empty() ? "" : (": " + one_line(row.reason, 500)).c_str());
  if (!why.empty()) std::printf("  %s\n", one_line(why, 500).c_str());
  for (const Parameter& parameter : row.point.parameters) {
    line(one_line(parameter.name),
         parameter.value.is_absent()
             ? "(absent)"
             : fmt::format("{} ({})", shown_text(parameter.value.spelling(), 500),
                           kind_word(parameter.value.kind())));
  }
  for (const MetricNumbers& metric : row.metrics) {
    line(one_line(metric.name),
         fmt::format("last {} at step {}, min {}, max {}, {} point{}",
                     stored_number_text(metric.last), stored_number_text(metric.last_step),
                     metric.min ? stored_number_text(*metric.min) : "-",
                     metric.max ? stored_number_text(*metric.max) : "-", metric.n,
                     metric.n == 1 ? "" : "s"));
  }
  line("files", one_line(details.folder_path()));
  for (const Entry& entry : details.notes) {
    const auto& note = std::get<NoteAdded>(entry.record);
    line("note", one_line(note.text, 500));
  }
  for (const AttemptDetails& attempt : details.attempts) print_attempt(attempt);
  const std::string repeat = details.repeat_line();
  if (!repeat.empty()) {
    std::printf("repeat it by hand:\n%s\n", wrap_shell_line(repeat, "  ").c_str());
  }
}

Json number_json(double value) {
  return std::isfinite(value) ? Json(value) : Json(format_number(value));
}

Json attempt_json(const AttemptDetails& attempt) {
  Json json{{"attempt", attempt.attempt}, {"phase", attempt.phase}};
  if (attempt.outcome) {
    json["outcome"] = outcome_word(attempt.outcome->kind);
    json["code"] = attempt.outcome->code;
    json["detail"] = attempt.outcome->detail;
  }
  json["started"] = attempt.started_at ? Json(format_timestamp(*attempt.started_at)) : Json();
  json["ended"] = attempt.ended_at ? Json(format_timestamp(*attempt.ended_at)) : Json();
  if (attempt.usage) {
    json["wall_s"] = static_cast<double>(attempt.usage->wall_ms) / 1000;
    json["cpu_s"] = static_cast<double>(attempt.usage->cpu_ms) / 1000;
    json["peak_memory"] = attempt.usage->peak_memory;
  }
  if (attempt.started) {
    json["host"] = attempt.started->host;
    json["pid"] = attempt.started->pid;
  }
  json["slot"] = attempt.allocation.slot;
  json["cores"] = attempt.allocation.cores;
  json["devices"] = Json::array();
  for (const AttemptDetails::LentDevice& device : attempt.devices) {
    json["devices"].push_back({{"word", device.word},
                               {"uuid", device.uuid},
                               {"name", device.name},
                               {"index", device.index ? Json(*device.index) : Json()},
                               {"share", device.share}});
  }
  json["argv"] = attempt.argv;
  json["program"] = attempt.program;
  if (!attempt.mpi.empty()) json["mpi"] = attempt.mpi;
  json["working_dir"] = attempt.cwd;
  Json env = Json::object();
  for (const auto& variable : attempt.env) {
    env[variable.name] = variable.value ? Json(*variable.value) : Json();
  }
  json["env"] = std::move(env);
  json["code_file"] = attempt.code_file;
  json["code_hash"] = attempt.code_hash;
  json["git_commit"] = attempt.git_commit;
  json["git_dirty"] = attempt.git_dirty;
  json["log"] = attempt.log;
  return json;
}

void print_json(const TrialDetails& details, const std::string& why) {
  const TrialRow& row = details.row;
  Json json{{"schema", 1},
            {"trial", row.number},
            {"state", row.ended_unseen ? "interrupted" : trial_state_word(row.state)},
            {"reason", row.reason},
            {"metric_missing", row.metric_missing},
            {"in_space", row.in_space},
            {"folder", details.folder_path()}};
  if (!why.empty()) json["why_waiting"] = why;
  json["parameters"] = Json::object();
  for (const Parameter& parameter : row.point.parameters) {
    json["parameters"][parameter.name] = {{"text", parameter.value.spelling()},
                                          {"kind", kind_word(parameter.value.kind())}};
  }
  json["metrics"] = Json::object();
  for (const MetricNumbers& metric : row.metrics) {
    json["metrics"][metric.name] = {{"last", number_json(metric.last)},
                                    {"last_step", number_json(metric.last_step)},
                                    {"n", metric.n}};
  }
  json["attempts"] = Json::array();
  for (const AttemptDetails& attempt : details.attempts) {
    json["attempts"].push_back(attempt_json(attempt));
  }
  json["repeat"] = details.repeat_line();
  std::puts(json.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
}

/// Only the running controller knows what it waits for; without one the answer is plain.
std::string why_waiting(const std::string& dir, const TrialRow& row) {
  if (row.state != TrialState::waiting) return {};
  if (!StudyLock::holder(dir)) {
    return "waits because no controller runs: " + run_again_line(dir);
  }
  constexpr Milliseconds kAnswerTimeout{5000};
  auto answer = ask_study(dir, control_request::why(row.number), kAnswerTimeout);
  return answer ? *answer : answer.error().message;
}

Result<int> show(const Invocation& invocation, const std::string& word) {
  auto dir = find_study(invocation);
  if (!dir) return propagate(dir);
  auto trials = read_trials(*dir, {word});
  if (!trials) return propagate(trials);
  auto reader = StudyReader::open(*dir);
  if (!reader) return propagate(reader);
  for (const TrialNumber trial : *trials) {
    auto details = reader->trial(trial);
    if (!details) return propagate(details);
    const std::string why = why_waiting(*dir, details->row);
    if (invocation.output == "json") {
      print_json(*details, why);
    } else {
      print_text(*details, why);
    }
  }
  return 0;
}

}  // namespace

void add_show_command(CLI::App& app, Invocation& invocation) {
  auto trial = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("show", "Everything about a trial; why it waits, too");
  command->add_option("TRIAL", *trial, "Its number, or the name of its folder")->required();
  add_study_options(*command, invocation, false);
  add_output_option(*command, invocation);
  command->footer("Example:\n  seedbed show 3 --study digits");
  command->callback([&invocation, trial] {
    invocation.action = [&invocation, trial] { return show(invocation, *trial); };
  });
}

}  // namespace seedbed
