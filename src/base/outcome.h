#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace seedbed {

/// How an attempt ended.
enum class OutcomeKind {
  exited,         ///< by itself, with `code`
  signalled,      ///< by signal `code`, not sent by us
  timed_out,      ///< by us, at the limit named in `detail` (time, silence)
  start_failed,   ///< the program could not be started; `detail` says why
  stopped,        ///< by us, because the user interrupted, cancelled or stopped
  pruned,         ///< by us, because a pruner said so
  lost,           ///< nobody knows: the shim and its record are gone
  preempted,      ///< by the cluster, which wants the machine back
  out_of_memory,  ///< killed for memory, with proof
};

struct Outcome {
  OutcomeKind kind = OutcomeKind::exited;
  int code = 0;        ///< exit code (exited) or signal number (signalled, stopped by signal)
  std::string detail;  ///< one line for people; empty when the kind and code say all

  bool operator==(const Outcome&) const = default;

  /// Exit code 0 of the program's own accord.
  [[nodiscard]] bool succeeded() const { return kind == OutcomeKind::exited && code == 0; }
};

/// The word used in files, tables and `retries: {on: [...]}`. Header-only: the shim needs it too.
[[nodiscard]] constexpr std::string_view outcome_word(OutcomeKind kind) {
  switch (kind) {
    case OutcomeKind::exited:
      return "exited";
    case OutcomeKind::signalled:
      return "signalled";
    case OutcomeKind::timed_out:
      return "timed_out";
    case OutcomeKind::start_failed:
      return "start_failed";
    case OutcomeKind::stopped:
      return "stopped";
    case OutcomeKind::pruned:
      return "pruned";
    case OutcomeKind::lost:
      return "lost";
    case OutcomeKind::preempted:
      return "preempted";
    case OutcomeKind::out_of_memory:
      return "out_of_memory";
  }
  return "lost";
}

[[nodiscard]] constexpr std::optional<OutcomeKind> outcome_from_word(std::string_view word) {
  for (OutcomeKind kind : {OutcomeKind::exited, OutcomeKind::signalled, OutcomeKind::timed_out,
                           OutcomeKind::start_failed, OutcomeKind::stopped, OutcomeKind::pruned,
                           OutcomeKind::lost, OutcomeKind::preempted, OutcomeKind::out_of_memory}) {
    if (outcome_word(kind) == word) return kind;
  }
  return std::nullopt;
}

/// One line for people: `exit code 3`, `killed by SIGSEGV (11)`, `timed out (silence)`.
[[nodiscard]] std::string describe(const Outcome& outcome);

}  // namespace seedbed
