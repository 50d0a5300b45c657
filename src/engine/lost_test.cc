// Attempts believed lost, and the late news of them; output and folders that are gone.

#include <gtest/gtest.h>

#include "engine/engine.h"
#include "engine/engine_testing.h"

namespace seedbed {
namespace {

using testing::Bench;
using testing::kStopped;
using testing::small_config;

TEST(Engine, CaseI4_LostAttemptsWaitAgainAndTheThirdInARowFails) {
  Bench bench(small_config(1));
  bench.begin();
  bench.answer(1);
  for (std::uint32_t attempt = 1; attempt <= 2; ++attempt) {
    bench.runs({1, attempt});
    EXPECT_EQ(bench.give(AttemptIsLost{{1, attempt}, "no record"}),
              fmt::format("ended 1.{0} lost, released 1.{0}, requeued 1 lost, planned 1.{1}@0 | "
                          "start 1.{1}",
                          attempt, attempt + 1));
  }
  bench.runs({1, 3});
  EXPECT_EQ(bench.give(AttemptIsLost{{1, 3}, "no record"}),
            "ended 1.3 lost, released 1.3, finished 1 failed, run_ended 1 | end 1");
  EXPECT_EQ(bench.trial(1).reason, "lost 3 times in a row: no record");
}

TEST(Engine, CaseI4_LostUsesNoRetryAndAnotherEndBreaksTheRow) {
  EngineConfig config = small_config(1);
  config.retries.count = 1;
  Bench bench(config);
  bench.begin();
  bench.answer(1);
  bench.give(AttemptIsLost{{1, 1}, ""});
  bench.give(AttemptIsLost{{1, 2}, ""});
  bench.runs({1, 3});
  bench.exits({1, 3}, 1);
  bench.gone({1, 3});
  EXPECT_EQ(bench.trial(1).retries_used, 1);
  bench.give(AttemptIsLost{{1, 4}, ""});
  EXPECT_EQ(bench.trial(1).state, TrialState::running) << "the row began anew";
}

TEST(Engine, CaseH11_ALateResultIsAcceptedWhileNoNewerAttemptHasEnded) {
  Bench bench(small_config(1));
  bench.begin();
  bench.answer(1);
  bench.runs({1, 1});
  bench.give(AttemptIsLost{{1, 1}, "host is silent"});
  bench.runs({1, 2});
  EXPECT_EQ(bench.exits({1, 1}, 0),
            "ended 1.1 exited, stopping 1.2 cancelled, finished 1 completed | stop 1.2 cancelled");
  EXPECT_EQ(bench.ends({1, 2}, kStopped), "ended 1.2 stopped");
  EXPECT_EQ(bench.gone({1, 2}), "released 1.2, run_ended 0 | end 0");
  EXPECT_EQ(bench.trial(1).state, TrialState::completed);
}

TEST(Engine, CaseH11_ALateResultAfterANewerEndChangesNothing) {
  Bench bench(small_config(1));
  bench.begin();
  bench.answer(2);
  bench.runs({1, 1});
  bench.give(AttemptIsLost{{1, 1}, "host is silent"});
  bench.runs({1, 2});
  bench.exits({1, 2}, 1);
  EXPECT_EQ(bench.exits({1, 1}, 0), "");
  EXPECT_EQ(bench.trial(1).state, TrialState::failed);
}

TEST(Engine, CaseH11_ALateFailureBesideANewerAttemptIsOnlyHistory) {
  Bench bench(small_config(1));
  bench.begin();
  bench.answer(1);
  bench.give(AttemptIsLost{{1, 1}, ""});
  bench.runs({1, 2});
  EXPECT_EQ(bench.exits({1, 1}, 1), "ended 1.1 exited");
  EXPECT_EQ(bench.trial(1).state, TrialState::running);
}

TEST(Engine, CaseH11_ALateFailureOfAWaitingTrialIsItsEnd) {
  Bench bench(small_config(1));
  bench.begin();
  bench.answer(2);
  bench.runs({1, 1});
  bench.give(PauseAsked{true});
  bench.give(AttemptIsLost{{1, 1}, ""});
  EXPECT_EQ(bench.exits({1, 1}, 1), "ended 1.1 exited, finished 1 failed");
}

TEST(Engine, CaseH11_ALateSuccessOfATrialFailedAsLostOpensItAgain) {
  Bench bench(small_config(1));
  bench.begin();
  bench.answer(2);
  for (std::uint32_t attempt = 1; attempt <= 3; ++attempt) {
    bench.give(AttemptIsLost{{1, attempt}, ""});
  }
  EXPECT_EQ(bench.trial(1).state, TrialState::failed);
  EXPECT_EQ(bench.exits({1, 3}, 0), "ended 1.3 exited, reopened 1, finished 1 completed");
  EXPECT_EQ(bench.trial(1).openings, 2);
}

TEST(Engine, AStudyWhoseFolderIsGoneStartsNothingMoreAndLetsRunningTrialsFinish) {
  Bench bench(small_config(1));
  bench.begin();
  bench.answer(3);
  bench.runs({1, 1});
  EXPECT_EQ(bench.give(StudyGone{"it was moved"}), "run_stopping drain 4");
  EXPECT_EQ(bench.give(StudyGone{"it was moved"}), "") << "said once";
  bench.exits({1, 1}, 0);
  EXPECT_EQ(bench.gone({1, 1}), "released 1.1, run_ended 4 | end 4");
}

TEST(Engine, AStudyThatIsGoneIsToldEvenIfNoWorkIsLeft) {
  Bench bench(small_config(1));
  bench.begin();
  bench.answer(1);
  bench.runs({1, 1});
  bench.give(StudyGone{"it was moved"});
  bench.exits({1, 1}, 0);
  EXPECT_EQ(bench.gone({1, 1}), "released 1.1, run_ended 4 | end 4");
}

TEST(Engine, ASuccessWhoseOutputWasRemovedBeforeItsMetricWasReadIsLost) {
  EngineConfig config = small_config(2);
  config.objective.metric = "loss";
  Bench bench(config);
  bench.begin();
  bench.answer(2);
  bench.runs({1, 1});
  bench.runs({2, 1});
  AttemptFinished removed;
  removed.attempt = {1, 1};
  removed.output_gone = true;
  EXPECT_EQ(bench.give(removed), "note output_gone, ended 1.1 lost, requeued 1 lost");
  bench.reports({2, 1}, "loss", 1, 0.5);
  removed.attempt = {2, 1};
  EXPECT_EQ(bench.give(removed), "note output_gone, ended 2.1 lost, requeued 2 lost")
      << "more may have come than was read";
}

TEST(Engine, ATrialWhoseOutputIsAlwaysGoneIsNotTriedForEver) {
  EngineConfig config = small_config(1);
  config.objective.metric = "loss";
  Bench bench(config);
  bench.begin();
  bench.answer(1);
  for (std::uint32_t attempt = 1; attempt <= 3; ++attempt) {
    bench.runs({1, attempt});
    AttemptFinished removed;
    removed.attempt = {1, attempt};
    removed.output_gone = true;
    bench.give(removed);
    bench.gone({1, attempt});
  }
  EXPECT_EQ(bench.trial(1).state, TrialState::failed);
  EXPECT_EQ(bench.trial(1).reason.find("lost 3 times in a row"), 0U);
}

}  // namespace
}  // namespace seedbed
