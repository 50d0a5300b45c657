#include "cli/run_output.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/detached.h"
#include "cli/view.h"
#include "env/posix/posix.h"
#include "reporters/log_tail.h"
#include "reporters/make_reporter.h"
#include "reporters/output.h"

namespace seedbed {
namespace {

constexpr Milliseconds kLastLines{2000};

Result<int> run_here(RunRequest request, const Invocation& invocation) {
  auto output = make_descriptor_output(STDOUT_FILENO, terminal_words_of_environment());
  const bool json = invocation.output == "json";
  request.make_reporters = [&output, json](const ReportFacts& facts) {
    ReportFacts told = facts;
    told.study_word = study_word(facts.study_dir);
    std::vector<std::unique_ptr<Reporter>> reporters;
    reporters.push_back(json ? make_json_reporter(*output, told)
                             : make_plain_reporter(*output, told, make_log_tail(told.study_dir)));
    return reporters;
  };
  Result<int> result = run_study(std::move(request));
  output->drain(kLastLines);
  return result;
}

}  // namespace

Result<int> run_and_show(RunRequest request, const Invocation& invocation, bool detach) {
  const bool watched = isatty(STDOUT_FILENO) == 1 && invocation.output == "text";
  if (!detach && !watched) return run_here(std::move(request), invocation);

  ViewTarget target;
  target.study_dir = request.study_dir;
  target.name = request.name;
  target.grace = request.grace;
  const std::string name = request.name;
  const std::string study_dir = request.study_dir;
  target.asked_at = make_steady_clock()->wall();
  // What comes while the controller starts is for the view to take: it may be a step of the ladder.
  HeldSignals held({SIGINT, SIGTERM, SIGHUP, SIGTSTP});
  auto pid = start_detached(std::move(request), held);
  if (!pid) return propagate(pid);
  if (detach && invocation.output == "json") {
    const nlohmann::ordered_json answer{
        {"schema", 1}, {"study", name}, {"study_dir", study_dir}, {"pid", *pid}};
    std::puts(answer.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
    std::fflush(stdout);
    return 0;
  }
  if (detach) {
    const std::string word = shell_quote(study_word(study_dir));
    std::printf(
        "%s runs in the background (pid %d)\n  look in:  seedbed attach %s\n  end it:   "
        "seedbed stop %s\n",
        name.c_str(), static_cast<int>(*pid), word.c_str(), word.c_str());
    std::fflush(stdout);  // a signal that was held back may end us now; the study runs
    return 0;
  }
  target.controller = *pid;
  target.is_our_child = true;
  Result<int> code = watch_study(target);
  held.keep();
  return code;
}

}  // namespace seedbed
