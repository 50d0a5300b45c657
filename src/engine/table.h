#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "engine/state.h"

// What may happen to an attempt and to a trial, as data. Three tables:
//   1. news of an attempt:  where it stands x what the launcher says  -> what the engine makes of
//   it
//   2. fate of a trial:     why we asked it to stop x how it ended    -> what becomes of the trial
//   3. records:             state of a trial x record about it        -> its next state, or a bug
// Every cell is written out, so that a forgotten case shows as a hole.

namespace seedbed {

// ---- 1. News of an attempt ---------------------------------------------------------------------

/// Where an attempt stands as far as its news is concerned.
enum class Stage {
  unknown,   ///< no record of it
  planned,   ///< AttemptPlanned; its program has not begun as far as we know
  running,   ///< AttemptStarted
  recalled,  ///< asked to stop before it was known to have begun
  stopping,  ///< asked to stop while it ran
  gone,      ///< its tree is gone, how its main process ended is not known yet
  ended,     ///< AttemptEnded, its tree lives on
  closed,    ///< ended and released
  lost,      ///< ended as lost and released, and no newer attempt has ended: a late end counts
};
inline constexpr std::size_t kStages = 9;

enum class News { runs, did_not_start, finished, tree_gone, is_lost, unclaimed, metrics };
inline constexpr std::size_t kNews = 7;

enum class Reaction {
  ignore,       ///< old news, or said twice
  begin,        ///< record AttemptStarted
  begin_stop,   ///< record AttemptStarted, and ask it to stop again
  stop_again,   ///< ask it to stop again: a new controller has adopted it
  refuse,       ///< record its end as start_failed, and its release
  finish,       ///< record its end
  finish_late,  ///< record the true end of an attempt believed lost
  release,      ///< record AllocationReleased
  lose,         ///< record its end as lost, and its release
  give_up,      ///< record that it never began, and its release
  measure,      ///< record the points and ask the pruners
  keep,         ///< record the points
};

namespace table {
using R = Reaction;
// clang-format off
inline constexpr std::array<std::array<Reaction, kNews>, kStages> kReactions = {{
  //             runs           did_not_start  finished        tree_gone   is_lost     unclaimed   metrics
  /* unknown  */ {R::ignore,     R::ignore,     R::ignore,      R::ignore,  R::ignore,  R::ignore,  R::ignore},
  /* planned  */ {R::begin,      R::refuse,     R::finish,      R::release, R::lose,    R::give_up, R::measure},
  /* running  */ {R::ignore,     R::ignore,     R::finish,      R::release, R::lose,    R::lose,    R::measure},
  /* recalled */ {R::begin_stop, R::refuse,     R::finish,      R::release, R::lose,    R::give_up, R::keep},
  /* stopping */ {R::stop_again, R::ignore,     R::finish,      R::release, R::lose,    R::lose,    R::keep},
  /* gone     */ {R::ignore,     R::refuse,     R::finish,      R::ignore,  R::lose,    R::give_up, R::keep},
  /* ended    */ {R::ignore,     R::ignore,     R::ignore,      R::release, R::release, R::release, R::ignore},
  /* closed   */ {R::ignore,     R::ignore,     R::ignore,      R::ignore,  R::ignore,  R::ignore,  R::ignore},
  /* lost     */ {R::ignore,     R::ignore,     R::finish_late, R::ignore,  R::ignore,  R::ignore,  R::keep},
}};
// clang-format on
}  // namespace table

[[nodiscard]] constexpr Reaction reaction(Stage stage, News news) {
  return table::kReactions[static_cast<std::size_t>(stage)][static_cast<std::size_t>(news)];
}

/// Where the attempt of a trial stands. `trial` may be null.
[[nodiscard]] Stage stage_of(const TrialStatus* trial, AttemptId id);

// ---- 2. Fate of a trial ------------------------------------------------------------------------

/// Why we had asked the attempt to stop, if at all.
enum class Asked { nothing, pruned, cancelled, interrupted, halted };
inline constexpr std::size_t kAsked = 5;

/// Outcomes by what they mean for the trial.
enum class Ending {
  success,  ///< exit code 0
  failure,  ///< other exit codes, signals, time limits, memory, could not start
  stopped,  ///< ended by us
  pruned,   ///< ended by us for a pruner
  lost,
  preempted,
  unclaimed,  ///< it never began, and that is nobody's fault
};
inline constexpr std::size_t kEndings = 7;

enum class Fate {
  complete,
  fail,  ///< or try again, as RetrySpec says
  prune,
  cancel,
  requeue_interrupted,
  requeue_lost,  ///< or fail, the third time in a row
  requeue_preempted,
  requeue_unclaimed,
};

namespace table {
using F = Fate;
// A program that exits 0 after it was told of an interrupt made it to its end in time. One that was
// pruned or cancelled stays so, however it then ended.
// clang-format off
inline constexpr std::array<std::array<Fate, kEndings>, kAsked> kFates = {{
  //                success      failure                 stopped                 pruned                  lost             preempted             unclaimed
  /* nothing     */ {F::complete, F::fail,                F::requeue_interrupted, F::prune,               F::requeue_lost, F::requeue_preempted, F::requeue_unclaimed},
  /* pruned      */ {F::prune,    F::prune,               F::prune,               F::prune,               F::prune,        F::prune,             F::prune},
  /* cancelled   */ {F::cancel,   F::cancel,              F::cancel,              F::cancel,              F::cancel,       F::cancel,            F::cancel},
  /* interrupted */ {F::complete, F::requeue_interrupted, F::requeue_interrupted, F::requeue_interrupted, F::requeue_lost, F::requeue_preempted, F::requeue_unclaimed},
  /* halted      */ {F::complete, F::requeue_interrupted, F::requeue_interrupted, F::requeue_interrupted, F::requeue_lost, F::requeue_preempted, F::requeue_unclaimed},
}};
// clang-format on
}  // namespace table

[[nodiscard]] constexpr Fate fate(Asked asked, Ending ending) {
  return table::kFates[static_cast<std::size_t>(asked)][static_cast<std::size_t>(ending)];
}

[[nodiscard]] Asked asked_of(const AttemptStatus& attempt);
[[nodiscard]] Ending ending_of(const Outcome& outcome);
/// Whether an end without a recorded start shows that the program had begun.
[[nodiscard]] bool proves_start(OutcomeKind kind);

// ---- 3. Records about a trial ------------------------------------------------------------------

enum class TrialEvent { kept, planned, requeued, finished, reopened };
inline constexpr std::size_t kTrialEvents = 5;
inline constexpr std::size_t kTrialStates = 6;

enum class Next { same, running, waiting, given, wrong };

namespace table {
using N = Next;
// A terminal state changes by `reopened` alone: one terminal record per opening.
// clang-format off
inline constexpr std::array<std::array<Next, kTrialEvents>, kTrialStates> kNext = {{
  //               kept     planned     requeued    finished  reopened
  /* waiting   */ {N::same, N::running, N::waiting, N::given, N::wrong},
  /* running   */ {N::same, N::wrong,   N::waiting, N::given, N::wrong},
  /* completed */ {N::same, N::wrong,   N::wrong,   N::wrong, N::waiting},
  /* failed    */ {N::same, N::wrong,   N::wrong,   N::wrong, N::waiting},
  /* pruned    */ {N::same, N::wrong,   N::wrong,   N::wrong, N::waiting},
  /* cancelled */ {N::same, N::wrong,   N::wrong,   N::wrong, N::waiting},
}};
// clang-format on
}  // namespace table

[[nodiscard]] constexpr Next next_state(TrialState state, TrialEvent event) {
  return table::kNext[static_cast<std::size_t>(state)][static_cast<std::size_t>(event)];
}

}  // namespace seedbed
