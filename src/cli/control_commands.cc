#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "base/text.h"
#include "cli/invocation.h"
#include "cli/option_checks.h"
#include "controller/control_handler.h"
#include "controller/record_only.h"
#include "controller/run_study.h"
#include "env/posix/study_lock.h"

// stop, pause, resume, slots, cancel, retry: words to the running controller. Without one, cancel
// and retry write the record, and the next run acts on it.

namespace seedbed {
namespace {

constexpr Milliseconds kAnswerTimeout{10'000};

Result<int> say(const ControlLine& request, const std::string& study_dir) {
  auto answer = ask_study(study_dir, request, kAnswerTimeout);
  if (!answer) return propagate(answer);
  std::printf("%s: %s\n", study_name(study_dir).c_str(), answer->c_str());
  return 0;
}

Result<int> say_to_live(const Invocation& invocation, const ControlLine& request) {
  auto dir = find_study(invocation);
  if (!dir) return propagate(dir);
  if (!StudyLock::holder(*dir)) {
    return fail(ErrorCode::usage,
                fmt::format("no controller runs for study '{}'; start one with {}",
                            study_name(*dir), run_again_line(*dir)));
  }
  return say(request, *dir);
}

struct ControlOptions {
  bool drain = false;
  bool freeze = false;
  std::string slots;
  std::vector<std::string> trials;
};

/// Cancels or retries, through the running controller or in the record alone.
template <typename Asked>
Result<int> about_trials(const Invocation& invocation, const ControlOptions& options,
                         ControlLine (*request)(const std::vector<TrialNumber>&)) {
  auto dir = find_study(invocation);
  if (!dir) return propagate(dir);
  auto trials = read_trials(*dir, options.trials);
  if (!trials) return propagate(trials);
  if (StudyLock::holder(*dir)) return say(request(*trials), *dir);
  auto text = record_only(*dir, invocation.command_line(), Asked{*trials});
  if (!text) return propagate(text);
  std::printf("%s: %s\n", study_name(*dir).c_str(), text->c_str());
  return 0;
}

Result<int> cancel(const Invocation& invocation, const ControlOptions& options) {
  return about_trials<CancelAsked>(invocation, options, control_request::cancel);
}

Result<int> retry(const Invocation& invocation, const ControlOptions& options) {
  return about_trials<RetryAsked>(invocation, options, control_request::retry);
}

using Options = std::shared_ptr<ControlOptions>;

struct Words {
  const char* name;
  const char* what;
  const char* example;  ///< what follows the name
};

CLI::App* add(CLI::App& app, Invocation& invocation, const Options& options, const Words& words,
              bool positional_study,
              std::function<Result<int>(const Invocation&, const ControlOptions&)> act) {
  CLI::App* command = app.add_subcommand(words.name, words.what);
  command->footer(fmt::format("Example:\n  seedbed {} {}", words.name, words.example));
  add_study_options(*command, invocation, positional_study);
  command->callback([&invocation, options, act = std::move(act)] {
    invocation.action = [&invocation, options, act] { return act(invocation, *options); };
  });
  return command;
}

}  // namespace

void add_control_commands(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<ControlOptions>();
  add(app, invocation, options,
      {"stop", "End the run: running trials go back to waiting", "digits --drain"}, true,
      [](const Invocation& call, const ControlOptions& given) {
        return say_to_live(call, control_request::stop(given.drain));
      })
      ->add_flag("--drain", options->drain, "Let running trials finish");
  add(app, invocation, options, {"pause", "Start no new trials", "digits --freeze"}, true,
      [](const Invocation& call, const ControlOptions& given) {
        return say_to_live(call, control_request::pause(true, given.freeze));
      })
      ->add_flag("--freeze", options->freeze,
                 "Stop the running trials where they are, too; their limits wait");
  add(app, invocation, options, {"resume", "Start trials again", "digits"}, true,
      [](const Invocation& call, const ControlOptions&) {
        return say_to_live(call, control_request::pause(false));
      });
  CLI::App* slots = add(app, invocation, options,
                        {"slots", "Change how many trials run at once", "8 --study digits"}, false,
                        [](const Invocation& call, const ControlOptions& given) {
                          return say_to_live(call, control_request::slots(slots_of(given.slots)));
                        });
  slot_count(slots->add_option("N", options->slots, "Trials at once; auto: what fits"))->required();
  add(app, invocation, options,
      {"cancel", "Never run these trials; stop them if they run", "3 5-8 --study digits"}, false,
      cancel)
      ->add_option("TRIAL", options->trials, "Numbers: 3, 5-8")
      ->required();
  add(app, invocation, options, {"retry", "Run failed or cancelled trials again", "--study digits"},
      false, retry)
      ->add_option("TRIAL", options->trials, "Numbers: 3, 5-8; default: all failed ones");
}

}  // namespace seedbed
