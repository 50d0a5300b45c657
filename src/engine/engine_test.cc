// Scenarios: an input in, exactly these records and actions out, and nothing else.

#include "engine/engine.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/engine_testing.h"

namespace seedbed {
namespace {

using testing::Bench;
using testing::kSegfault;
using testing::kStopped;
using testing::point_of;
using testing::small_config;

TEST(Engine, OneTrialFromProposalToTheEndOfTheRun) {
  Bench bench;
  EXPECT_EQ(bench.begin(), "run 1, space 1, walk 0+64 of 0 | ask 0+64");
  EXPECT_EQ(bench.answer(1), "proposed 1, walk 1+0 of 1, walked 1, planned 1.1@0 | start 1.1");
  EXPECT_EQ(bench.runs({1, 1}), "started 1.1");
  EXPECT_EQ(bench.exits({1, 1}, 0), "ended 1.1 exited, finished 1 completed");
  EXPECT_EQ(bench.gone({1, 1}), "released 1.1, run_ended 0 | end 0");
  EXPECT_EQ(bench.gone({1, 1}), "");
}

TEST(Engine, CaseI1_TheSameCommandAgainRunsOnlyWhatIsMissing) {
  Bench bench;
  bench.begin();
  bench.answer(6);
  bench.completes({1, 1});
  bench.runs({2, 1});
  bench.runs({3, 1});
  EXPECT_EQ(bench.give(InterruptCame{2, false}),
            "run_stopping stop 130, stopping 2.1 interrupted, stopping 3.1 interrupted | stop 2.1 "
            "interrupted, stop 3.1 interrupted");
  EXPECT_EQ(bench.ends({2, 1}, kStopped), "ended 2.1 stopped, requeued 2 interrupted");
  EXPECT_EQ(bench.gone({2, 1}), "released 2.1");
  EXPECT_EQ(bench.exits({3, 1}, 0), "ended 3.1 exited, finished 3 completed")
      << "it made it to its end in time";
  EXPECT_EQ(bench.gone({3, 1}), "released 3.1, run_ended 130 | end 130");

  bench.restart();
  EXPECT_EQ(bench.begin(false), "run 2, planned 2.2@0, walk 0+997 of 0 | start 2.2, ask 0+997");
  EXPECT_EQ(bench.answer(6), "walk 6+0 of 6, walked 6");
  bench.runs({2, 2});
  for (TrialNumber trial = 2; trial <= 6; ++trial) {
    if (trial == 3) continue;
    bench.completes({trial, trial == 2 ? 2U : 1U});
  }
  EXPECT_EQ(bench.state().run_ended()->exit_code, 0);
  EXPECT_EQ(bench.state().count(TrialState::completed), 6U);
  EXPECT_EQ(bench.trial(1).attempts.size(), 1U);
  EXPECT_EQ(bench.trial(2).attempts.size(), 2U);
}

TEST(Engine, AFinishedStudySaysSoAndEndsAsItEnded) {
  Bench bench;
  bench.begin();
  bench.answer(2);
  bench.completes({1, 1});
  bench.runs({2, 1});
  bench.exits({2, 1}, 3);
  EXPECT_EQ(bench.gone({2, 1}), "released 2.1, run_ended 1 | end 1");
  bench.restart();
  bench.begin(false);
  EXPECT_EQ(bench.answer(2), "walk 2+0 of 2, walked 2, run_ended 1 | end 1");
}

TEST(Engine, CaseI2_AWiderSpaceRunsOnlyNewTrialsAndANarrowerOneLeavesTheOthers) {
  Bench bench;
  bench.begin();
  bench.answer(2);  // x = 0, 1
  bench.completes({1, 1});
  bench.completes({2, 1});
  bench.restart();
  bench.begin();  // now x = 5, 1, 1 again
  ProposalsMade made;
  made.points = {{0, point_of(5)}, {1, point_of(1)}, {2, point_of(1)}};
  made.next = 3;
  made.exhausted = true;
  EXPECT_EQ(bench.give(made),
            "proposed 3, kept 2, walk 3+0 of 2, walked 2, planned 3.1@0 | start 3.1");
  EXPECT_FALSE(bench.state().in_space(bench.trial(1)));
  EXPECT_TRUE(bench.state().in_space(bench.trial(2)));
  EXPECT_EQ(bench.trial(1).state, TrialState::completed);
  bench.completes({3, 1});
  EXPECT_EQ(bench.state().run_ended()->exit_code, 0);
}

TEST(Engine, CaseI2_IdentityDoesNotDependOnTheOrderOfParameters) {
  Bench bench;
  bench.begin();
  ProposalsMade made;
  made.points = {{0, Point{{{"a", Value::integer(1)}, {"b", Value::integer(2)}}}},
                 {1, Point{{{"b", Value::integer(2)}, {"a", Value::integer(1)}}}}};
  made.next = 2;
  made.exhausted = true;
  EXPECT_EQ(bench.give(made), "proposed 1, walk 2+0 of 1, walked 1, planned 1.1@0 | start 1.1");
}

TEST(Engine, AnotherCommandMakesOtherTrialsOfTheSamePoints) {
  Bench bench;
  bench.begin();
  bench.answer(1);
  bench.completes({1, 1});
  bench.command = "python3 other.py";
  bench.restart();
  bench.begin();
  EXPECT_EQ(bench.answer(1), "proposed 2, walk 1+0 of 1, walked 1, planned 2.1@0 | start 2.1");
  bench.completes({2, 1});
  bench.command = "python3 train.py";
  bench.restart();
  bench.begin();
  EXPECT_EQ(bench.answer(1), "kept 1, walk 1+0 of 1, walked 1, run_ended 0 | end 0");
}

TEST(Engine, CaseI3_RetryRunsExactlyTheFailedOnes) {
  Bench bench(small_config(1));
  bench.begin();
  bench.answer(3);
  bench.completes({1, 1});
  for (TrialNumber trial = 2; trial <= 3; ++trial) {
    bench.runs({trial, 1});
    bench.exits({trial, 1}, 1);
    bench.gone({trial, 1});
  }
  EXPECT_EQ(bench.state().run_ended()->exit_code, 1);
  bench.restart();
  EXPECT_EQ(bench.begin(false, true),
            "run 2, reopened 2, reopened 3, planned 2.2@0, walk 0+999 of 0 | start 2.2, ask 0+999");
  bench.answer(3);
  bench.completes({2, 2});
  bench.completes({3, 2});
  EXPECT_EQ(bench.state().run_ended()->exit_code, 0);
  EXPECT_EQ(bench.state().count(TrialState::completed), 3U);
  EXPECT_EQ(bench.trial(1).attempts.size(), 1U);
}

TEST(Engine, CaseI3_FailedTrialsKeptByAWiderSpaceAreReopenedWhenTheWalkMeetsThem) {
  Bench bench(small_config(1));
  bench.begin();
  bench.answer(1);
  bench.runs({1, 1});
  bench.exits({1, 1}, 1);
  bench.gone({1, 1});
  bench.restart();
  bench.begin(true, true);
  EXPECT_EQ(bench.answer(1),
            "kept 1, reopened 1, walk 1+0 of 1, walked 1, planned 1.2@0 | start 1.2");
}

TEST(Engine, CaseI3_RetryByCommandWhileTheRunGoesOn) {
  Bench bench(small_config(1));
  bench.begin();
  bench.answer(3);
  bench.runs({1, 1});
  bench.exits({1, 1}, 1);
  bench.gone({1, 1});
  EXPECT_EQ(bench.give(RetryAsked{{1, 2, 77}}), "reopened 1") << "2 runs, 77 does not exist";
  EXPECT_EQ(bench.give(RetryAsked{{1}}), "") << "it waits already";
  bench.runs({2, 1});
  bench.exits({2, 1}, 0);
  EXPECT_EQ(bench.give(RetryAsked{{2}}), "") << "a good result is left alone";
  EXPECT_EQ(bench.gone({2, 1}), "released 2.1, planned 1.2@0 | start 1.2");
}

TEST(Engine, CaseI9_ByDefaultFailuresGoOnAndTheExitCodeTells) {
  Bench bench(small_config(1));
  bench.begin();
  bench.answer(10);
  for (TrialNumber trial = 1; trial <= 10; ++trial) {
    bench.runs({trial, 1});
    bench.exits({trial, 1}, trial == 3 ? 1 : 0);
    bench.gone({trial, 1});
  }
  EXPECT_EQ(bench.state().run_ended()->exit_code, 1);
  EXPECT_EQ(bench.state().run_ended()->reason, "1 trial failed");
  EXPECT_EQ(bench.trial(3).reason, "exit code 1");
}

int failures_until_halt(const std::string& rule, int trials, Bench& bench) {
  for (TrialNumber trial = 1; trial <= static_cast<TrialNumber>(trials); ++trial) {
    bench.runs({trial, 1});
    bench.exits({trial, 1}, 1);
    bench.gone({trial, 1});
    if (bench.state().run_ended()) return static_cast<int>(trial);
  }
  ADD_FAILURE() << rule << " never halted";
  return 0;
}

TEST(Engine, CaseI9_HaltRulesStopNewStartsAndKeepTheRestWaiting) {
  const std::pair<const char*, int> rules[] = {{"first", 1}, {"3", 3}, {"50%", 10}};
  for (const auto& [rule, expected] : rules) {
    EngineConfig config = small_config(1);
    config.halt = *HaltRule::parse(rule);
    Bench bench(config);
    bench.begin();
    bench.answer(30);
    EXPECT_EQ(failures_until_halt(rule, 30, bench), expected) << rule;
    EXPECT_EQ(bench.state().run_ended()->exit_code, 6);
    EXPECT_EQ(bench.state().count(TrialState::waiting), 30U - static_cast<unsigned>(expected));
  }
}

TEST(Engine, CaseI9_AHaltLetsRunningTrialsFinishAndANewRunCountsAnew) {
  EngineConfig config = small_config(2);
  config.halt = *HaltRule::parse("first");
  Bench bench(config);
  bench.begin();
  bench.answer(4);
  bench.runs({1, 1});
  bench.runs({2, 1});
  EXPECT_EQ(bench.exits({1, 1}, 1), "ended 1.1 exited, finished 1 failed, run_stopping drain 6");
  EXPECT_EQ(bench.gone({1, 1}), "released 1.1");
  EXPECT_EQ(bench.exits({2, 1}, 0), "ended 2.1 exited, finished 2 completed");
  EXPECT_EQ(bench.gone({2, 1}), "released 2.1, run_ended 6 | end 6");
  bench.restart();
  EXPECT_NE(bench.begin(false).find("start 3.1"), std::string::npos);
}

TEST(Engine, CaseI11_SuccessAfterRetryIsASuccess) {
  EngineConfig config = small_config(1);
  config.retries.count = 2;
  config.retries.on = {OutcomeKind::signalled};
  config.retries.wait = Milliseconds(30'000);
  Bench bench(config);
  bench.begin();
  bench.answer(1);
  bench.runs({1, 1});
  EXPECT_EQ(bench.ends({1, 1}, kSegfault), "ended 1.1 signalled, requeued 1 retry");
  EXPECT_EQ(bench.gone({1, 1}), "released 1.1 | wake 1030000");
  bench.now += 29'999;
  EXPECT_EQ(bench.give(TimePassed{}), " | wake 1030000");
  bench.now += 1;
  EXPECT_EQ(bench.give(TimePassed{}), "planned 1.2@0 | start 1.2");
  bench.completes({1, 2});
  EXPECT_EQ(bench.state().run_ended()->exit_code, 0);
  EXPECT_EQ(bench.trial(1).attempts.size(), 2U);
  EXPECT_EQ(bench.trial(1).attempts[0].outcome.kind, OutcomeKind::signalled);
  EXPECT_EQ(bench.trial(1).reason, "");
}

TEST(Engine, OnlyNamedCausesAreRetriedAndRetriesRunOut) {
  EngineConfig config = small_config(1);
  config.retries.count = 1;
  config.retries.on = {OutcomeKind::signalled};
  Bench bench(config);
  bench.begin();
  bench.answer(2);
  bench.runs({1, 1});
  EXPECT_EQ(bench.exits({1, 1}, 1), "ended 1.1 exited, finished 1 failed");
  bench.gone({1, 1});
  bench.runs({2, 1});
  bench.ends({2, 1}, kSegfault);
  bench.gone({2, 1});
  bench.runs({2, 2});
  EXPECT_EQ(bench.ends({2, 2}, kSegfault), "ended 2.2 signalled, finished 2 failed");
}

TEST(Engine, ATrialIsNotTriedAgainWhileItsOldTreeLives) {
  EngineConfig config = small_config(2);
  config.retries.count = 1;
  Bench bench(config);
  bench.begin();
  bench.answer(1);
  bench.runs({1, 1});
  EXPECT_EQ(bench.exits({1, 1}, 1), "ended 1.1 exited, requeued 1 retry");
  EXPECT_EQ(bench.engine().why_waiting(1, Timestamp{bench.now}),
            "processes of its last attempt are still ending");
  EXPECT_EQ(bench.gone({1, 1}), "released 1.1, planned 1.2@0 | start 1.2");
}

TEST(Engine, CaseD5_ADeadControllersTrialsAreAdoptedNotStartedAgain) {
  Bench bench;
  bench.begin();
  bench.answer(4);
  bench.runs({1, 1});
  bench.runs({2, 1});
  bench.restart();  // killed: no RunEnded
  EXPECT_EQ(bench.state().open_attempts(), (std::vector<AttemptId>{{1, 1}, {2, 1}}));
  EXPECT_EQ(bench.begin(false), "run 2, walk 0+998 of 0 | ask 0+998");
  EXPECT_EQ(bench.runs({1, 1}), "") << "it runs, as recorded";
  EXPECT_EQ(bench.exits({1, 1}, 0), "ended 1.1 exited, finished 1 completed");
  EXPECT_EQ(bench.gone({1, 1}), "released 1.1, planned 3.1@0 | start 3.1");
  EXPECT_EQ(bench.exits({2, 1}, 0), "ended 2.1 exited, finished 2 completed");
}

TEST(Engine, CaseD5_APlannedAttemptThatNobodyClaimedIsPlannedAnew) {
  Bench bench(small_config(1));
  bench.begin();
  bench.answer(1);
  bench.restart();
  bench.begin(false);
  EXPECT_EQ(bench.give(AttemptWasUnclaimed{{1, 1}}),
            "ended 1.1 stopped, released 1.1, requeued 1 unclaimed, planned 1.2@0 | start 1.2");
}

TEST(Engine, AnAdoptedAttemptThatWasBeingStoppedIsStoppedAgain) {
  Bench bench(small_config(1));
  bench.begin();
  bench.answer(2);
  bench.runs({1, 1});
  bench.give(CancelAsked{{1}});
  bench.restart();
  bench.begin(false);
  EXPECT_EQ(bench.runs({1, 1}), " | stop 1.1 cancelled");
}

TEST(Engine, CaseD13_TheLadderOfInterrupts) {
  Bench bench;
  bench.begin();
  bench.answer(5);
  bench.runs({1, 1});
  EXPECT_EQ(bench.give(InterruptCame{15, true}), "run_stopping drain 143");
  EXPECT_EQ(bench.give(InterruptCame{2, false}),
            "run_stopping stop 130, stopping 1.1 interrupted, stopping 2.1 interrupted | stop 1.1 "
            "interrupted, stop 2.1 interrupted")
      << "2.1 has not begun yet, and is recalled";
  EXPECT_EQ(bench.runs({2, 1}), "started 2.1 | stop 2.1 interrupted");
  EXPECT_EQ(bench.ends({1, 1}, kStopped), "ended 1.1 stopped, requeued 1 interrupted");
  EXPECT_EQ(bench.give(InterruptCame{2, false}), "run_stopping kill 130 | kill 1.1, kill 2.1");
  EXPECT_EQ(bench.give(InterruptCame{2, false}),
            "run_stopping leave 130, run_ended 130 | leave 130");
  EXPECT_EQ(bench.give(InterruptCame{2, false}), "");
  bench.restart();
  bench.begin(false);
  EXPECT_EQ(bench.ends({2, 1}, kStopped), "ended 2.1 stopped, requeued 2 interrupted");
}

TEST(Engine, CaseD13_AnInterruptBeforeAnythingRunsEndsAtOnce) {
  Bench bench;
  bench.begin();
  EXPECT_EQ(bench.give(InterruptCame{2, false}), "run_stopping stop 130, run_ended 130 | end 130");
  EXPECT_EQ(bench.answer(5), "") << "the answer comes too late";
}

TEST(Engine, StopAndDrainByCommand) {
  Bench bench(small_config(1));
  bench.begin();
  bench.answer(3);
  bench.runs({1, 1});
  EXPECT_EQ(bench.give(StopAsked{true}), "run_stopping drain 6");
  EXPECT_EQ(bench.give(StopAsked{true}), "");
  EXPECT_EQ(bench.give(StopAsked{false}),
            "run_stopping stop 6, stopping 1.1 interrupted | stop 1.1 interrupted");
  EXPECT_EQ(bench.give(StopAsked{false}), "");
  bench.ends({1, 1}, kStopped);
  EXPECT_EQ(bench.gone({1, 1}), "released 1.1, run_ended 6 | end 6");
}

TEST(Engine, AStopThatFindsNoWorkLeftEndsAsTheWorkDid) {
  Bench bench(small_config(1));
  bench.begin();
  bench.answer(1);
  bench.runs({1, 1});
  bench.give(StopAsked{true});
  bench.exits({1, 1}, 0);
  EXPECT_EQ(bench.gone({1, 1}), "released 1.1, run_ended 0 | end 0");
}

TEST(Engine, TheStudyLimitStopsTheRunWithWorkLeft) {
  EngineConfig config = small_config(1);
  config.study_limit = Milliseconds(20'000);
  Bench bench(config);
  EXPECT_EQ(bench.begin(), "run 1, space 1, walk 0+64 of 0 | ask 0+64, wake 1020000");
  bench.answer(3);
  bench.runs({1, 1});
  bench.now += 20'000;
  EXPECT_EQ(bench.give(TimePassed{}), "run_stopping stop 6, stopping 1.1 halted | stop 1.1 halted");
  EXPECT_EQ(bench.ends({1, 1}, kStopped), "ended 1.1 stopped, requeued 1 interrupted");
  EXPECT_EQ(bench.gone({1, 1}), "released 1.1, run_ended 6 | end 6");
  EXPECT_EQ(bench.state().run_ended()->reason, "study limit of 20.0s reached");
}

TEST(Engine, CaseK7_PointsAfterTheEndChangeNothing) {
  EngineConfig config = small_config(1);
  config.objective.metric = "loss";
  Bench bench(config);
  bench.begin();
  bench.answer(2);
  bench.runs({1, 1});
  EXPECT_EQ(bench.reports({1, 1}, "loss", 1, 0.5), "metrics 1.1 x1");
  bench.exits({1, 1}, 0);
  EXPECT_EQ(bench.reports({1, 1}, "loss", 2, 0.1), "");
  bench.gone({1, 1});
  EXPECT_EQ(bench.reports({1, 1}, "loss", 3, 0.1), "");
  EXPECT_EQ(bench.trial(1).last_metrics.at("loss"), 0.5);
}

TEST(Engine, CaseC10_ACompletedTrialWithoutTheNamedMetricIsMarkedAndTellsWhatWasSeen) {
  EngineConfig config = small_config(1);
  config.objective.metric = "val/loss";
  Bench bench(config);
  bench.begin();
  bench.answer(3);
  bench.runs({1, 1});
  EXPECT_EQ(bench.exits({1, 1}, 0), "ended 1.1 exited, finished 1 completed metric_missing");
  EXPECT_EQ(bench.trial(1).reason, "no value of `val/loss` was reported; nothing else was either");
  bench.gone({1, 1});
  bench.runs({2, 1});
  bench.reports({2, 1}, "val_loss", 1, 1);
  bench.exits({2, 1}, 0);
  EXPECT_EQ(bench.trial(2).reason, "no value of `val/loss` was reported; seen: val_loss");
  bench.gone({2, 1});
  bench.runs({3, 1});
  bench.reports({3, 1}, "val/loss", 1, 1);
  EXPECT_EQ(bench.exits({3, 1}, 0), "ended 3.1 exited, finished 3 completed");
  EXPECT_EQ(bench.gone({3, 1}), "released 3.1, run_ended 1 | end 1");
  EXPECT_EQ(bench.give(RetryAsked{{1, 3}}), "reopened 1");
}

TEST(Engine, CaseD7_ATracebackInASuccessIsItsReason) {
  Bench bench;
  bench.begin();
  bench.answer(1);
  bench.runs({1, 1});
  AttemptFinished finished;
  finished.attempt = {1, 1};
  finished.traceback_seen = true;
  EXPECT_EQ(bench.give(finished), "ended 1.1 exited, finished 1 completed");
  EXPECT_EQ(bench.trial(1).reason, "exit code 0, but its log holds a traceback");
}

TEST(Engine, CaseD7_TextThatMeansFailureFailsATrialThatExitsWithZero) {
  EngineConfig config = small_config(1);
  config.retries.count = 1;
  config.retries.on = {OutcomeKind::exited};
  Bench bench(config);
  bench.begin();
  bench.answer(1);
  bench.runs({1, 1});
  AttemptFinished finished;
  finished.attempt = {1, 1};
  finished.failure_line = "epoch 3: CUDA error";
  EXPECT_EQ(bench.give(finished), "ended 1.1 exited, requeued 1 retry");
  bench.gone({1, 1});
  bench.runs({1, 2});
  finished.attempt = {1, 2};
  EXPECT_EQ(bench.give(finished), "ended 1.2 exited, finished 1 failed");
  EXPECT_EQ(bench.trial(1).reason, "exit code 0, but its output says: epoch 3: CUDA error");
}

TEST(Engine, CaseC7_APrunerStopsARunningTrialWithItsReason) {
  EngineConfig config = small_config(1);
  config.objective.metric = "loss";
  std::vector<std::unique_ptr<Pruner>> pruners;
  pruners.push_back(*make_pruner(PrunerSpec{"nan", {}}, Goal::minimize));
  Bench bench(config, std::move(pruners));
  bench.begin();
  bench.answer(1);
  bench.runs({1, 1});
  EXPECT_EQ(bench.reports({1, 1}, "loss", 1, 0.5), "metrics 1.1 x1");
  EXPECT_EQ(bench.reports({1, 1}, "loss", 2, std::nan("")),
            "metrics 1.1 x1, stopping 1.1 pruned | stop 1.1 pruned");
  EXPECT_EQ(bench.reports({1, 1}, "loss", 3, std::nan("")), "metrics 1.1 x1") << "asked once";
  EXPECT_EQ(bench.exits({1, 1}, 0), "ended 1.1 exited, finished 1 pruned");
  EXPECT_FALSE(bench.trial(1).reason.empty());
  EXPECT_EQ(bench.gone({1, 1}), "released 1.1, run_ended 0 | end 0");
}

TEST(Engine, ATrialLargerThanTheMachineIsRefusedAtOnceWithTheNumbers) {
  EngineConfig config = small_config(2);
  config.request.cpus = 3;
  Bench bench(config);
  EXPECT_EQ(bench.begin(),
            "run 1, space 1, run_stopping drain 5, walk 0+0 of 0, run_ended 5 | end 5");
  EXPECT_NE(bench.state().run_ended()->reason.find("3 cores"), std::string::npos);
}

TEST(Engine, TrialsStartInTheOrderOfTheirNumbersAndAsResourcesAllow) {
  EngineConfig config = small_config(4);
  config.inventory.memory = 4096;
  config.request.memory = 2048;
  Bench bench(config);
  bench.begin();
  bench.answer(5);
  EXPECT_EQ(bench.runs({1, 1}), "started 1.1, planned 2.1@1 | start 2.1");
  EXPECT_EQ(bench.engine().why_waiting(4, Timestamp{bench.now}),
            "2.0 KiB of memory needed, 4.0 KiB of 4.0 KiB lent; 1 trial is before it");
  EXPECT_EQ(bench.engine().why_waiting(1, Timestamp{bench.now}), "it runs: attempt 1 in slot 0");
  EXPECT_EQ(bench.engine().why_waiting(99, Timestamp{bench.now}), "there is no trial 99");
}

TEST(Engine, WhyATrialWaitsIsSaidInWords) {
  EngineConfig config = small_config(1);
  config.retries.count = 1;
  config.retries.wait = Milliseconds(30'000);
  Bench bench(config);
  bench.begin();
  bench.answer(3);
  const auto why = [&bench](TrialNumber trial) {
    return bench.engine().why_waiting(trial, Timestamp{bench.now});
  };
  EXPECT_EQ(why(2), "all 1 slot is taken; it is next");
  bench.runs({1, 1});
  bench.exits({1, 1}, 1);
  bench.gone({1, 1});
  EXPECT_EQ(why(1), "it waits 30.0s before it is tried again");
  bench.give(PauseAsked{true});
  EXPECT_NE(why(3).find("paused"), std::string::npos);
  bench.give(CancelAsked{{3}});
  EXPECT_NE(why(3).find("cancelled"), std::string::npos);
  bench.give(StopAsked{});
  EXPECT_NE(why(1).find("stop was asked for"), std::string::npos);
  bench.ends({2, 1}, kStopped);
  bench.gone({2, 1});
  EXPECT_NE(why(1).find("no controller"), std::string::npos);
  bench.restart();
  bench.begin();
  EXPECT_NE(why(1).find("outside the present space"), std::string::npos);
}

TEST(Engine, ALostSlotGivesItsCoresBackOnlyWhenTheTreeIsGone) {
  Bench bench(small_config(1));
  bench.begin();
  bench.answer(2);
  bench.runs({1, 1});
  EXPECT_EQ(bench.exits({1, 1}, 0), "ended 1.1 exited, finished 1 completed");
  EXPECT_EQ(bench.engine().placement().lent(), 1U);
  EXPECT_EQ(bench.gone({1, 1}), "released 1.1, planned 2.1@0 | start 2.1");
}

}  // namespace
}  // namespace seedbed
