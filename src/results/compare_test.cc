#include "results/compare.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "results/results_testing.h"

namespace seedbed {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::point_of;
using testing::WrittenStudy;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

CompareOptions by(const std::string& text) {
  CompareOptions options;
  options.by = *Measure::parse(text);
  return options;
}

TEST(Measure, ReadsItsThreeFormsAndRefusesTheRest) {
  EXPECT_EQ(Measure::parse("last")->text(), "last");
  EXPECT_EQ(Measure::parse("best")->text(), "best");
  EXPECT_EQ(Measure::parse("mean-last:12")->text(), "mean-last:12");
  for (const char* bad : {"", "mean", "mean-last", "mean-last:", "mean-last:0", "mean-last:-1",
                          "mean-last:2x", "mean-last:99999999999999999999", "Best"}) {
    EXPECT_FALSE(Measure::parse(bad)) << bad;
  }
}

TEST(Compare, CaseJ13_RanksTheTrialsOfThePresentSpaceByTheGoalOfTheMetric) {
  WrittenStudy study;
  study.write(testing::sample_space());
  study.trial(1, point_of("1", 0), {1});
  study.trial(2, point_of("2", 0), {kNan});
  study.trial(3, point_of("3", 0), {3});
  study.trial(4, point_of("4", 0), {0}, TrialState::failed, "exit code 1");
  study.trial(5, point_of("5", 0), {3});
  const Goal goal = testing::sample_space().goal;
  const auto best_first = *ranked_trials(study.snapshot(), by("last"));
  EXPECT_THAT(best_first,
              goal == Goal::maximize ? ElementsAre(3U, 5U, 1U) : ElementsAre(1U, 3U, 5U));
  CompareOptions turned = by("last");
  turned.goal = goal == Goal::maximize ? Goal::minimize : Goal::maximize;
  EXPECT_EQ(ranked_trials(study.snapshot(), turned)->back(), goal == Goal::maximize ? 5U : 1U);
}

TEST(Compare, CaseK1_MeanAndSampleDeviationOverSeedsWithAMarkWhereOneFailed) {
  WrittenStudy study;
  study.write(testing::sample_space());
  const double first[] = {1, 2, 3, 4, 5};
  const double second[] = {0.5, 9, 9, 9};
  TrialNumber number = 0;
  for (int seed = 0; seed < 5; ++seed) {
    study.trial(++number, point_of("1e-3", seed), {first[seed]});
  }
  for (int seed = 0; seed < 4; ++seed) {
    study.trial(++number, point_of("1e-2", seed), {second[seed]});
  }
  study.trial(++number, point_of("1e-2", 4), {0.1}, TrialState::failed, "exit code 1");

  const auto result = compare(study.snapshot(), by("last"));
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(result->rows.size(), 2U);
  const Configuration& good = result->rows[0];
  EXPECT_EQ(good.n, 5U);
  EXPECT_DOUBLE_EQ(*good.mean, 3.0);
  EXPECT_DOUBLE_EQ(*good.std, std::sqrt(2.5));  // divided by n-1
  EXPECT_THAT(good.missing, IsEmpty());
  EXPECT_EQ(good.point.parameters.size(), 1U);
  const Configuration& other = result->rows[1];
  EXPECT_EQ(other.n, 4U);
  ASSERT_EQ(other.missing.size(), 1U);
  EXPECT_EQ(other.missing[0].seed.spelling(), "4");
  EXPECT_EQ(other.missing[0].why, "failed");
  EXPECT_EQ(other.missing[0].trial, 10U);
  EXPECT_THAT(result->varying, ElementsAre("lr"));

  // The best setting is the best mean, not the one with the luckiest seed.
  const auto found = best(study.snapshot(), by("last"));
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_TRUE(found->configuration);
  EXPECT_EQ(found->configuration->point.find("lr")->spelling(), "1e-3");
  EXPECT_DOUBLE_EQ(found->value, 3.0);
  EXPECT_EQ(found->trial, 1U);
  EXPECT_EQ(best_trial(study.snapshot(), by("last"))->trial, 6U);
}

TEST(Compare, CaseK1_SeedsWithoutATrialOrAResultAreNamed) {
  WrittenStudy study;
  study.write(testing::sample_space());
  study.trial(1, point_of("1", 0), {1});
  study.trial(2, point_of("1", 1), {}, TrialState::completed);
  study.trial(3, point_of("1", 2), {3}, TrialState::running);
  study.trial(4, point_of("2", 0), {5});
  const auto result = compare(study.snapshot(), by("last"));
  ASSERT_TRUE(result);
  ASSERT_EQ(result->rows.size(), 2U);
  std::vector<std::string> why;
  for (const MissingSeed& missing : result->rows[0].missing) why.push_back(missing.why);
  EXPECT_THAT(why, ElementsAre("no metric", "running"));
  why.clear();
  for (const MissingSeed& missing : result->rows[1].missing) why.push_back(missing.why);
  EXPECT_THAT(why, ElementsAre("no trial", "no trial"));
  EXPECT_FALSE(result->rows[1].std) << "no deviation of a single value";
}

TEST(Compare, CaseK1_WhatMissesASeedIsBehindWhatIsComplete) {
  WrittenStudy study;
  study.write(testing::sample_space());
  study.trial(1, point_of("1", 0), {0.1});
  study.trial(2, point_of("1", 1), {0.1}, TrialState::failed, "exit code 1");
  study.trial(3, point_of("2", 0), {0.6});
  study.trial(4, point_of("2", 1), {0.6});
  study.trial(5, point_of("3", 0), {0.5});
  study.trial(6, point_of("3", 1), {0.5});
  study.trial(7, point_of("4", 0), {kNan});
  study.trial(8, point_of("4", 1), {0.1});
  const auto result = compare(study.snapshot(), by("last"));
  ASSERT_TRUE(result);
  std::vector<std::string> order;
  for (const Configuration& row : result->rows) {
    order.push_back(row.point.find("lr")->spelling());
  }
  EXPECT_THAT(order, ElementsAre("3", "2", "1", "4"));
  EXPECT_EQ(best(study.snapshot(), by("last"))->trial, 5U);
  EXPECT_EQ(best_trial(study.snapshot(), by("last"))->trial, 1U);

  // Where none is complete the best of what there is.
  study.trial(9, point_of("5", 2), {0.4});
  const auto found = best(study.snapshot(), by("last"));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->trial, 1U);
  EXPECT_FALSE(found->configuration->missing.empty());
}

TEST(Compare, CaseK8_LastBestAndMeanOfTheLastOnes) {
  WrittenStudy study;
  study.write(testing::sample_space());
  study.trial(1, point_of("1", 0), {0.9, 0.1, 0.5});
  const auto value = [&](const std::string& text) {
    const CompareOptions options = by(text);
    const auto found = best(study.snapshot(needed_for(options, "loss")), options);
    EXPECT_TRUE(found) << found.error().message;
    return found ? found->value : kNan;
  };
  EXPECT_DOUBLE_EQ(value("best"), 0.1);
  EXPECT_DOUBLE_EQ(value("last"), 0.5);
  EXPECT_DOUBLE_EQ(value("mean-last:2"), 0.3);
  EXPECT_DOUBLE_EQ(value("mean-last:1"), 0.5);
  EXPECT_DOUBLE_EQ(value("mean-last:100"), 0.5) << "the mean of what there is";
}

TEST(Compare, CaseK8_TiesGoToTheLowestTrialNumber) {
  WrittenStudy study;
  study.write(testing::sample_space());
  study.trial(1, point_of("3", 0), {0.7});
  study.trial(2, point_of("1", 0), {0.5});
  study.trial(3, point_of("2", 0), {0.5});
  EXPECT_EQ(best(study.snapshot(), by("last"))->trial, 2U);
}

TEST(Compare, CaseC7_NanAndInfinitiesAreNeverBest) {
  WrittenStudy study;
  study.write(testing::sample_space());
  study.trial(1, point_of("1", 0), {kNan});
  study.trial(2, point_of("2", 0), {0.5});
  study.trial(3, point_of("3", 0), {kInfinity});
  study.trial(4, point_of("4", 0), {-kInfinity});
  for (const Goal goal : {Goal::minimize, Goal::maximize}) {
    for (const char* text : {"last", "best", "mean-last:1"}) {
      CompareOptions options = by(text);
      options.goal = goal;
      const auto found = best(study.snapshot(needed_for(options, "loss")), options);
      ASSERT_TRUE(found) << found.error().message;
      EXPECT_EQ(found->trial, 2U) << text;
      EXPECT_EQ(found->candidates, 4U);
      EXPECT_EQ(found->not_finite, 3U);
    }
  }
}

TEST(Compare, CaseC7_ADivergedSeedMakesTheMeanNanAndNeverBest) {
  WrittenStudy study;
  study.write(testing::sample_space());
  study.trial(1, point_of("1", 0), {0.1});
  study.trial(2, point_of("1", 1), {0.2, kNan});
  study.trial(3, point_of("2", 0), {0.8});
  study.trial(4, point_of("2", 1), {0.9});
  const auto found = best(study.snapshot(), by("last"));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->configuration->point.find("lr")->spelling(), "2");
  const auto result = compare(study.snapshot(), by("last"));
  EXPECT_TRUE(std::isnan(*result->rows[1].mean));
  // By the best point of each curve it may win.
  EXPECT_EQ(best(study.snapshot(), by("best"))->configuration->point.find("lr")->spelling(), "1");
}

TEST(Compare, CaseC7_NothingFiniteSaysSo) {
  WrittenStudy study;
  study.write(testing::sample_space());
  study.trial(1, point_of("1", 0), {kNan});
  const auto found = best(study.snapshot(), by("best"));
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::usage);
  EXPECT_THAT(found.error().message, HasSubstr("never best"));
}

TEST(Compare, CaseC10_AMissingMetricListsTheNamesThatWereSeen) {
  WrittenStudy study;
  SpaceSet space = testing::sample_space();
  space.metric = "val/loss";
  study.write(space);
  study.trial(1, point_of("1", 0), {});
  study.write(MetricsReported{{1, 1}, {{"val_loss", 1, 1, {5}}}, {}});
  const auto found = best(study.snapshot(), by("last"));
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr("val/loss"));
  EXPECT_THAT(found.error().message, HasSubstr("did you mean \"val_loss\""));
  CompareOptions other = by("last");
  other.metric = "nosuch";
  EXPECT_THAT(compare(study.snapshot(), other).error().message, HasSubstr("val_loss"));
}

TEST(Compare, BestBeforeAnythingHasCompletedSaysSo) {
  WrittenStudy study;
  study.write(testing::sample_space());
  study.trial(1, point_of("1", 0), {0.3}, TrialState::running);
  const auto found = best(study.snapshot(), by("last"));
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr("no trial has completed"));
}

TEST(Compare, CaseK5_TheGoalOfTheStudyDecides) {
  WrittenStudy study;
  SpaceSet space = testing::sample_space();
  space.goal = Goal::maximize;
  study.write(space);
  study.trial(1, point_of("1", 0), {0.3});
  study.trial(2, point_of("2", 0), {0.4});
  EXPECT_EQ(best(study.snapshot(), by("last"))->trial, 2U);
  CompareOptions turned = by("last");
  turned.goal = Goal::minimize;
  EXPECT_EQ(best(study.snapshot(), turned)->trial, 1U);
}

TEST(Compare, CaseI2_TrialsOutsideThePresentSpaceAreLeftOut) {
  WrittenStudy study;
  study.write(testing::sample_space(1));
  study.trial(1, point_of("1", 0), {0.1});
  study.write(testing::sample_space(2));
  study.trial(2, point_of("2", 0), {0.4}, TrialState::completed, "", 2);
  EXPECT_EQ(best(study.snapshot(), by("last"))->trial, 2U);
  CompareOptions all = by("last");
  all.include_outside = true;
  EXPECT_EQ(best(study.snapshot(), all)->trial, 1U);
  EXPECT_THAT(compare(study.snapshot(), by("last"))->varying, IsEmpty());
  EXPECT_THAT(compare(study.snapshot(), all)->varying, ElementsAre("lr"))
      << "constant in the present space, but not among these rows";
}

TEST(Compare, WithoutASeedParameterEveryTrialIsItsOwnConfiguration) {
  WrittenStudy study;
  SpaceSet space = testing::sample_space();
  space.seed_parameter = "";
  study.write(space);
  study.trial(1, point_of("1", 0), {0.1});
  study.trial(2, point_of("1", 1), {0.4});
  const auto result = compare(study.snapshot(), by("last"));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->rows.size(), 2U);
  EXPECT_THAT(result->rows[0].missing, IsEmpty());
  EXPECT_FALSE(best(study.snapshot(), by("last"))->configuration);
}

}  // namespace
}  // namespace seedbed
