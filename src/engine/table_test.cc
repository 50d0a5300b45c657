// Every (state, input) pair: the cells of engine/table.h seen from outside, through decide.

#include "engine/table.h"

#include <gtest/gtest.h>

#include <map>

#include "engine/engine_testing.h"

namespace seedbed {
namespace {

using testing::Bench;
using testing::kExit0;
using testing::kExit1;

constexpr AttemptId kAttempt{1, 1};

/// One trial, in one slot, brought to a stage; no other trial disturbs the answers.
Bench at_stage(Stage stage) {
  Bench bench(testing::small_config(1));
  bench.begin();
  bench.answer(1);
  EXPECT_EQ(bench.state().trials().size(), 1U);
  switch (stage) {
    case Stage::unknown:
    case Stage::planned:
      break;
    case Stage::running:
      bench.runs(kAttempt);
      break;
    case Stage::recalled:
      bench.give(StopAsked{});
      break;
    case Stage::stopping:
      bench.runs(kAttempt);
      bench.give(StopAsked{});
      break;
    case Stage::gone:
      bench.runs(kAttempt);
      bench.gone(kAttempt);
      break;
    case Stage::ended:
      bench.runs(kAttempt);
      bench.exits(kAttempt, 0);
      break;
    case Stage::closed:
      // Paused and with one more trial added, so that the run goes on after the end of this one.
      bench.give(PauseAsked{true});
      bench.give(PointsAdded{{testing::point_of(99)}});
      bench.completes(kAttempt);
      break;
    case Stage::lost:
      bench.give(PauseAsked{true});
      bench.runs(kAttempt);
      bench.give(AttemptIsLost{kAttempt, "host is silent"});
      break;
  }
  return bench;
}

AttemptId subject(Stage stage) { return stage == Stage::unknown ? AttemptId{7, 1} : kAttempt; }

std::string tell(Bench& bench, AttemptId id, News news) {
  switch (news) {
    case News::runs:
      return bench.runs(id);
    case News::did_not_start:
      return bench.fails_to_start(id);
    case News::finished:
      return bench.ends(id, kExit0);
    case News::tree_gone:
      return bench.gone(id);
    case News::is_lost:
      return bench.give(AttemptIsLost{id, "host is silent"});
    case News::unclaimed:
      return bench.give(AttemptWasUnclaimed{id});
    case News::metrics:
      return bench.reports(id, "loss", 1, 0.5);
  }
  return "?";
}

struct Row {
  Stage stage;
  std::array<const char*, kNews> answers;  // in the order of News
};

TEST(StateTable, EveryStageAnswersEveryPieceOfNews) {
  const std::array<Row, kStages> rows = {{
      {Stage::unknown, {"", "", "", "", "", "", ""}},
      {Stage::planned,
       {"started 1.1",
        "ended 1.1 start_failed, released 1.1, finished 1 failed, run_stopping drain 5, "
        "run_ended 5 | end 5",
        "ended 1.1 exited, finished 1 completed", "released 1.1",
        "ended 1.1 lost, released 1.1, requeued 1 lost, planned 1.2@0 | start 1.2",
        "ended 1.1 stopped, released 1.1, requeued 1 unclaimed, planned 1.2@0 | start 1.2",
        "metrics 1.1 x1"}},
      {Stage::running,
       {"", "", "ended 1.1 exited, finished 1 completed", "released 1.1",
        "ended 1.1 lost, released 1.1, requeued 1 lost, planned 1.2@0 | start 1.2",
        "ended 1.1 lost, released 1.1, requeued 1 lost, planned 1.2@0 | start 1.2",
        "metrics 1.1 x1"}},
      {Stage::recalled,
       {"started 1.1 | stop 1.1 interrupted",
        "ended 1.1 start_failed, released 1.1, requeued 1 interrupted, run_ended 6 | end 6",
        "ended 1.1 exited, finished 1 completed", "released 1.1",
        "ended 1.1 lost, released 1.1, requeued 1 lost, run_ended 6 | end 6",
        "ended 1.1 stopped, released 1.1, requeued 1 unclaimed, run_ended 6 | end 6",
        "metrics 1.1 x1"}},
      {Stage::stopping,
       {" | stop 1.1 interrupted", "", "ended 1.1 exited, finished 1 completed", "released 1.1",
        "ended 1.1 lost, released 1.1, requeued 1 lost, run_ended 6 | end 6",
        "ended 1.1 lost, released 1.1, requeued 1 lost, run_ended 6 | end 6", "metrics 1.1 x1"}},
      {Stage::gone,
       {"", "ended 1.1 start_failed, finished 1 failed, run_ended 1 | end 1",
        "ended 1.1 exited, finished 1 completed, run_ended 0 | end 0", "",
        "ended 1.1 lost, requeued 1 lost, planned 1.2@0 | start 1.2",
        "ended 1.1 stopped, requeued 1 unclaimed, planned 1.2@0 | start 1.2", "metrics 1.1 x1"}},
      {Stage::ended,
       {"", "", "", "released 1.1, run_ended 0 | end 0", "released 1.1, run_ended 0 | end 0",
        "released 1.1, run_ended 0 | end 0", ""}},
      {Stage::closed, {"", "", "", "", "", "", ""}},
      {Stage::lost,
       {"", "", "ended 1.1 exited, finished 1 completed, run_ended 0 | end 0", "", "", "",
        "metrics 1.1 x1"}},
  }};
  for (std::size_t s = 0; s < kStages; ++s) {
    ASSERT_EQ(rows[s].stage, static_cast<Stage>(s));
    for (std::size_t n = 0; n < kNews; ++n) {
      Bench bench = at_stage(rows[s].stage);
      const AttemptId id = subject(rows[s].stage);
      ASSERT_EQ(stage_of(bench.state().trial(id.trial), id), rows[s].stage);
      EXPECT_EQ(tell(bench, id, static_cast<News>(n)), rows[s].answers[n])
          << "stage " << s << ", news " << n;
    }
  }
}

TEST(StateTable, EveryPieceOfNewsSaidTwiceChangesNothingMore) {
  for (std::size_t s = 0; s < kStages; ++s) {
    for (std::size_t n = 0; n < kNews; ++n) {
      const auto news = static_cast<News>(n);
      if (news == News::metrics) continue;  // each batch of points is told once, by its offsets
      Bench bench = at_stage(static_cast<Stage>(s));
      const AttemptId id = subject(static_cast<Stage>(s));
      tell(bench, id, news);
      const std::string again = tell(bench, id, news);
      const bool only_stops = again == " | stop 1.1 interrupted";
      EXPECT_TRUE(again.empty() || only_stops) << "stage " << s << ", news " << n << ": " << again;
    }
  }
}

struct FateRow {
  Asked asked;
  std::array<const char*, kEndings> answers;  // in the order of Ending
};

/// A running trial that was asked to stop for that reason.
Bench asked_to_stop(Asked asked) {
  EngineConfig config = testing::small_config(1);
  if (asked == Asked::halted) config.study_limit = Milliseconds(1000);
  config.objective.metric = asked == Asked::pruned ? "loss" : "";
  struct Never : Pruner {
    Verdict judge(const Curve&, const std::vector<const Curve*>&) const override {
      return {true, "0.5 is not enough"};
    }
  };
  std::vector<std::unique_ptr<Pruner>> pruners;
  pruners.push_back(std::make_unique<Never>());
  Bench bench(config, std::move(pruners));
  bench.begin();
  bench.answer(1);
  bench.runs(kAttempt);
  if (asked == Asked::pruned) bench.reports(kAttempt, "loss", 1, 0.5);
  if (asked == Asked::cancelled) bench.give(CancelAsked{{1}});
  if (asked == Asked::interrupted) bench.give(InterruptCame{2, false});
  if (asked == Asked::halted) {
    bench.now += 1000;
    bench.give(TimePassed{});
  }
  if (asked == Asked::nothing) bench.give(PauseAsked{true});
  return bench;
}

TEST(StateTable, EveryEndingHasAFateForEveryCauseOfStopping) {
  const char* const kPruned = "finished 1 pruned";
  const char* const kCancelled = "finished 1 cancelled";
  const char* const kAgain = "requeued 1 interrupted";
  const std::array<FateRow, kAsked> rows = {{
      {Asked::nothing,
       {"finished 1 completed", "finished 1 failed", kAgain, kPruned, "requeued 1 lost",
        "requeued 1 preempted", "requeued 1 lost"}},
      {Asked::pruned, {kPruned, kPruned, kPruned, kPruned, kPruned, kPruned, kPruned}},
      {Asked::cancelled,
       {kCancelled, kCancelled, kCancelled, kCancelled, kCancelled, kCancelled, kCancelled}},
      {Asked::interrupted,
       {"finished 1 completed", kAgain, kAgain, kAgain, "requeued 1 lost", "requeued 1 preempted",
        "requeued 1 lost"}},
      {Asked::halted,
       {"finished 1 completed", kAgain, kAgain, kAgain, "requeued 1 lost", "requeued 1 preempted",
        "requeued 1 lost"}},
  }};
  const std::array<Outcome, kEndings> outcomes = {{{OutcomeKind::exited, 0, ""},
                                                   {OutcomeKind::signalled, 11, ""},
                                                   {OutcomeKind::stopped, 15, ""},
                                                   {OutcomeKind::pruned, 15, ""},
                                                   {OutcomeKind::lost, 0, ""},
                                                   {OutcomeKind::preempted, 0, ""},
                                                   {}}};
  for (std::size_t a = 0; a < kAsked; ++a) {
    ASSERT_EQ(rows[a].asked, static_cast<Asked>(a));
    for (std::size_t e = 0; e < kEndings; ++e) {
      Bench bench = asked_to_stop(static_cast<Asked>(a));
      ASSERT_EQ(asked_of(bench.trial(1).attempts[0]), static_cast<Asked>(a));
      const std::string said = static_cast<Ending>(e) == Ending::unclaimed
                                   ? bench.give(AttemptWasUnclaimed{kAttempt})
                                   : bench.ends(kAttempt, outcomes[e]);
      EXPECT_NE(said.find(rows[a].answers[e]), std::string::npos)
          << "asked " << a << ", ending " << e << ": " << said;
    }
  }
}

TEST(StateTable, EveryOutcomeMeansSomething) {
  EXPECT_EQ(ending_of({OutcomeKind::exited, 0, ""}), Ending::success);
  for (const OutcomeKind kind : {OutcomeKind::signalled, OutcomeKind::timed_out,
                                 OutcomeKind::start_failed, OutcomeKind::out_of_memory}) {
    EXPECT_EQ(ending_of({kind, 0, ""}), Ending::failure);
  }
  EXPECT_EQ(ending_of(kExit1), Ending::failure);
  EXPECT_EQ(ending_of({OutcomeKind::stopped, 0, ""}), Ending::stopped);
  EXPECT_EQ(ending_of({OutcomeKind::pruned, 0, ""}), Ending::pruned);
  EXPECT_EQ(ending_of({OutcomeKind::lost, 0, ""}), Ending::lost);
  EXPECT_EQ(ending_of({OutcomeKind::preempted, 0, ""}), Ending::preempted);
}

Record record_of(TrialEvent event) {
  switch (event) {
    case TrialEvent::kept:
      return TrialKept{1, 1, 0, false};
    case TrialEvent::planned:
      return AttemptPlanned{{1, 1}, {}};
    case TrialEvent::requeued:
      return TrialRequeued{1, RequeueCause::interrupted, {}};
    case TrialEvent::finished:
      return TrialFinished{1, TrialState::failed, "", false};
    case TrialEvent::reopened:
      return TrialReopened{1, "retry"};
  }
  return {};
}

StudyState in_state(TrialState wanted) {
  StudyState state;
  const auto apply = [&state](Record record) { state.apply({Timestamp{1}, std::move(record)}); };
  apply(SpaceSet{1, "", "", "", Goal::minimize, ""});
  apply(TrialProposed{1, testing::point_of(1), testing::point_of(1).identity(), 0, 1, false, "1"});
  if (wanted == TrialState::running) apply(AttemptPlanned{{1, 1}, {}});
  if (is_terminal(wanted)) apply(TrialFinished{1, wanted, "", false});
  EXPECT_EQ(state.trial(1)->state, wanted);
  return state;
}

TEST(StateTableDeathTest, EveryRecordMovesEveryStateByTheTableOrIsRefused) {
  for (std::size_t s = 0; s < kTrialStates; ++s) {
    for (std::size_t e = 0; e < kTrialEvents; ++e) {
      const auto from = static_cast<TrialState>(s);
      const auto event = static_cast<TrialEvent>(e);
      StudyState state = in_state(from);
      const Entry entry{Timestamp{2}, record_of(event)};
      const Next next = next_state(from, event);
      if (next == Next::wrong) {
        EXPECT_DEATH(state.apply(entry), "") << s << " x " << e;
        continue;
      }
      state.apply(entry);
      const std::map<Next, TrialState> wanted = {{Next::same, from},
                                                 {Next::running, TrialState::running},
                                                 {Next::waiting, TrialState::waiting},
                                                 {Next::given, TrialState::failed}};
      EXPECT_EQ(state.trial(1)->state, wanted.at(next)) << s << " x " << e;
    }
  }
}

}  // namespace
}  // namespace seedbed
