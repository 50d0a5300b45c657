#include "engine/state.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/curve_points.h"
#include "engine/engine_testing.h"

namespace seedbed {
namespace {

using testing::point_of;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Folded {
  StudyState state;
  std::int64_t now = 1;
  void operator()(Record record) { state.apply({Timestamp{now}, std::move(record)}); }
};

SpaceSet space(std::uint32_t revision, const std::string& metric,
               const std::string& command = "program") {
  SpaceSet set;
  set.revision = revision;
  set.metric = metric;
  set.command_identity = command;
  return set;
}

TrialProposed proposed(TrialNumber trial, std::int64_t value, std::uint32_t revision = 1) {
  return {trial, point_of(value), point_of(value).identity(), 0, revision, false, "f"};
}

MetricsReported reported(TrialNumber trial, const std::string& name,
                         std::vector<std::pair<double, double>> points) {
  MetricsReported report;
  report.attempt = {trial, 1};
  for (const auto& [step, value] : points) report.points.push_back({name, step, value, {5}});
  return report;
}

TEST(StudyState, CurvesAreOfTheObjectiveInOrderOfStepAndARepeatedStepKeepsTheLatest) {
  Folded fold;
  fold.state.keep_curves();
  fold(space(1, "loss"));
  fold(proposed(1, 1));
  fold(AttemptPlanned{{1, 1}, {}});
  fold(reported(1, "loss", {{1, 0.9}, {3, 0.5}, {2, 0.7}, {3, 0.4}, {kNan, 7}}));
  fold(reported(1, "acc", {{1, 0.1}}));
  const Curve& curve = fold.state.curves().at(1);
  EXPECT_EQ(curve.points, (std::vector<CurvePoint>{{1, 0.9}, {2, 0.7}, {3, 0.4}}));
  EXPECT_EQ(fold.state.trial(1)->last_metrics.at("acc"), 0.1);
}

TEST(StudyState, MetricPointsMayComeAfterAllOtherRecords) {
  const std::vector<Record> others = {
      space(1, "loss"),           proposed(1, 1),
      AttemptPlanned{{1, 1}, {}}, AttemptEnded{{1, 1}, {}, {}},
      AllocationReleased{{1, 1}}, TrialFinished{1, TrialState::completed, "", false}};
  const Record points = reported(1, "loss", {{1, 0.5}});
  Folded live, loaded;
  live.state.keep_curves();
  loaded.state.keep_curves();
  for (std::size_t i = 0; i < others.size(); ++i) {
    if (i == 3) live(points);
    live(others[i]);
    loaded(others[i]);
  }
  loaded(points);
  EXPECT_EQ(live.state.curves().at(1).points, loaded.state.curves().at(1).points);
  EXPECT_TRUE(live.state.curves().at(1).finished);
  EXPECT_TRUE(loaded.state.curves().at(1).finished);
}

TEST(StudyState, ACurveStaysBoundedAndKeepsFirstLastLeastAndGreatest) {
  Curve curve;
  const std::vector<CurvePoint>& points = curve.points;
  const std::size_t all = 3 * StudyState::kCurvePoints;
  for (std::size_t i = 0; i < all; ++i) {
    double value = 1;
    if (i == 777) value = -5;
    if (i == 1333) value = 50;
    if (i == 1335) value = kNan;
    add_curve_point(curve, {static_cast<double>(i), value});
    ASSERT_LE(points.size(), StudyState::kCurvePoints);
    ASSERT_EQ(points.size() + curve.left_out, i + 1);
  }
  EXPECT_EQ(points.front().step, 0);
  EXPECT_EQ(points.back().step, static_cast<double>(all - 1));
  const auto has = [&points](double value) {
    return std::any_of(points.begin(), points.end(),
                       [value](const CurvePoint& p) { return p.value == value; });
  };
  EXPECT_TRUE(has(-5));
  EXPECT_TRUE(has(50));
}

TEST(StudyState, ANewMetricBeginsNewCurvesUnlessOneWasChosen) {
  Folded fold;
  fold.state.keep_curves();
  fold(space(1, "loss"));
  fold(proposed(1, 1));
  fold(AttemptPlanned{{1, 1}, {}});
  fold(reported(1, "loss", {{1, 0.5}}));
  EXPECT_EQ(fold.state.curves().size(), 1U);
  fold(space(2, "acc"));
  EXPECT_TRUE(fold.state.curves().empty());
  Folded chosen;
  chosen.state.keep_curves();
  chosen.state.follow("acc");
  chosen(space(1, "loss"));
  chosen(proposed(1, 1));
  chosen(AttemptPlanned{{1, 1}, {}});
  chosen(reported(1, "acc", {{1, 0.5}}));
  chosen(space(2, "acc"));
  EXPECT_EQ(chosen.state.curves().size(), 1U);
}

TEST(StudyState, WithoutPrunersOnlyTheLastStepIsKept) {
  Folded fold;
  fold(space(1, "loss"));
  fold(proposed(1, 1));
  fold(AttemptPlanned{{1, 1}, {}});
  fold(reported(1, "loss", {{1, 0.5}, {2, 0.4}}));
  fold(reported(1, "acc", {{7, 0.5}}));
  EXPECT_TRUE(fold.state.curves().empty());
  EXPECT_EQ(fold.state.trial(1)->last_step, 2);
}

TEST(StudyState, CountsAreOfThePresentSpaceAndCommand) {
  Folded fold;
  fold(space(1, ""));
  fold(proposed(1, 1));
  fold(proposed(2, 2));
  fold(TrialProposed{3, point_of(3), point_of(3).identity(), 0, 0, true, "f"});
  EXPECT_EQ(fold.state.count(TrialState::waiting), 3U);
  fold(space(2, ""));
  EXPECT_EQ(fold.state.count(TrialState::waiting), 1U) << "the added one stays";
  fold(TrialKept{2, 2, 0, false});
  EXPECT_EQ(fold.state.count(TrialState::waiting), 2U);
  fold(space(3, "", "other program"));
  EXPECT_EQ(fold.state.count(TrialState::waiting), 0U) << "trials of another command";
  EXPECT_EQ(fold.state.by_identity(point_of(1).identity()), nullptr);
  EXPECT_EQ(fold.state.command_of(*fold.state.trial(1)), "program");
  fold(space(4, "", "program"));
  EXPECT_EQ(fold.state.count(TrialState::waiting), 1U);
  EXPECT_EQ(fold.state.by_identity(point_of(1).identity())->number, 1U);
}

TEST(StudyState, ANewRunForgetsHowTheLastOneStopped) {
  Folded fold;
  fold(space(1, ""));
  fold(RunStarted{1, "", 0, "", 2, "", "", false});
  fold(RunStopping{1, StopMode::kill, 130, "interrupted (INT)"});
  fold(RunEnded{1, 130, "interrupted (INT)"});
  EXPECT_FALSE(fold.state.tally().active);
  fold(RunStarted{2, "", 0, "", 3, "", "", false});
  EXPECT_FALSE(fold.state.stopping());
  EXPECT_FALSE(fold.state.run_ended());
  EXPECT_EQ(fold.state.slots(), 3U);
}

TEST(StudyStateDeathTest, RecordsThatContradictEachOtherStopTheProgram) {
  Folded fold;
  fold(space(1, ""));
  fold(proposed(1, 1));
  EXPECT_DEATH(fold(proposed(1, 2)), "") << "a number twice";
  EXPECT_DEATH(fold(proposed(2, 1)), "") << "a point twice";
  EXPECT_DEATH(fold(space(1, "")), "") << "a revision twice";
  EXPECT_DEATH(fold(AttemptPlanned{{1, 2}, {}}), "") << "a hole in the numbers";
  EXPECT_DEATH(fold(AttemptStarted{{1, 1}, 1, 1, "", "", ""}), "") << "not planned";
  EXPECT_DEATH(fold(TrialRequeued{9, RequeueCause::retry, {}}), "") << "no such trial";
  fold(AttemptPlanned{{1, 1}, {}});
  fold(AttemptEnded{{1, 1}, {OutcomeKind::exited, 0, ""}, {}});
  EXPECT_DEATH(fold(AttemptEnded{{1, 1}, {}, {}}), "") << "ended twice";
  fold(AllocationReleased{{1, 1}});
  EXPECT_DEATH(fold(AllocationReleased{{1, 1}}), "") << "released twice";
}

}  // namespace
}  // namespace seedbed
