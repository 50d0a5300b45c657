#include "controller/request_text.h"

#include <gmock/gmock.h>

#include "engine/engine_testing.h"

namespace seedbed {
namespace {

using testing::Bench;
using ::testing::HasSubstr;
using testing::kExit1;
using testing::small_config;

std::string told(const Bench& bench, const Input& input) {
  const auto text = request_text(bench.state(), input, Timestamp{bench.now});
  return text ? *text : "refused: " + text.error().message;
}

TEST(RequestText, CancelSaysWhatBecomesOfEachTrial) {
  Bench bench(small_config(1));
  bench.begin();
  bench.answer(5);
  bench.runs({1, 1});
  EXPECT_EQ(told(bench, CancelAsked{{5, 1, 3, 2}}),
            "trial 1 is asked to stop; trials 2-3, 5 cancelled");
  bench.give(CancelAsked{{4}});
  EXPECT_EQ(told(bench, CancelAsked{{4, 5}}),
            "trial 4 had ended before: cancelled; trial 5 cancelled");
}

TEST(RequestText, WhatDoesNotExistIsRefusedByNameAndTheOthersAreLeft) {
  Bench bench(small_config(1));
  bench.begin();
  EXPECT_EQ(told(bench, CancelAsked{{1}}), "refused: there is no trial 1: there are none yet");
  bench.answer(2);
  for (const Input& input : {Input(CancelAsked{{9, 2, 1, 12}}), Input(RetryAsked{{9, 2, 1, 12}})}) {
    EXPECT_EQ(told(bench, input),
              "refused: there are no trials 9, 12: the last one is 2; trials 1-2 are left as they "
              "are");
  }
  EXPECT_EQ(told(bench, RetryAsked{{9, 1}}),
            "refused: there is no trial 9: the last one is 2; trial 1 is left as it is");
}

TEST(RequestText, RetrySaysWhyItDoesNothing) {
  EngineConfig config = small_config(1);
  config.retries.count = 1;
  config.retries.wait = Milliseconds(60'000);
  Bench bench(config);
  bench.begin();
  bench.answer(3);
  bench.runs({1, 1});
  EXPECT_EQ(told(bench, RetryAsked{{1, 2}}), "trial 1 is running; trial 2 was waiting already");
  EXPECT_EQ(told(bench, RetryAsked{}), "no trial has failed");
  bench.ends({1, 1}, kExit1);
  bench.gone({1, 1});
  ASSERT_EQ(bench.state().trial(1)->state, TrialState::waiting);
  EXPECT_THAT(told(bench, RetryAsked{{1}}), HasSubstr("trial 1 starts again by itself in 1m"));
  bench.completes({2, 1});
  EXPECT_THAT(told(bench, RetryAsked{{2}}), HasSubstr("trial 2 has completed"));
}

TEST(RequestText, OtherInputsSayNothing) {
  const Bench bench;
  EXPECT_EQ(told(bench, StopAsked{}), "");
}

TEST(FirstPointsText, ShowsFourPointsAndCountsTheRest) {
  std::vector<Point> points;
  for (int i = 1; i <= 6; ++i) {
    points.push_back(
        {{{"a", Value::integer(i)}, {"w", Value::from_text("x y")}, {"gone", Value()}}});
  }
  EXPECT_EQ(first_points_text(points),
            "a=1 w='x y'; a=2 w='x y'; a=3 w='x y'; a=4 w='x y'; … and 2 more");
  EXPECT_EQ(first_points_text({points[0]}), "a=1 w='x y'");
  EXPECT_EQ(first_points_text({Point{}}), "(no parameters)");
}

}  // namespace
}  // namespace seedbed
