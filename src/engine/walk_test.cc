// The walk over the space: what is asked of the sampler, and what is made of its answers.

#include <gtest/gtest.h>

#include <map>

#include "engine/engine.h"
#include "engine/engine_testing.h"

namespace seedbed {
namespace {

using testing::Bench;
using testing::kStopped;
using testing::point_of;
using testing::small_config;

TEST(Engine, CaseB1_AHugeSpaceWithALimitIsAskedForThatManyPointsOnly) {
  EngineConfig config = small_config(1);
  config.limit = 5;
  Bench bench(config);
  EXPECT_EQ(bench.begin(), "run 1, space 1, walk 0+5 of 0 | ask 0+5");
  EXPECT_EQ(
      bench.answer(1'000'000'000),
      "proposed 1, proposed 2, proposed 3, proposed 4, proposed 5, planned 1.1@0, walk 5+0 of "
      "5, walked 5 | start 1.1");
  for (TrialNumber trial = 1; trial <= 5; ++trial) bench.completes({trial, 1});
  EXPECT_EQ(bench.state().run_ended()->exit_code, 0);

  bench.restart();
  bench.begin(false);
  EXPECT_EQ(bench.answer(1'000'000'000), "walk 5+0 of 5, walked 5, run_ended 0 | end 0")
      << "the same again runs nothing more";
  config.limit = 7;
  bench.restart(config);
  bench.begin(false);
  EXPECT_EQ(bench.answer(1'000'000'000),
            "proposed 6, proposed 7, planned 6.1@0, walk 7+0 of 7, walked 7 | start 6.1")
      << "a larger limit only the rest";
}

TEST(Engine, CaseB1_OnlySoManyTrialsWaitAhead) {
  EngineConfig config = small_config(1);
  config.lookahead = 10;
  Bench bench(config);
  EXPECT_EQ(bench.begin(), "run 1, space 1, walk 0+10 of 0 | ask 0+10");
  bench.answer(1'000'000);
  EXPECT_EQ(bench.state().tally().walk.asked, 0U);
  std::uint64_t questions = 0;
  for (TrialNumber trial = 1; trial <= 50; ++trial) {
    bench.completes({trial, 1});
    if (bench.state().tally().walk.asked > 0) {
      ++questions;
      bench.answer(1'000'000);
    }
    EXPECT_LE(bench.state().count(TrialState::waiting), 10U);
    EXPECT_GE(bench.state().count(TrialState::waiting), 4U);
  }
  EXPECT_LE(questions, 12U);
}

TEST(Engine, CaseB1_TheWalkPassesManyKnownPointsInFewQuestions) {
  EngineConfig config = small_config(1);
  config.limit = 6'000;
  config.lookahead = 6'000;
  Bench bench(config);
  bench.begin();
  while (!bench.state().tally().walk_done) bench.answer(6'000);
  bench.give(InterruptCame{});
  bench.ends({1, 1}, kStopped);
  bench.gone({1, 1});
  std::vector<TrialNumber> all;
  for (TrialNumber trial = 1; trial <= 6'000; ++trial) all.push_back(trial);
  bench.give(CancelAsked{all});
  config.lookahead = 1000;
  bench.restart(config);
  bench.begin(false);
  int questions = 0;
  while (!bench.state().tally().walk_done) {
    bench.answer(6'000);
    ++questions;
  }
  EXPECT_LE(questions, 3);
}

TEST(Engine, CaseB3_AnyNumberOfSlotsProposesTheSamePoints) {
  std::map<TrialNumber, std::string> first;
  for (const std::uint32_t slots : {1U, 4U}) {
    EngineConfig config = small_config(slots);
    config.lookahead = 3;
    Bench bench(config);
    bench.begin();
    while (bench.state().trials().size() < 40) {
      if (bench.state().tally().walk.asked > 0) {
        bench.answer(40);
      } else {
        const AttemptId id = bench.state().open_attempts().back();
        bench.completes(id);
      }
    }
    std::map<TrialNumber, std::string> points;
    for (const auto& [number, trial] : bench.state().trials()) {
      points[number] = trial.point.identity();
    }
    if (first.empty()) first = points;
    EXPECT_EQ(points, first);
  }
}

TEST(Engine, CaseB5_FourSlotsForOneCombinationRunItOnce) {
  Bench bench(small_config(4));
  bench.begin();
  bench.answer(1);
  bench.completes({1, 1});
  EXPECT_EQ(bench.state().trials().size(), 1U);
  EXPECT_EQ(bench.state().run_ended()->exit_code, 0);
}

TEST(Engine, ASamplerThatLearnsIsAskedOnlyForFreeSlots) {
  EngineConfig config = small_config(2);
  config.sampler_uses_history = true;
  Bench bench(config);
  EXPECT_EQ(bench.begin(), "run 1, space 1, walk 0+2 of 0 | ask 0+2");
  EXPECT_EQ(bench.answer(100), "proposed 1, proposed 2, planned 1.1@0, walk 2+0 of 2 | start 1.1");
  bench.runs({1, 1});
  bench.runs({2, 1});
  bench.exits({1, 1}, 0);
  EXPECT_EQ(bench.gone({1, 1}), "released 1.1, walk 2+1 of 2 | ask 2+1");
  bench.restart();
  EXPECT_EQ(bench.begin(false), "run 2, walk 2+1 of 2 | ask 2+1")
      << "asked again from the start it would answer otherwise";
}

TEST(Engine, ASamplerThatRepeatsItselfForEverIsNotAskedForEver) {
  EngineConfig config = small_config(1);
  config.sampler_uses_history = true;
  Bench bench(config);
  bench.begin();
  bench.answer(1);
  const auto one_more = [&bench] {
    const WalkMoved walk = bench.state().tally().walk;
    ProposalsMade made;
    made.from = walk.next;
    made.points = {{walk.next, point_of(0)}};
    made.next = walk.next + 1;
    return bench.give(made);
  };
  EXPECT_TRUE(bench.state().tally().walk_done);
  bench.restart(config);
  bench.begin();
  int questions = 0;
  while (!bench.state().tally().walk_done && questions < 5000) {
    one_more();
    ++questions;
    if (!bench.state().open_attempts().empty()) bench.completes(bench.state().open_attempts()[0]);
  }
  EXPECT_LT(questions, 1100);
}

TEST(Engine, OldAnswersOfTheSamplerAreIgnored) {
  Bench bench(small_config(1));
  bench.begin();
  ProposalsMade made;
  made.from = 5;
  made.next = 6;
  made.points = {{5, point_of(5)}};
  EXPECT_EQ(bench.give(made), "");
  bench.answer(100);
  made.from = 0;
  EXPECT_EQ(bench.give(made), "") << "answered already";
}

TEST(Engine, ARefusalOfTheSamplerEndsTheRunAsWrongUse) {
  Bench bench(small_config(1));
  bench.begin();
  ProposalsMade made;
  made.error = "where: `opt` is the text `adam`, not a number";
  EXPECT_EQ(bench.give(made), "run_stopping drain 2, walk 0+0 of 0, run_ended 2 | end 2");
  EXPECT_EQ(bench.state().run_ended()->reason, made.error);
}

TEST(Engine, LongFilteredStretchesAreWalkedQuestionByQuestion) {
  Bench bench(small_config(1));
  bench.begin();
  ProposalsMade nothing;
  nothing.next = 100'000;
  EXPECT_EQ(bench.give(nothing), "walk 100000+1000 of 0 | ask 100000+1000");
  nothing.from = 100'000;
  EXPECT_EQ(bench.give(nothing), "walk 100001+1000 of 0 | ask 100001+1000")
      << "an answer without progress does not hang the walk";
}

}  // namespace
}  // namespace seedbed
