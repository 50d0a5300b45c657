// What people ask of a running study, and of one at rest.

#include <gtest/gtest.h>

#include "engine/engine.h"
#include "engine/engine_testing.h"

namespace seedbed {
namespace {

using testing::Bench;
using testing::kExit1;
using testing::point_of;
using testing::small_config;

TEST(Engine, PauseStartsNothingAndResumeGoesOn) {
  Bench bench(small_config(1));
  bench.begin();
  bench.answer(2);
  EXPECT_EQ(bench.give(PauseAsked{true}), "paused");
  EXPECT_EQ(bench.give(PauseAsked{true}), "");
  bench.completes({1, 1});
  EXPECT_FALSE(bench.state().run_ended());
  EXPECT_EQ(bench.give(PauseAsked{false}), "resumed, planned 2.1@0 | start 2.1");
}

TEST(Engine, ResumingAfterTheClockWasSetBackSetsTheAlarmAgain) {
  EngineConfig config = small_config(1);
  config.retries = {1, {OutcomeKind::exited}, Milliseconds(1000)};
  Bench bench(config);
  bench.begin();
  bench.answer(1);
  bench.runs({1, 1});
  bench.ends({1, 1}, kExit1);
  bench.gone({1, 1});
  bench.give(PauseAsked{true});
  bench.now += 2000;
  bench.give(TimePassed{});  // the alarm, while paused
  bench.now -= 1900;
  EXPECT_EQ(bench.give(PauseAsked{false}).find("resumed | wake "), 0);
}

TEST(Engine, FreezingStopsTheRunningTrialsWhereTheyAre) {
  Bench bench(small_config(2));
  bench.begin();
  bench.answer(3);
  bench.runs({1, 1});
  bench.give(CancelAsked{{2}});  // one that is asked to end goes on ending
  EXPECT_EQ(bench.give(PauseAsked{true, true}), "paused and frozen | freeze 1.1");
  EXPECT_EQ(bench.give(PauseAsked{true, false}), "") << "a plain pause thaws nothing";
  EXPECT_TRUE(bench.state().frozen());
  EXPECT_EQ(bench.give(PauseAsked{false}), "resumed | thaw 1.1");
  EXPECT_EQ(bench.give(PauseAsked{true, false}), "paused");
  EXPECT_EQ(bench.give(PauseAsked{true, true}), "paused and frozen | freeze 1.1");
}

TEST(Engine, ANewRunEndsAPause) {
  Bench bench(small_config(1));
  bench.begin();
  bench.answer(2);
  bench.give(PauseAsked{true});
  bench.completes({1, 1});
  bench.restart();
  EXPECT_EQ(bench.begin(false),
            "run 2, resumed, planned 2.1@0, walk 0+1000 of 0 | start 2.1, ask 0+1000");
}

TEST(Engine, CaseH8_TheWidthCanBeChangedWhileItRuns) {
  Bench bench(small_config(3));
  bench.begin();
  bench.answer(9);
  EXPECT_EQ(bench.give(SlotsAsked{1}), "width 1");
  EXPECT_EQ(bench.runs({1, 1}), "started 1.1");
  EXPECT_EQ(bench.give(SlotsAsked{3}),
            "width 3, planned 2.1@1, planned 3.1@2 | start 2.1, start 3.1");
  EXPECT_EQ(bench.give(SlotsAsked{3}), "");
  EXPECT_EQ(bench.give(SlotsAsked{0}), "");
}

TEST(Engine, CaseH8_SlotsBeyondTheCoresAreWarnedOfOnce) {
  Bench bench(small_config(2));
  bench.begin();
  EXPECT_EQ(bench.state().slots(), 2U);
  const auto cores = static_cast<std::uint32_t>(small_config(2).inventory.cores.size());
  ASSERT_GT(cores, 1U);
  EXPECT_EQ(bench.give(SlotsAsked{cores}).find("note"), std::string::npos);
  EXPECT_EQ(bench.give(SlotsAsked{cores + 1}), fmt::format("width {}, note warning", cores + 1));
  EXPECT_EQ(bench.give(SlotsAsked{cores + 2}), fmt::format("width {}", cores + 2));
  EXPECT_EQ(bench.give(SlotsAsked{1}), "width 1");
  EXPECT_EQ(bench.give(SlotsAsked{cores + 1}), fmt::format("width {}, note warning", cores + 1));
}

TEST(Engine, CancelEndsWaitingTrialsAtOnceAndStopsRunningOnes) {
  Bench bench(small_config(1));
  bench.begin();
  bench.answer(3);
  bench.runs({1, 1});
  EXPECT_EQ(bench.give(CancelAsked{{2, 1, 2, 88}}),
            "stopping 1.1 cancelled, finished 2 cancelled | stop 1.1 cancelled");
  EXPECT_EQ(bench.give(CancelAsked{{1, 2}}), "");
  EXPECT_EQ(bench.ends({1, 1}, kExit1), "ended 1.1 exited, finished 1 cancelled");
  bench.gone({1, 1});
  bench.completes({3, 1});
  EXPECT_EQ(bench.state().run_ended()->exit_code, 0) << "cancelled counts as done";
}

TEST(Engine, AddedPointsStayInTheSpaceWhateverLaterRunsName) {
  Bench bench(small_config(1));
  bench.begin();
  bench.answer(1);
  bench.runs({1, 1});
  EXPECT_EQ(bench.give(PointsAdded{{point_of(7), point_of(7), point_of(0)}}),
            "proposed 2 added, kept 1 added");
  EXPECT_EQ(bench.give(PointsAdded{{point_of(0)}}), "");
  bench.exits({1, 1}, 0);
  EXPECT_EQ(bench.gone({1, 1}), "released 1.1, planned 2.1@0 | start 2.1");
  bench.completes({2, 1});
  bench.restart();
  bench.begin();
  ProposalsMade made;
  made.points = {{0, point_of(3)}};
  made.next = 1;
  made.exhausted = true;
  bench.give(made);
  EXPECT_TRUE(bench.state().in_space(bench.trial(1)));
  EXPECT_TRUE(bench.state().in_space(bench.trial(2)));
  EXPECT_EQ(bench.state().count(TrialState::completed), 2U);
}

TEST(Engine, AddedTrialsStartInARunWithANewSpaceAtOnce) {
  EngineConfig config = small_config(1);
  config.lookahead = 2;
  Bench bench(config);
  bench.begin();
  bench.answer(1);
  bench.completes({1, 1});
  config.records_only = true;
  bench.restart(config);
  bench.give(PointsAdded{{point_of(7), point_of(8), point_of(9)}});
  config.records_only = false;
  bench.restart(config);
  EXPECT_EQ(bench.begin(), "run 2, space 2, planned 2.1@0, walk 0+0 of 0 | start 2.1")
      << "enough wait for the moment, so the walk has not begun";
  bench.completes({2, 1});
  EXPECT_EQ(bench.runs({3, 1}), "started 3.1");
}

TEST(Engine, WithoutAControllerCommandsOnlyWriteRecords) {
  Bench bench(small_config(1));
  bench.begin();
  bench.answer(3);
  bench.runs({1, 1});
  EngineConfig config = small_config(1);
  config.records_only = true;
  bench.restart(config);
  EXPECT_EQ(bench.give(CancelAsked{{1, 2}}), "stopping 1.1 cancelled, finished 2 cancelled");
  EXPECT_EQ(bench.give(RetryAsked{{2}}), "reopened 2");
  EXPECT_EQ(bench.give(PointsAdded{{point_of(50)}}), "proposed 4 added");
  EXPECT_EQ(bench.give(StopAsked{}), "");
  EXPECT_EQ(bench.give(InterruptCame{}), "");
  bench.restart(small_config(1));
  bench.begin(false);
  EXPECT_EQ(bench.runs({1, 1}), " | stop 1.1 cancelled");
}

}  // namespace
}  // namespace seedbed
