#include "study/space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/text.h"

namespace seedbed {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

Dimension list(std::string name, const std::vector<std::string>& plain, std::string when = "") {
  Dimension dimension;
  dimension.name = std::move(name);
  for (const std::string& text : plain) {
    dimension.values.push_back(text == "!absent" ? Value::absent() : Value::from_plain(text));
  }
  if (!when.empty()) dimension.when = *Expression::parse(when);
  return dimension;
}

Dimension range(std::string name, DistributionKind kind, double min, double max, double q = 1) {
  Dimension dimension;
  dimension.name = std::move(name);
  dimension.distribution = Distribution();
  dimension.distribution->kind = kind;
  dimension.distribution->min = min;
  dimension.distribution->max = max;
  dimension.distribution->q = q;
  return dimension;
}

SpaceBranch branch(std::vector<Dimension> dimensions, const std::vector<std::string>& where = {}) {
  SpaceBranch result;
  result.dimensions = std::move(dimensions);
  for (const std::string& text : where) result.where.push_back(*Expression::parse(text));
  return result;
}

Space build(std::vector<SpaceBranch> branches) {
  Result<Space> space = Space::build(std::move(branches));
  EXPECT_TRUE(space) << space.error().message;
  return space ? *space : Space();
}

std::string error_of(std::vector<SpaceBranch> branches) {
  const Result<Space> space = Space::build(std::move(branches));
  EXPECT_FALSE(space);
  if (space) return "";
  EXPECT_EQ(space.error().code, ErrorCode::usage);
  return space.error().message;
}

std::string text_of(const Point& point) {
  std::string text;
  for (const Parameter& parameter : point.parameters) {
    text += (text.empty() ? "" : " ") + parameter.name + "=" +
            (parameter.value.is_absent() ? "!" : parameter.value.spelling());
  }
  return text;
}

std::vector<std::string> all_points(const Space& space) {
  std::vector<std::string> points;
  for (std::uint64_t i = 0; i < space.index_count(); ++i) {
    const Result<std::optional<Point>> point = space.point(i);
    EXPECT_TRUE(point) << point.error().message;
    if (point && *point) points.push_back(text_of(**point));
  }
  return points;
}

TEST(Space, TheLastParameterVariesFastest) {
  const Space space =
      build({branch({list("lr", {"1e-3", "1e-2"}), list("seed", {"0", "1", "2"})})});
  EXPECT_THAT(all_points(space), ElementsAre("lr=1e-3 seed=0", "lr=1e-3 seed=1", "lr=1e-3 seed=2",
                                             "lr=1e-2 seed=0", "lr=1e-2 seed=1", "lr=1e-2 seed=2"));
  EXPECT_EQ(space.count().value, 6U);
  EXPECT_TRUE(space.count().exact);
  EXPECT_THAT(space.names(), ElementsAre("lr", "seed"));
  EXPECT_THAT(space.varying(), ElementsAre("lr", "seed"));
}

TEST(Space, NothingGivenIsOnePoint) {
  for (const Space& space : {Space(), build({}), build({SpaceBranch()})}) {
    EXPECT_EQ(space.count().value, 1U);
    EXPECT_EQ(space.index_count(), 1U);
    EXPECT_TRUE((*space.point(0))->parameters.empty());
    EXPECT_EQ(space.axes(), 0U);
    EXPECT_TRUE(*space.point_at({}));
  }
}

TEST(Space, CaseB1_HugeGridsAreCountedByMultiplicationAndDecodedByArithmetic) {
  std::vector<Dimension> dimensions;
  for (int i = 0; i < 30; ++i) dimensions.push_back(list("p" + std::to_string(i), {"0", "1"}));
  const Space space = build({branch(dimensions)});
  EXPECT_EQ(space.count().value, std::uint64_t{1} << 30);
  EXPECT_EQ(space.index_count(), std::uint64_t{1} << 30);
  const Point last = **space.point((std::uint64_t{1} << 30) - 1);
  for (const Parameter& parameter : last.parameters) EXPECT_EQ(parameter.value.spelling(), "1");
  const Point five = **space.point(5);
  EXPECT_EQ(five.find("p29")->spelling(), "1");
  EXPECT_EQ(five.find("p28")->spelling(), "0");
  EXPECT_EQ(five.find("p27")->spelling(), "1");
}

TEST(Space, CountsSaturateAndStillDecode) {
  std::vector<Dimension> dimensions;
  for (int i = 0; i < 64; ++i) dimensions.push_back(list("p" + std::to_string(i), {"0", "1"}));
  const Space full = build({branch(dimensions)});
  EXPECT_TRUE(full.count().saturated);
  EXPECT_EQ(full.count().value, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(full.index_count(), 0U);
  EXPECT_FALSE(full.count().infinite);
  EXPECT_TRUE(full.finite());
  EXPECT_EQ((*full.point(1))->find("p63")->spelling(), "1");
  EXPECT_EQ((*full.point(std::numeric_limits<std::uint64_t>::max()))->find("p0")->spelling(), "1");
  dimensions.pop_back();
  EXPECT_EQ(build({branch(dimensions)}).index_count(), std::uint64_t{1} << 63);
  const Space two = build({branch(dimensions), branch(dimensions), branch(dimensions)});
  EXPECT_TRUE(two.count().saturated);
  EXPECT_EQ(two.index_count(), 0U);
}

TEST(Space, IntegerRangesNeedNoList) {
  const Space space =
      build({branch({range("a", DistributionKind::int_uniform, -1, 1e9 - 2), list("b", {"x", "y"}),
                     range("c", DistributionKind::q_uniform, 0.1, 0.5, 0.1)})});
  EXPECT_EQ(space.count().value, 10'000'000'000U);
  EXPECT_EQ(text_of(**space.point(0)), "a=-1 b=x c=0.1");
  EXPECT_EQ(text_of(**space.point(9'999'999'999U)), "a=999999998 b=y c=0.5");
}

TEST(Space, ZippedParametersVaryTogetherWhereTheFirstWasWritten) {
  SpaceBranch zipped =
      branch({list("model", {"s", "m"}), list("lr", {"1", "2"}), list("batch", {"64", "32"})});
  zipped.zips = {{"model", "batch"}};
  const Space space = build({zipped});
  EXPECT_THAT(all_points(space), ElementsAre("model=s lr=1 batch=64", "model=s lr=2 batch=64",
                                             "model=m lr=1 batch=32", "model=m lr=2 batch=32"));
  EXPECT_EQ(space.count().value, 4U);
  EXPECT_EQ(space.axes(), 2U);
  EXPECT_EQ(text_of(**space.point_at({0.9, 0.1})), "model=m lr=1 batch=32");
}

TEST(Space, ExplicitRowsAreMultipliedInFirst) {
  SpaceBranch rows = branch({list("seed", {"0", "1"})});
  const auto bind = [](const char* name, Value value) { return Parameter{name, std::move(value)}; };
  rows.explicit_rows =
      ExplicitRows{{{bind("a", Value::integer(1)), bind("b", Value::from_text(""))},
                    {bind("a", Value::integer(2)), bind("b", Value::absent())},
                    {bind("a", Value::integer(2))},  // the same point: absent is not there
                    {bind("c", Value::integer(9))}}};
  const Space space = build({rows});
  EXPECT_THAT(all_points(space), ElementsAre("a=1 b= seed=0", "a=1 b= seed=1", "a=2 b=! seed=0",
                                             "a=2 b=! seed=1", "c=9 seed=0", "c=9 seed=1"));
  EXPECT_THAT(space.names(), ElementsAre("a", "b", "c", "seed"));
  EXPECT_THAT(space.varying(), ElementsAre("a", "b", "c", "seed"));
  EXPECT_EQ(space.count().value, 6U);
  EXPECT_EQ(text_of(**space.point_at({0.99, 0.0})), "c=9 seed=0");
}

TEST(Space, WhenLeavesAParameterOutOnceAndIsCountedExactly) {
  // As in the manual: the parameter asked for may stand later.
  const Space space = build({branch({list("batch", {"32", "64"}, "opt == 'sgd'"),
                                     list("opt", {"adam", "sgd"}), list("seed", {"0", "1"})})});
  EXPECT_THAT(all_points(space), ElementsAre("opt=adam seed=0", "opt=adam seed=1",
                                             "batch=32 opt=sgd seed=0", "batch=32 opt=sgd seed=1",
                                             "batch=64 opt=sgd seed=0", "batch=64 opt=sgd seed=1"));
  EXPECT_EQ(space.count().value, 6U);
  EXPECT_TRUE(space.count().exact);
  EXPECT_EQ(space.index_count(), 8U);
  EXPECT_THAT(space.varying(), ElementsAre("batch", "opt", "seed"));
  // Drawn points are never dropped for it: the coordinate is merely unused.
  EXPECT_EQ(text_of(**space.point_at({0.9, 0.1, 0.9})), "opt=adam seed=1");
}

TEST(Space, WhenMayDependOnWhatIsItselfConditional) {
  const Space space = build({branch(
      {list("c", {"1", "2"}, "b == 1"), list("b", {"1", "2"}, "a == 1"), list("a", {"0", "1"})})});
  EXPECT_THAT(all_points(space),
              UnorderedElementsAre("a=0", "c=1 b=1 a=1", "c=2 b=1 a=1", "b=2 a=1"));
  EXPECT_EQ(space.count().value, 4U);
}

TEST(Space, WhenInsideAZip) {
  SpaceBranch zipped = branch({list("a", {"1", "2"}), list("b", {"x", "y"}, "a == 2")});
  zipped.zips = {{"a", "b"}};
  EXPECT_THAT(all_points(build({zipped})), ElementsAre("a=1", "a=2 b=y"));
}

TEST(Space, WhereKeepsOnlyWhatHolds) {
  const Space space = build({branch({list("batch", {"32", "64", "128"}), list("accum", {"1", "4"})},
                                    {"batch * accum <= 256", "batch != 32"})});
  EXPECT_THAT(all_points(space),
              ElementsAre("batch=64 accum=1", "batch=64 accum=4", "batch=128 accum=1"));
  EXPECT_EQ(space.count().value, 3U);
  EXPECT_TRUE(space.count().exact);
  EXPECT_EQ(space.index_count(), 6U);
  EXPECT_FALSE(*space.point_at({0.0, 0.0}));
  EXPECT_TRUE(*space.point_at({0.5, 0.0}));
}

TEST(Space, WhereOverTooMuchToTryIsCountedFromAbove) {
  const Space large = build({branch({range("a", DistributionKind::int_uniform, 1, 1e6),
                                     list("b", {"1", "2"}), list("c", {"1", "2"})},
                                    {"a * b < 5"})});
  EXPECT_EQ(large.count().value, 4'000'000U);
  EXPECT_FALSE(large.count().exact);
  // What the filter does not look at only multiplies.
  const Space small = build({branch({range("a", DistributionKind::int_uniform, 1, 1e6),
                                     list("b", {"1", "2"}), list("c", {"1", "2"})},
                                    {"b < 2"})});
  EXPECT_EQ(small.count().value, 2'000'000U);
  EXPECT_TRUE(small.count().exact);
}

TEST(Space, UnionsHoldEachPointOnce) {
  const Space space = build({branch({list("a", {"1", "2"}), list("b", {"x"})}),
                             branch({list("a", {"2", "3"}), list("b", {"x", "y"})}),
                             branch({list("a", {"3", "1"})})});
  EXPECT_THAT(all_points(space),
              ElementsAre("a=1 b=x", "a=2 b=x", "a=2 b=y", "a=3 b=x", "a=3 b=y", "a=3", "a=1"));
  EXPECT_EQ(space.count().value, 7U);
  EXPECT_TRUE(space.count().exact);
  EXPECT_EQ(space.index_count(), 8U);
  EXPECT_EQ(space.axes(), 3U);
  EXPECT_THAT(space.varying(), ElementsAre("a", "b"));
  EXPECT_EQ(text_of(**space.point_at({0.0, 0.9, 0.0})), "a=2 b=x");
  EXPECT_EQ(text_of(**space.point_at({0.999, 0.9, 0.0})), "a=1");
}

TEST(Space, UnionsWithFiltersRangesAndRowsHoldEachPointOnce) {
  SpaceBranch rows;
  rows.explicit_rows = ExplicitRows{{{Parameter{"n", Value::integer(2)}},
                                     {Parameter{"n", Value::integer(12)}},
                                     {Parameter{"n", Value::from_plain("2.0")}}}};
  SpaceBranch zipped = branch({list("n", {"4", "13"}), list("m", {"1", "2"}, "n == 13")});
  zipped.zips = {{"n", "m"}};
  const Space space =
      build({branch({range("n", DistributionKind::int_uniform, 1, 10)}, {"n % 2 == 0"}), rows,
             zipped, branch({list("n", {"3", "4", "12", "2.0", "13"})}),
             branch({list("n", {"13"}), list("m", {"2", "!absent"})})});
  EXPECT_THAT(all_points(space), ElementsAre("n=2", "n=4", "n=6", "n=8", "n=10", "n=12", "n=2.0",
                                             "n=13 m=2", "n=3", "n=13"));
  EXPECT_EQ(space.count().value, 10U);
}

TEST(Space, BranchesToldApartAreCountedExactlyHoweverLarge) {
  const Space space =
      build({branch({list("opt", {"adam"}), range("a", DistributionKind::int_uniform, 1, 1e9)}),
             branch({list("opt", {"sgd"}), range("a", DistributionKind::int_uniform, 1, 1e9)})});
  EXPECT_EQ(space.count().value, 2'000'000'000U);
  EXPECT_TRUE(space.count().exact);
  const Space overlap = build({branch({range("a", DistributionKind::int_uniform, 1, 1e9)}),
                               branch({range("a", DistributionKind::int_uniform, 5, 1e9)})});
  EXPECT_FALSE(overlap.count().exact);
  EXPECT_FALSE(*overlap.point(1'000'000'000U));
}

TEST(Space, ContinuousSpacesAreDrawnNotCounted) {
  const Space space = build({branch({range("lr", DistributionKind::log_uniform_values, 1e-5, 1e-1),
                                     list("opt", {"adam", "sgd"}), list("fixed", {"1"})})});
  EXPECT_TRUE(space.count().infinite);
  EXPECT_FALSE(space.finite());
  EXPECT_EQ(space.index_count(), 0U);
  EXPECT_EQ(space.axes(), 2U);
  EXPECT_EQ(text_of(**space.point_at({0.0, 0.9})), "lr=1e-05 opt=sgd fixed=1");
  EXPECT_THAT(space.varying(), ElementsAre("lr", "opt"));
}

TEST(Space, ProbabilitiesWeighDraws) {
  Dimension dimension = list("a", {"x", "y", "z"});
  dimension.probabilities = {0.2, 0, 0.8};
  const Space space = build({branch({dimension})});
  std::map<std::string, int> counts;
  for (int i = 0; i < 1000; ++i) ++counts[text_of(**space.point_at({(i + 0.5) / 1000}))];
  EXPECT_EQ(counts["a=x"], 200);
  EXPECT_EQ(counts.count("a=y"), 0U);
  EXPECT_EQ(counts["a=z"], 800);
  EXPECT_THAT(all_points(space), ElementsAre("a=x", "a=y", "a=z"));
}

TEST(Space, CaseB6_MistakesAreRefusedByName) {
  EXPECT_THAT(error_of({branch({list("lr", {})})}), HasSubstr("`lr`: its list of values is empty"));
  EXPECT_THAT(error_of({branch({range("lr", DistributionKind::log_uniform_values, 0, 1)})}),
              HasSubstr("`lr`: a logarithmic range needs min > 0"));
  EXPECT_THAT(error_of({branch({list("a", {"1"}), list("a", {"2"})})}),
              HasSubstr("`a` is given twice"));
  EXPECT_THAT(error_of({branch({list("", {"1"})})}), HasSubstr("empty name"));
  EXPECT_THAT(error_of({branch({list("-a", {"1"})})}), HasSubstr("begins with `-`"));
  EXPECT_THAT(error_of({branch({list("a=b", {"1"})})}), HasSubstr("rename"));
  EXPECT_THAT(error_of({branch({list("a\nb", {"1"})})}), HasSubstr("rename"));
  Dimension weighted = list("a", {"1", "2"});
  weighted.probabilities = {1};
  EXPECT_THAT(error_of({branch({weighted})}), HasSubstr("2 values but 1 probabilities"));
  weighted.probabilities = {0.5, 0.4};
  EXPECT_THAT(error_of({branch({weighted})}), HasSubstr("sum to 0.9"));
  weighted.probabilities = {1.5, -0.5};
  EXPECT_THAT(error_of({branch({weighted})}), HasSubstr("-0.5"));
  SpaceBranch rows = branch({list("a", {"1"})});
  rows.explicit_rows = ExplicitRows{};
  EXPECT_THAT(error_of({rows}), HasSubstr("no rows"));
  rows.explicit_rows->rows = {{Parameter{"a", Value::integer(1)}}};
  EXPECT_THAT(error_of({rows}), HasSubstr("also a column of `trials`"));
  rows.explicit_rows->rows = {
      {Parameter{"b", Value::integer(1)}, Parameter{"b", Value::integer(2)}}};
  EXPECT_THAT(error_of({rows}), HasSubstr("binds `b` twice"));
}

TEST(Space, ZipMistakesAreRefusedWithTheNumbers) {
  SpaceBranch zipped = branch({list("model", {"a", "b", "c"}), list("batch", {"1", "2"}),
                               range("lr", DistributionKind::uniform, 0, 1)});
  zipped.zips = {{"model", "batch"}};
  EXPECT_THAT(error_of({zipped}),
              HasSubstr("zip [model, batch]: `model` has 3 values, `batch` has 2"));
  zipped.zips = {{"model", "bacth"}};
  EXPECT_THAT(error_of({zipped}), HasSubstr("did you mean `batch`?"));
  zipped.zips = {{"model"}};
  EXPECT_THAT(error_of({zipped}), HasSubstr("at least two names"));
  zipped.zips = {{"model", "model"}};
  EXPECT_THAT(error_of({zipped}), HasSubstr("twice"));
  zipped.zips = {{"batch", "lr"}};
  EXPECT_THAT(error_of({zipped}), HasSubstr("`lr` is a continuous range"));
}

TEST(Space, UnknownNamesAndCirclesOfConditionsAreRefused) {
  EXPECT_THAT(error_of({branch({list("batch", {"1"})}, {"bacth > 1"})}),
              HasSubstr("there is no parameter `bacth`; did you mean `batch`?"));
  EXPECT_THAT(error_of({branch({list("opt", {"a"})}, {"opt == sgd"})}),
              HasSubstr("a word is quoted: 'sgd'"));
  EXPECT_THAT(error_of({branch({list("a", {"1"}, "x == 1")})}),
              HasSubstr("`when` of parameter `a`"));
  EXPECT_THAT(error_of({branch({list("a", {"1"}, "a == 1")})}), HasSubstr("circle"));
  EXPECT_THAT(error_of({branch({list("a", {"1"}, "b == 1"), list("b", {"1"}, "c == 1"),
                                list("c", {"1"}, "a == 1")})}),
              HasSubstr("circle"));
  // Known in another branch only: absent here, so nothing holds.
  const Space space =
      build({branch({list("a", {"1"})}), branch({list("b", {"1", "2"})}, {"a == 1"})});
  EXPECT_THAT(all_points(space), ElementsAre("a=1"));
}

TEST(Space, FiltersThatFailSayWhere) {
  EXPECT_THAT(error_of({branch({list("opt", {"adam"}), list("n", {"1"})}, {"opt * 2 > n"})}),
              HasSubstr("`where` (at opt=adam n=1): column 1: `opt` is the text 'adam'"));
  EXPECT_THAT(error_of({branch({list("opt", {"adam"}), list("n", {"1"}, "opt > 2")})}),
              HasSubstr("`when` of parameter `n`"));
}

TEST(Space, VaryingNamesAreThoseWithMoreThanOneValue) {
  const Space space = build({branch({list("a", {"1"}), list("b", {"1", "2"}), list("c", {"1"}),
                                     list("e", {"1"}, "b == 1")}),
                             branch({list("a", {"1"}), list("c", {"2"}), list("d", {"1"})})});
  EXPECT_THAT(space.varying(), ElementsAre("b", "c", "e", "d"));
  EXPECT_EQ(space.dimension("d")->values.size(), 1U);
  EXPECT_EQ(space.dimension("zz"), nullptr);
}

// Every index of a random space gives a point at most once, and the count says how many.
TEST(Space, RandomSpacesHoldEachPointOnceAndAreCountedRight) {
  Random random(11, 12);
  for (int round = 0; round < 150; ++round) {
    std::vector<SpaceBranch> branches;
    const std::size_t number = 1 + random.below(3);
    for (std::size_t b = 0; b < number; ++b) {
      std::vector<Dimension> dimensions;
      for (const char* name : {"a", "b", "c", "d"}) {
        if (random.below(4) == 0) continue;
        std::vector<std::string> values;
        for (std::uint64_t v = 0, n = 1 + random.below(3); v < n; ++v) {
          values.push_back(std::to_string(v + random.below(2) * 10));
        }
        if (random.below(5) == 0) values.push_back("!absent");
        dimensions.push_back(
            list(name, values, random.below(4) == 0 && *name != 'a' ? "a < 2" : ""));
      }
      SpaceBranch made = branch(dimensions);
      if (random.below(3) == 0)
        made.where.push_back(*Expression::parse("a + b + c < 15 or d == 1"));
      branches.push_back(made);
    }
    Result<Space> space = Space::build(branches);
    if (!space) continue;  // a name that no branch has
    std::set<std::string> identities;
    std::uint64_t points = 0;
    for (std::uint64_t i = 0; i < space->index_count(); ++i) {
      const Result<std::optional<Point>> point = space->point(i);
      ASSERT_TRUE(point);
      if (!*point) continue;
      ++points;
      identities.insert((*point)->identity());
    }
    ASSERT_TRUE(space->count().exact);
    ASSERT_EQ(space->count().value, points);
    ASSERT_EQ(identities.size(), points);
  }
}

}  // namespace
}  // namespace seedbed
