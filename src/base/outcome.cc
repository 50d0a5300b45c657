#include "base/outcome.h"

#include <csignal>
#include <cstring>

namespace seedbed {
namespace {

std::string signal_name(int number) {
  const char* name = sigabbrev_np(number);
  const std::string digits = std::to_string(number);
  if (name == nullptr) return "signal " + digits;
  return "SIG" + std::string(name) + " (" + digits + ")";
}

}  // namespace

std::string describe(const Outcome& outcome) {
  const std::string& detail = outcome.detail;
  const auto with_detail = [&detail](const std::string& text) {
    return detail.empty() ? text : text + " (" + detail + ")";
  };
  switch (outcome.kind) {
    case OutcomeKind::exited:
      return with_detail("exit code " + std::to_string(outcome.code));
    case OutcomeKind::signalled:
      return with_detail("killed by " + signal_name(outcome.code));
    case OutcomeKind::timed_out:
      return with_detail("timed out");
    case OutcomeKind::start_failed:
      return detail.empty() ? "could not be started" : "could not be started: " + detail;
    case OutcomeKind::stopped:
      return with_detail("stopped");
    case OutcomeKind::pruned:
      return with_detail("pruned");
    case OutcomeKind::lost:
      return with_detail("lost");
    case OutcomeKind::preempted:
      return with_detail("preempted");
    case OutcomeKind::out_of_memory:
      return with_detail("killed for memory");
  }
  return with_detail("ended");
}

}  // namespace seedbed
