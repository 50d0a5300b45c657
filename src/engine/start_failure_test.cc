// A program that cannot be started: one attempt shows it, and the others are left alone (case D16).

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/engine_testing.h"

namespace seedbed {
namespace {

using testing::Bench;
using testing::small_config;

TEST(StartFailure, TheFirstTrialShowsThatTheProgramStartsBeforeOthersFollow) {
  Bench bench(small_config(3));
  bench.begin();
  const std::string first = bench.answer(4);
  EXPECT_NE(first.find("planned 1.1@0 | start 1.1"), std::string::npos) << first;
  EXPECT_EQ(bench.runs({1, 1}), "started 1.1, planned 2.1@1, planned 3.1@2 | start 2.1, start 3.1");
}

TEST(StartFailure, CaseD16_AProgramThatCannotBeStartedEndsTheRunBeforeTrialTwo) {
  Bench bench;
  bench.begin();
  bench.answer(1000);
  EXPECT_EQ(bench.fails_to_start({1, 1}),
            "ended 1.1 start_failed, released 1.1, finished 1 failed, run_stopping drain 5, "
            "run_ended 5 | end 5");
  EXPECT_NE(bench.trial(1).reason.find("no execute permission"), std::string::npos);
  EXPECT_NE(bench.state().run_ended()->reason.find("no execute permission"), std::string::npos);
  EXPECT_EQ(bench.state().count(TrialState::waiting), 63U);
}

TEST(StartFailure, CaseD16_AStartFailureFoundByASuccessorEndsTheRunToo) {
  Bench bench;
  bench.begin();
  bench.answer(9);
  bench.restart();
  bench.begin(false);
  EXPECT_EQ(bench.ends({1, 1}, {OutcomeKind::start_failed, 0, "no such file"}),
            "ended 1.1 start_failed, finished 1 failed, run_stopping drain 5");
  EXPECT_EQ(bench.gone({1, 1}), "released 1.1, run_ended 5 | end 5");
}

TEST(StartFailure, CaseD16_ACommandThatAShellCannotFindEndsTheRunAfterThreeTrials) {
  Bench bench(small_config(1));
  bench.begin();
  bench.answer(1000);
  for (TrialNumber trial = 1; trial <= 3; ++trial) {
    bench.runs({trial, 1});
    const std::string ended = bench.exits({trial, 1}, trial == 2 ? 126 : 127);
    EXPECT_EQ(ended.find("run_stopping drain 6") != std::string::npos, trial == 3) << ended;
    bench.gone({trial, 1});
  }
  EXPECT_NE(bench.state().run_ended()->reason.find("exit code 127"), std::string::npos);
}

TEST(StartFailure, CaseD16_ExitCode127OfSomeTrialsIsTheirsAlone) {
  Bench bench(small_config(1));
  bench.begin();
  bench.answer(1000);
  for (TrialNumber trial = 1; trial <= 6; ++trial) {
    bench.runs({trial, 1});
    const std::string ended = bench.exits({trial, 1}, trial == 1 ? 1 : 127);
    EXPECT_EQ(ended.find("run_stopping"), std::string::npos) << ended;
    bench.gone({trial, 1});
  }
}

TEST(StartFailure, CaseA10_ATrialThatCannotStartForItsOwnParametersLetsOthersStart) {
  Bench bench;
  bench.begin();
  bench.answer(3);
  for (TrialNumber trial = 1; trial <= 2; ++trial) {
    const std::string next = std::to_string(trial + 1) + ".1";
    EXPECT_EQ(bench.give(AttemptDidNotStart{{trial, 1}, "argument too long", true}),
              fmt::format("ended {0}.1 start_failed, released {0}.1, finished {0} failed, planned "
                          "{1}@0 | start {1}",
                          trial, next));
  }
}

TEST(StartFailure, ThreeFailedStartsInARowStopARunThatHadBegun) {
  Bench bench(small_config(1));
  bench.begin();
  bench.answer(9);
  bench.completes({1, 1});
  bench.fails_to_start({2, 1});
  bench.fails_to_start({3, 1});
  EXPECT_FALSE(bench.state().stopping());
  EXPECT_NE(bench.fails_to_start({4, 1}).find("run_ended 6 | end 6"), std::string::npos);
}

TEST(StartFailure, AStartFailureWithARetryLeftIsTriedAgain) {
  EngineConfig config = small_config(1);
  config.retries.count = 1;
  config.retries.wait = Milliseconds(500);
  Bench bench(config);
  bench.begin();
  bench.answer(1);
  EXPECT_EQ(bench.fails_to_start({1, 1}),
            "ended 1.1 start_failed, released 1.1, requeued 1 retry | wake 1000500");
  bench.now += 500;
  EXPECT_EQ(bench.give(TimePassed{}), "planned 1.2@0 | start 1.2");
}

}  // namespace
}  // namespace seedbed
