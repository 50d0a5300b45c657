#include "results/best_so_far.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.h"
#include "results/compare.h"
#include "results/results_testing.h"

namespace seedbed {
namespace {

using testing::point_of;
using testing::WrittenStudy;

// Spellings of equal numbers, so that what replicates share is not their text.
constexpr const char* kSpellings[] = {"1", "0.1", "2", "1e-1"};
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TrialState state_of(std::uint64_t roll) {
  if (roll < 7) return TrialState::completed;
  return roll == 7 ? TrialState::failed : roll == 8 ? TrialState::running : TrialState::waiting;
}

// Ties, NaN, trials without the metric, trials of an earlier space.
void write_some_study(WrittenStudy& study, Random& random, bool seeded, bool shared) {
  SpaceSet space = testing::sample_space(1);
  space.goal = random.below(2) == 0 ? Goal::minimize : Goal::maximize;
  if (!seeded) space.seed_parameter = "";
  study.write(space);
  const std::uint64_t trials = 1 + random.below(12);
  for (TrialNumber number = 1; number <= trials; ++number) {
    if (number == 4) {
      space.revision = 2;
      study.write(space);
    }
    std::vector<double> losses;
    const std::uint64_t roll = random.below(10);
    if (roll > 0) losses = {7, roll == 1 ? kNan : static_cast<double>(random.below(4)) / 3};
    // A seed of its own for each trial, or three settings that share their seeds.
    const auto point =
        shared ? point_of(kSpellings[number % 3], static_cast<std::int64_t>(number / 3))
               : point_of(kSpellings[random.below(4)], static_cast<std::int64_t>(number));
    study.trial(number, point, losses, state_of(random.below(10)), "", space.revision);
  }
}

TEST(BestSoFar, IsWhatTheComparisonOfASnapshotFinds) {
  constexpr int kStudies = 60;
  int found_some = 0;
  for (int round = 0; round < kStudies; ++round) {
    WrittenStudy study;
    Random random(7, static_cast<std::uint64_t>(round));
    write_some_study(study, random, round % 3 != 0, round % 2 != 0);
    const auto expected = best(study.snapshot(), {});
    const auto found = study.reader().best_so_far();
    ASSERT_TRUE(found) << found.error().message;
    ASSERT_EQ(found->has_value(), expected.has_value()) << "study " << round;
    if (!expected) continue;
    ++found_some;
    EXPECT_EQ((*found)->trial, expected->trial) << "study " << round;
    EXPECT_EQ((*found)->value, expected->value) << "study " << round;
    EXPECT_EQ((*found)->of_configuration, expected->configuration.has_value());
    if (expected->configuration) {
      EXPECT_EQ((*found)->configuration.identity(), expected->configuration->point.identity());
      EXPECT_EQ((*found)->n, expected->configuration->n);
      EXPECT_EQ((*found)->incomplete, !expected->configuration->missing.empty());
    }
    EXPECT_EQ((*found)->metric, expected->metric);
    EXPECT_EQ((*found)->goal, expected->goal);
  }
  EXPECT_GT(found_some, kStudies / 2);
}

TEST(BestSoFar, NothingWithoutAMetric) {
  WrittenStudy study;
  SpaceSet space = testing::sample_space();
  space.metric = "";
  study.write(space);
  study.trial(1, point_of("1", 0), {0.5});
  const auto found = study.reader().best_so_far();
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_FALSE(*found);
}

}  // namespace
}  // namespace seedbed
