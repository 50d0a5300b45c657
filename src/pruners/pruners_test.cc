#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "base/random.h"
#include "pruners/pruner.h"

namespace seedbed {
namespace {

using testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A curve with steps 1, 2, 3 …
Curve curve(TrialNumber trial, const std::vector<double>& values, bool finished = true) {
  Curve made{trial, finished, {}};
  for (std::size_t i = 0; i < values.size(); ++i) {
    made.points.push_back({static_cast<double>(i + 1), values[i]});
  }
  return made;
}

Curve running(const std::vector<double>& values) { return curve(100, values, false); }

std::vector<const Curve*> pointers(const std::vector<Curve>& curves) {
  std::vector<const Curve*> list;
  for (const Curve& one : curves) list.push_back(&one);
  return list;
}

std::unique_ptr<Pruner> pruner(const std::string& type, std::map<std::string, double> options = {},
                               Goal goal = Goal::minimize) {
  auto made = make_pruner({type, std::move(options)}, goal);
  EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().message);
  return made ? std::move(*made) : nullptr;
}

// ---- Curve

TEST(Curve, CaseK3_GivesTheLatestValueAtOrBeforeAStep) {
  const Curve a{1, false, {{10, 0.1}, {20, 0.2}, {30, 0.3}}};
  EXPECT_EQ(a.at(9.5), std::nullopt);
  EXPECT_EQ(a.at(10), 0.1);
  EXPECT_EQ(a.at(15), 0.1);
  EXPECT_EQ(a.at(29.999), 0.2);
  EXPECT_EQ(a.at(1e9), 0.3);
  EXPECT_EQ(Curve{}.at(1), std::nullopt);
}

// ---- What holds for every rule

struct Rule {
  std::string name;
  std::function<std::unique_ptr<Pruner>()> make;
};

class EveryRule : public testing::TestWithParam<Rule> {};

TEST_P(EveryRule, CaseK4_NeverStopsALoneTrial) {
  const auto rule = GetParam().make();
  for (const std::vector<double>& values :
       {std::vector<double>{1e9}, {1, 2, 3, 4, 5}, {kInfinity}, {-kInfinity}, {0, 0, 0}}) {
    EXPECT_FALSE(rule->judge(running(values), {}).stop);
  }
}

TEST_P(EveryRule, NeverStopsATrialWithoutValues) {
  const std::vector<Curve> peers(8, curve(1, {0.1, 0.1, 0.1}));
  EXPECT_FALSE(GetParam().make()->judge(running({}), pointers(peers)).stop);
}

TEST_P(EveryRule, CaseK4_NeverStopsWhenAllAreEqual) {
  std::vector<Curve> peers;
  for (TrialNumber trial = 1; trial <= 8; ++trial) peers.push_back(curve(trial, {0.3, 0.3, 0.3}));
  EXPECT_FALSE(GetParam().make()->judge(running({0.3, 0.3}), pointers(peers)).stop);
}

TEST_P(EveryRule, CaseC7_CaseK4_NaNOfPeersStopsNobody) {
  std::vector<Curve> peers;
  for (TrialNumber trial = 1; trial <= 8; ++trial) peers.push_back(curve(trial, {kNan, kNan}));
  EXPECT_FALSE(GetParam().make()->judge(running({1e9, 1e9}), pointers(peers)).stop);
}

TEST_P(EveryRule, IsPureAndAlwaysGivesAReasonWithNumbers) {
  const auto rule = GetParam().make();
  Random random(7, 1);
  int stops = 0;
  for (int round = 0; round < 400; ++round) {
    std::vector<Curve> peers;
    const auto count = static_cast<TrialNumber>(random.below(10));
    const auto draw = [&]() {
      const auto kind = random.below(20);
      return kind == 0 ? kNan : kind == 1 ? kInfinity : kind == 2 ? -kInfinity : random.uniform();
    };
    for (TrialNumber trial = 1; trial <= count; ++trial) {
      peers.push_back(curve(trial, {draw(), draw(), draw()}, random.below(4) != 0));
    }
    Curve trial = running({});
    for (std::uint64_t i = 0; i < random.below(5); ++i) {
      trial.points.push_back({static_cast<double>(i), draw()});
    }
    const Verdict first = rule->judge(trial, pointers(peers));
    const Verdict again = rule->judge(trial, pointers(peers));
    EXPECT_EQ(first.stop, again.stop);
    EXPECT_EQ(first.reason, again.reason);
    EXPECT_EQ(first.stop, !first.reason.empty());
    stops += first.stop ? 1 : 0;
    EXPECT_EQ(first.stop, std::any_of(first.reason.begin(), first.reason.end(), isdigit));
    std::reverse(peers.begin(), peers.end());
    EXPECT_EQ(first.reason, rule->judge(trial, pointers(peers)).reason) << "order of peers decided";
  }
  EXPECT_GT(stops, 10) << "the draws never met the rule: this test would show nothing";
}

TEST_P(EveryRule, UnfinishedCurvesAreNoPeers) {
  std::vector<Curve> peers;
  for (TrialNumber trial = 1; trial <= 8; ++trial) {
    peers.push_back(curve(trial, {0.1, 0.1}, false));
  }
  EXPECT_FALSE(GetParam().make()->judge(running({1, 1}), pointers(peers)).stop);
}

INSTANTIATE_TEST_SUITE_P(
    Pruners, EveryRule,
    testing::Values(Rule{"nan", [] { return pruner("nan"); }},
                    Rule{"median_minimize",
                         [] {
                           return pruner("median", {{"min_trials", 2}});
                         }},
                    Rule{"median_maximize",
                         [] {
                           return pruner("median", {{"min_trials", 2}}, Goal::maximize);
                         }}),
    [](const testing::TestParamInfo<Rule>& rule) { return rule.param.name; });

// ---- nan

TEST(NanPruner, CaseC7_StopsAtTheFirstNaNAndSaysAtWhichStep) {
  const auto rule = pruner("nan");
  EXPECT_FALSE(rule->judge(running({0.5, 0.4}), {}).stop);
  const Verdict verdict = rule->judge(running({0.5, 0.4, kNan, 0.3}), {});
  EXPECT_TRUE(verdict.stop);
  EXPECT_THAT(verdict.reason, HasSubstr("NaN at step 3"));
}

TEST(NanPruner, CaseC7_InfinityIsNotNaN) {
  EXPECT_FALSE(pruner("nan")->judge(running({kInfinity, -kInfinity}), {}).stop);
}

// ---- median

std::vector<Curve> seven_good() {
  std::vector<Curve> peers;
  for (TrialNumber trial = 1; trial <= 7; ++trial) {
    const double base = 0.1 * static_cast<double>(trial);
    peers.push_back(curve(trial, {base + 1, base + 0.5, base}));
  }
  return peers;
}

TEST(MedianPruner, StopsATrialThatIsWorseThanTheMedianAndSaysTheNumbers) {
  const auto peers = seven_good();  // at step 2 from 0.6 to 1.2, median 0.9
  const auto rule = pruner("median");
  const Verdict verdict = rule->judge(running({3, 0.95}), pointers(peers));
  EXPECT_TRUE(verdict.stop);
  EXPECT_THAT(verdict.reason, HasSubstr("0.95"));
  EXPECT_THAT(verdict.reason, HasSubstr("0.9,"));
  EXPECT_THAT(verdict.reason, HasSubstr("7 completed trials at step 2"));
  EXPECT_FALSE(rule->judge(running({3, 0.9}), pointers(peers)).stop) << "equal is not worse";
  EXPECT_FALSE(rule->judge(running({3, 0.85}), pointers(peers)).stop);
}

TEST(MedianPruner, CaseK5_GoalDecidesTheDirection) {
  const auto peers = seven_good();
  const auto rule = pruner("median", {}, Goal::maximize);
  EXPECT_TRUE(rule->judge(running({0.2, 0.85}), pointers(peers)).stop);
  EXPECT_FALSE(rule->judge(running({0.2, 0.95}), pointers(peers)).stop);
}

TEST(MedianPruner, JudgesTheBestSoFarSoThatOneBadReportDoesNotStopATrial) {
  const auto peers = seven_good();
  EXPECT_FALSE(pruner("median")->judge(running({0.2, 5.0}), pointers(peers)).stop);
}

TEST(MedianPruner, CaseC7_OneNaNAmongEightCurvesChangesNothing) {
  auto peers = seven_good();
  const auto rule = pruner("median");
  const Verdict before = rule->judge(running({3, 0.95}), pointers(peers));
  peers.push_back(curve(8, {kNan, kNan, kNan}));
  EXPECT_EQ(rule->judge(running({3, 0.95}), pointers(peers)).reason, before.reason);
}

TEST(MedianPruner, CaseC7_ANaNOfTheTrialItselfIsNotItsBest) {
  const auto peers = seven_good();
  const auto rule = pruner("median");
  EXPECT_TRUE(rule->judge(running({kNan, 0.95}), pointers(peers)).stop);
  EXPECT_FALSE(rule->judge(running({0.5, kNan}), pointers(peers)).stop);
  EXPECT_FALSE(rule->judge(running({kNan, kNan}), pointers(peers)).stop) << "the rule nan's work";
}

TEST(MedianPruner, CaseC7_InfinitiesAreOrdinaryExtremes) {
  std::vector<Curve> peers = {curve(1, {-kInfinity}), curve(2, {0.5}), curve(3, {kInfinity})};
  const auto rule = pruner("median", {{"min_trials", 3}});
  EXPECT_TRUE(rule->judge(running({kInfinity}), pointers(peers)).stop);
  EXPECT_FALSE(rule->judge(running({-kInfinity}), pointers(peers)).stop);
  peers.pop_back();
  peers[1] = curve(2, {kInfinity});  // the middle of -inf and inf is nothing to compare with
  EXPECT_FALSE(pruner("median", {{"min_trials", 2}})->judge(running({1}), pointers(peers)).stop);
}

TEST(MedianPruner, CaseK3_ComparesAtTheLatestValueAtOrBeforeTheStep) {
  // Peers report at 10, 20, 30; the trial at 5, 10, 15.
  std::vector<Curve> peers;
  for (TrialNumber trial = 1; trial <= 5; ++trial) {
    peers.push_back(Curve{trial, true, {{10, 0.9}, {20, 0.1}, {30, 0.05}}});
  }
  const auto rule = pruner("median");
  Curve trial{9, false, {{5, 99}}};
  EXPECT_FALSE(rule->judge(trial, pointers(peers)).stop) << "no peer has a value that early";
  trial.points = {{5, 99}, {10, 0.95}, {15, 0.95}};
  EXPECT_TRUE(rule->judge(trial, pointers(peers)).stop);
  trial.points = {{5, 99}, {10, 0.95}, {15, 0.8}};
  EXPECT_FALSE(rule->judge(trial, pointers(peers)).stop) << "compared with a later value";
}

TEST(MedianPruner, CaseK4_GracePeriodLetsALateStarterLive) {
  const auto peers = seven_good();
  const auto rule = pruner("median", {{"min_iter", 3}});
  EXPECT_FALSE(rule->judge(running({9, 9}), pointers(peers)).stop);
  EXPECT_TRUE(rule->judge(running({9, 9, 9}), pointers(peers)).stop);
  EXPECT_FALSE(rule->judge(running({9, 9, 0.01}), pointers(peers)).stop);
  Curve thinned = running({9, 9});
  thinned.left_out = 1;
  EXPECT_TRUE(rule->judge(thinned, pointers(peers)).stop) << "points that are left out count";
}

TEST(MedianPruner, CaseK4_NeedsEnoughPeersWithAValueAtTheStep) {
  auto peers = seven_good();
  peers.resize(4);
  EXPECT_FALSE(pruner("median")->judge(running({9}), pointers(peers)).stop);
  EXPECT_TRUE(pruner("median", {{"min_trials", 4}})->judge(running({9}), pointers(peers)).stop);
  peers[0].points.erase(peers[0].points.begin(), peers[0].points.begin() + 2);  // starts at 3
  EXPECT_FALSE(pruner("median", {{"min_trials", 4}})->judge(running({9}), pointers(peers)).stop);
}

TEST(MedianPruner, ATrialIsNoPeerOfItself) {
  std::vector<Curve> peers(5, curve(100, {0.1}));
  EXPECT_FALSE(pruner("median")->judge(running({9}), pointers(peers)).stop);
}

// ---- options

std::string error_of(const std::string& type, std::map<std::string, double> options) {
  auto made = make_pruner({type, std::move(options)}, Goal::minimize);
  if (made) return "no error";
  EXPECT_EQ(made.error().code, ErrorCode::usage);
  return made.error().message;
}

TEST(MakePruner, RefusesWhatItDoesNotKnowWithASuggestion) {
  EXPECT_THAT(error_of("medain", {}), HasSubstr("did you mean `median`"));
  EXPECT_THAT(error_of("hyperband", {}), HasSubstr("known: median, nan"));
  EXPECT_THAT(error_of("median", {{"min_itr", 3}}), HasSubstr("did you mean `min_iter`"));
  EXPECT_THAT(error_of("nan", {{"min_iter", 3}}), HasSubstr("it takes none"));
}

TEST(MakePruner, RefusesCountsThatAreNone) {
  for (const double bad : {0.0, -1.0, 1.5, kNan, kInfinity, 1e12}) {
    EXPECT_THAT(error_of("median", {{"min_iter", bad}}), HasSubstr("whole number from 1"));
    EXPECT_THAT(error_of("median", {{"min_trials", bad}}), HasSubstr("whole number from 1"));
  }
}

}  // namespace
}  // namespace seedbed
