#include "samplers/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "samplers/sobol.h"

namespace seedbed {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Dimension list(std::string name, const std::vector<std::string>& plain) {
  Dimension dimension;
  dimension.name = std::move(name);
  for (const std::string& text : plain) dimension.values.push_back(Value::from_plain(text));
  return dimension;
}

Dimension range(std::string name, DistributionKind kind, double min, double max) {
  Dimension dimension;
  dimension.name = std::move(name);
  dimension.distribution = Distribution();
  dimension.distribution->kind = kind;
  dimension.distribution->min = min;
  dimension.distribution->max = max;
  return dimension;
}

Dimension integers(std::string name, double min, double max) {
  return range(std::move(name), DistributionKind::int_uniform, min, max);
}

StudySpec study(std::vector<Dimension> dimensions, Method method,
                const std::vector<std::string>& where = {}) {
  SpaceBranch branch;
  branch.dimensions = std::move(dimensions);
  for (const std::string& text : where) branch.where.push_back(*Expression::parse(text));
  StudySpec spec;
  Result<Space> space = Space::build({branch});
  EXPECT_TRUE(space) << space.error().message;
  spec.space = *space;
  spec.method = method;
  return spec;
}

std::string text_of(const Point& point) {
  std::string text;
  for (const Parameter& parameter : point.parameters) {
    text += (text.empty() ? "" : " ") + parameter.name + "=" + parameter.value.spelling();
  }
  return text;
}

// The first `limit` points (or all) as the engine asks for them.
std::vector<std::string> points(const Sampler& sampler, std::uint64_t seed,
                                std::size_t limit = 1000000) {
  SamplerContext context;
  context.study_seed = seed;
  std::vector<std::string> all;
  for (std::uint64_t number = 0; all.size() < limit; ++number) {
    const Result<Proposal> proposal = sampler.propose(number, context);
    EXPECT_TRUE(proposal) << proposal.error().message;
    if (!proposal || proposal->kind == Proposal::Kind::exhausted) break;
    if (proposal->kind == Proposal::Kind::point) all.push_back(text_of(proposal->point));
  }
  return all;
}

std::vector<std::string> points(const StudySpec& spec, std::uint64_t seed,
                                std::size_t limit = 1000000) {
  const auto sampler = make_sampler(spec);
  EXPECT_TRUE(sampler) << sampler.error().message;
  return sampler ? points(**sampler, seed, limit) : std::vector<std::string>();
}

std::set<std::string> distinct(const std::vector<std::string>& all) {
  return std::set<std::string>(all.begin(), all.end());
}

std::string refusal(const StudySpec& spec) {
  const auto sampler = make_sampler(spec);
  EXPECT_FALSE(sampler);
  return sampler ? "" : sampler.error().message;
}

TEST(Grid, ProposesTheGridInOrderAndEnds) {
  EXPECT_THAT(points(study({list("a", {"1", "2"}), list("b", {"x", "y"})}, Method::grid), 0),
              ElementsAre("a=1 b=x", "a=1 b=y", "a=2 b=x", "a=2 b=y"));
  EXPECT_THAT(points(study({}, Method::grid), 0), ElementsAre(""));
}

TEST(Grid, FiltersGiveNothingForTheirNumber) {
  const StudySpec spec = study({integers("a", 1, 4)}, Method::grid, {"a % 2 == 0"});
  const auto sampler = make_sampler(spec);
  EXPECT_EQ((*sampler)->propose(0, {})->kind, Proposal::Kind::nothing);
  EXPECT_EQ((*sampler)->propose(1, {})->kind, Proposal::Kind::point);
  EXPECT_EQ((*sampler)->propose(4, {})->kind, Proposal::Kind::exhausted);
  EXPECT_THAT(points(**sampler, 0), ElementsAre("a=2", "a=4"));
}

TEST(Grid, ShuffledIsTheSameSetInAnotherOrderChosenByTheSeed) {
  StudySpec spec = study({integers("a", 0, 99), list("b", {"x", "y"})}, Method::grid);
  const auto given = points(spec, 1);
  spec.order = Order::shuffled;
  const auto first = points(spec, 1);
  EXPECT_EQ(distinct(first), distinct(given));
  EXPECT_EQ(first.size(), 200U);
  EXPECT_NE(first, given);
  EXPECT_EQ(first, points(spec, 1));
  EXPECT_NE(first, points(spec, 2));
  Dimension weighted = list("a", {"1", "2", "3"});
  weighted.probabilities = {1, 0, 0};
  StudySpec all = study({weighted}, Method::grid);
  all.order = Order::shuffled;
  EXPECT_EQ(points(all, 3).size(), 3U);
}

TEST(Grid, CaseB1_HugeGridsAnswerAtOnce) {
  std::vector<Dimension> dimensions;
  for (int i = 0; i < 30; ++i) dimensions.push_back(list("p" + std::to_string(i), {"0", "1"}));
  for (Method method : {Method::grid, Method::random, Method::sobol}) {
    EXPECT_EQ(distinct(points(study(dimensions, method), 1, 100)).size(), 100U);
  }
  for (int i = 30; i < 90; ++i) dimensions.push_back(list("p" + std::to_string(i), {"0", "1"}));
  for (Order order : {Order::given, Order::shuffled}) {
    StudySpec spec = study(dimensions, Method::grid);
    spec.order = order;
    EXPECT_EQ(distinct(points(spec, 1, 100)).size(), 100U);
  }
  EXPECT_EQ(distinct(points(study(dimensions, Method::random), 1, 100)).size(), 100U);
}

TEST(Samplers, WhatCannotWorkIsRefusedWithARemedy) {
  const std::vector<Dimension> continuous = {list("a", {"1"}),
                                             range("lr", DistributionKind::uniform, 0, 1)};
  EXPECT_THAT(refusal(study(continuous, Method::grid)),
              HasSubstr("parameter `lr` is a continuous range, which a grid cannot list"));
  EXPECT_THAT(refusal(study(continuous, Method::random)), HasSubstr("--limit 50"));
  EXPECT_THAT(refusal(study(continuous, Method::sobol)), HasSubstr("--limit 50"));
  std::vector<Dimension> many;
  for (int i = 0; i < 65; ++i) many.push_back(list("p" + std::to_string(i), {"0", "1"}));
  EXPECT_THAT(refusal(study(many, Method::sobol)), HasSubstr("64 dimensions"));
  many.pop_back();
  many.push_back(list("constant", {"0"}));  // a constant needs no dimension
  EXPECT_TRUE(make_sampler(study(many, Method::sobol)));
}

TEST(RandomSearch, CaseB3_FortyDistinctPointsTheSameForAnyOrderOfAsking) {
  StudySpec spec = study(
      {range("lr", DistributionKind::log_uniform_values, 1e-5, 1e-1), list("opt", {"adam", "sgd"})},
      Method::random);
  spec.run_cap = 40;
  const auto once = points(spec, 1, 40);
  EXPECT_EQ(distinct(once).size(), 40U);
  EXPECT_EQ(once, points(spec, 1, 40));
  EXPECT_NE(once, points(spec, 2, 40));
  // A restart asks from 0, another may ask for a later number at once.
  const auto sampler = make_sampler(spec);
  SamplerContext context;
  context.study_seed = 1;
  EXPECT_EQ(text_of((*sampler)->propose(39, context)->point), once[39]);
  EXPECT_EQ(text_of((*sampler)->propose(7, context)->point), once[7]);
  EXPECT_EQ(text_of((*sampler)->propose(7, context)->point), once[7]);
  EXPECT_FALSE((*sampler)->uses_history());
}

TEST(RandomSearch, ASmallDiscreteSpaceIsVisitedOnceEach) {
  StudySpec spec = study({integers("a", 1, 10), list("b", {"x", "y", "z"})}, Method::random);
  const auto all = points(spec, 5);
  EXPECT_EQ(all.size(), 30U);
  EXPECT_EQ(distinct(all).size(), 30U);
  EXPECT_NE(all, points(spec, 6));
}

TEST(RandomSearch, WeightedChoicesAreDrawnByWeightOnceEachAndEnd) {
  Dimension opt = list("opt", {"adam", "sgd", "never"});
  opt.probabilities = {0.9, 0.1, 0};
  const StudySpec spec = study({opt, integers("n", 0, 999)}, Method::random);
  int adam = 0;
  const auto first = points(spec, 1, 200);
  for (const std::string& text : first) adam += text.starts_with("opt=adam") ? 1 : 0;
  EXPECT_EQ(distinct(first).size(), 200U);
  EXPECT_GT(adam, 160);
  EXPECT_LT(adam, 198);
  const auto all = points(study({opt, integers("n", 0, 4)}, Method::random), 1);
  EXPECT_EQ(all.size(), 10U);
  EXPECT_EQ(distinct(all).size(), 10U);
}

TEST(RandomSearch, LogIntegersFavourSmallOnesAndEnd) {
  Dimension n = integers("n", 1, 1024);
  n.distribution->log_integer = true;
  int small = 0;
  const auto first = points(study({n, integers("x", 1, 100)}, Method::random), 1, 200);
  for (const std::string& text : first) small += std::stoi(text.substr(2)) <= 32 ? 1 : 0;
  EXPECT_GT(small, 70);
  n.distribution->max = 4;
  EXPECT_EQ(distinct(points(study({n}, Method::random), 1)).size(), 4U);
}

TEST(RandomSearch, ContinuousDrawsFillTheRangeEvenly) {
  StudySpec spec = study({range("x", DistributionKind::uniform, 0, 1)}, Method::random);
  spec.run_cap = 2000;
  std::vector<int> cells(10);
  for (const std::string& text : points(spec, 3, 2000)) {
    ++cells[static_cast<std::size_t>(std::stod(text.substr(2)) * 10)];
  }
  for (int count : cells) EXPECT_NEAR(count, 200, 60);
}

TEST(RandomSearch, AnImpossibleFilterIsAnErrorAndNotAnEndlessSearch) {
  StudySpec spec = study({range("x", DistributionKind::uniform, 0, 1)}, Method::random, {"x > 2"});
  spec.run_cap = 3;
  const Result<Proposal> proposal = (*make_sampler(spec))->propose(0, {});
  ASSERT_FALSE(proposal);
  EXPECT_THAT(proposal.error().message, HasSubstr("`where` dropped"));
  spec = study({range("x", DistributionKind::uniform, 0, 1)}, Method::random, {"x > 0.99"});
  spec.run_cap = 30;
  EXPECT_EQ(distinct(points(spec, 1, 30)).size(), 30U);
}

TEST(RandomSearch, ARangeWithFewValuesEnds) {
  StudySpec spec =
      study({range("x", DistributionKind::q_log_uniform_values, 1, 4)}, Method::random);
  spec.run_cap = 100;
  EXPECT_EQ(points(spec, 1, 100).size(), 4U);
}

TEST(RandomSearch, FailingFiltersAreTheUsersError) {
  StudySpec spec = study({range("x", DistributionKind::uniform, 0, 1), list("o", {"a", "b"})},
                         Method::random, {"x < 0.5 or o * 2 < 1"});
  spec.run_cap = 100;
  const auto sampler = make_sampler(spec);
  Result<Proposal> proposal = Proposal();
  for (std::uint64_t n = 0; n < 100 && proposal; ++n) proposal = (*sampler)->propose(n, {});
  ASSERT_FALSE(proposal);
  EXPECT_THAT(proposal.error().message, HasSubstr("`o` is the text"));
}

TEST(Replicates, CaseK1_EveryDrawnConfigurationGetsTheSameSeeds) {
  for (Method method : {Method::random, Method::sobol}) {
    StudySpec spec = study({list("seed", {"0", "1", "2"}),
                            range("lr", DistributionKind::log_uniform_values, 1e-5, 1e-1),
                            list("opt", {"adam", "sgd"})},
                           method);
    spec.run_cap = 12;
    std::map<std::string, std::vector<std::string>> seeds;
    std::size_t position = 0;
    for (const std::string& text : points(spec, 1, 12)) {
      ASSERT_TRUE(text.starts_with("seed=" + std::to_string(position++ % 3) + " lr="));
      seeds[text.substr(text.find("lr="))].push_back(text.substr(5, 1));
    }
    ASSERT_EQ(seeds.size(), 4U);
    for (const auto& [configuration, drawn] : seeds) EXPECT_THAT(drawn, ElementsAre("0", "1", "2"));
  }
}

TEST(Replicates, FiniteSpacesAreStillVisitedWhole) {
  const StudySpec spec =
      study({list("a", {"1", "2", "3"}), list("seed", {"0", "1"}), list("z", {"8", "9"})},
            Method::random);
  const auto all = points(spec, 1);
  EXPECT_EQ(all.size(), 12U);
  EXPECT_EQ(distinct(all).size(), 12U);
  EXPECT_THAT(all[0], ::testing::MatchesRegex("a=. seed=0 z=."));
}

TEST(Replicates, ALongRangeOfSeedsIsAParameterLikeAnyOther) {
  StudySpec spec = study({range("lr", DistributionKind::uniform, 0, 1), integers("seed", 0, 1e6)},
                         Method::random);
  spec.run_cap = 20;
  std::set<std::string> rates;
  for (const std::string& text : points(spec, 1, 20)) rates.insert(text.substr(0, text.find(' ')));
  EXPECT_EQ(rates.size(), 20U);
  spec = study({range("lr", DistributionKind::uniform, 0, 1), list("seed", {"0", "1"})},
               Method::random, {"seed == 0 or lr > 0.5"});
  spec.run_cap = 20;
  EXPECT_EQ(distinct(points(spec, 1, 20)).size(), 20U);
}

TEST(Sobol, PlainPointsAgreeWithThePublishedSequence) {
  const double expected[8][5] = {{0, 0, 0, 0, 0},
                                 {0.5, 0.5, 0.5, 0.5, 0.5},
                                 {0.75, 0.25, 0.25, 0.25, 0.75},
                                 {0.25, 0.75, 0.75, 0.75, 0.25},
                                 {0.375, 0.375, 0.625, 0.875, 0.375},
                                 {0.875, 0.875, 0.125, 0.375, 0.875},
                                 {0.625, 0.125, 0.875, 0.625, 0.625},
                                 {0.125, 0.625, 0.375, 0.125, 0.125}};
  // Published in Gray code order: point n of theirs is ours for n ^ (n >> 1).
  for (std::uint32_t n = 0; n < 8; ++n) {
    for (std::size_t d = 0; d < 5; ++d) {
      EXPECT_EQ(sobol_bits(d, n ^ (n >> 1)) * 0x1.0p-32, expected[n][d]) << n << " " << d;
    }
  }
}

TEST(Sobol, EveryDimensionIsStratifiedAtEveryPowerOfTwo) {
  for (std::size_t d = 0; d < kSobolDimensions; ++d) {
    for (std::uint32_t m = 1; m <= 10; ++m) {
      const std::uint32_t count = 1U << m;
      std::set<std::uint32_t> plain;
      std::set<std::uint32_t> scrambled;
      for (std::uint32_t n = 0; n < count; ++n) {
        plain.insert(sobol_bits(d, n) >> (32 - m));
        scrambled.insert(static_cast<std::uint32_t>(scrambled_sobol(d, n, 9) * count));
      }
      ASSERT_EQ(plain.size(), count) << d;
      ASSERT_EQ(scrambled.size(), count) << d;
    }
  }
}

// The first two dimensions are a (0, m, 2)-net: every dyadic box of volume 2^-m holds one point.
TEST(Sobol, TheFirstTwoDimensionsAreANetAlsoWhenScrambled) {
  constexpr int kM = 8;
  for (std::uint64_t seed : {0U, 1U, 2U}) {
    for (int a = 0; a <= kM; ++a) {
      std::set<std::pair<int, int>> boxes;
      for (std::uint32_t n = 0; n < 1U << kM; ++n) {
        boxes.emplace(static_cast<int>(scrambled_sobol(0, n, seed) * (1 << a)),
                      static_cast<int>(scrambled_sobol(1, n, seed) * (1 << (kM - a))));
      }
      ASSERT_EQ(boxes.size(), 1U << kM) << a;
    }
  }
}

// A wrong direction number shows as two dimensions that move alike: no pair may fill fewer than
// the boxes that a net of quality t <= 8 must fill.
TEST(Sobol, NoTwoDimensionsMoveTogether) {
  constexpr std::uint32_t kPoints = 1U << 12;
  std::vector<std::vector<unsigned char>> quarters(kSobolDimensions);
  for (std::size_t d = 0; d < kSobolDimensions; ++d) {
    for (std::uint32_t n = 0; n < kPoints; ++n) {
      quarters[d].push_back(static_cast<unsigned char>(sobol_bits(d, n) >> 30));
    }
  }
  for (std::size_t a = 0; a < kSobolDimensions; ++a) {
    for (std::size_t b = a + 1; b < kSobolDimensions; ++b) {
      unsigned boxes = 0;
      for (std::uint32_t n = 0; n < kPoints; ++n) {
        boxes |= 1U << (quarters[a][n] * 4 + quarters[b][n]);
      }
      ASSERT_EQ(boxes, 0xffffU) << a << " " << b;
    }
  }
}

TEST(Sobol, ScramblingIsChosenByTheSeedAndUniform) {
  EXPECT_NE(scrambled_sobol(0, 5, 1), scrambled_sobol(0, 5, 2));
  EXPECT_EQ(scrambled_sobol(3, 5, 1), scrambled_sobol(3, 5, 1));
  double sum = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const double u = scrambled_sobol(1, 0, seed);
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    sum += u;
  }
  EXPECT_NEAR(sum / 2000, 0.5, 0.03);
}

TEST(Sobol, DrawsAreEvenDistinctAndTheSameEveryTime) {
  StudySpec spec = study(
      {range("x", DistributionKind::uniform, 0, 1), range("y", DistributionKind::uniform, 0, 1)},
      Method::sobol);
  spec.run_cap = 64;
  const auto all = points(spec, 4, 64);
  EXPECT_EQ(distinct(all).size(), 64U);
  EXPECT_EQ(all, points(spec, 4, 64));
  EXPECT_NE(all, points(spec, 5, 64));
  std::set<int> cells;
  for (const std::string& text : all)
    cells.insert(static_cast<int>(std::stod(text.substr(2)) * 64));
  EXPECT_EQ(cells.size(), 64U);
}

TEST(Sobol, AFiniteSpaceIsVisitedWholeAndEnds) {
  const auto all =
      points(study({integers("a", 1, 7), list("b", {"x", "y", "z"})}, Method::sobol), 1);
  EXPECT_EQ(all.size(), 21U);
  EXPECT_EQ(distinct(all).size(), 21U);
  EXPECT_THAT(points(study({integers("a", 1, 3)}, Method::sobol, {"a > 5"}), 1), IsEmpty());
}

// Contract of every sampler: the same question has the same answer, in any order of asking, and
// after `exhausted` nothing comes.
TEST(Samplers, AnswersDependOnSeedAndNumberAlone) {
  std::vector<StudySpec> specs;
  Dimension weighted = list("w", {"1", "2", "3"});
  weighted.probabilities = {0.5, 0.25, 0.25};
  for (Method method : {Method::grid, Method::random, Method::sobol}) {
    specs.push_back(study({integers("a", 1, 5), list("seed", {"0", "1"})}, method, {"a != 3"}));
    specs.push_back(study({weighted, integers("a", 1, 3)}, method));
    specs.back().order = Order::shuffled;
    if (method == Method::grid) continue;
    specs.push_back(study({range("x", DistributionKind::normal, 0, 1), weighted}, method));
    specs.back().run_cap = 10;
  }
  for (const StudySpec& spec : specs) {
    const auto forward = make_sampler(spec);
    const auto backward = make_sampler(spec);
    ASSERT_TRUE(forward);
    SamplerContext context;
    context.study_seed = 77;
    std::vector<Proposal> answers;
    for (std::uint64_t n = 0; n < 25; ++n) answers.push_back(*(*forward)->propose(n, context));
    bool over = false;
    for (std::size_t n = 25; n-- > 0;) {
      const Proposal again = *(*backward)->propose(n, context);
      EXPECT_EQ(again.kind, answers[n].kind);
      EXPECT_EQ(again.point, answers[n].point);
    }
    for (const Proposal& answer : answers) {
      if (over) {
        EXPECT_EQ(answer.kind, Proposal::Kind::exhausted);
      }
      over = over || answer.kind == Proposal::Kind::exhausted;
    }
  }
}

}  // namespace
}  // namespace seedbed
