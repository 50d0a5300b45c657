#include "study/distribution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/text.h"
#include "study/special_functions.h"

namespace seedbed {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kAlmostOne = 1 - 0x1.0p-53;

Distribution range(DistributionKind kind, double min, double max, double q = 1) {
  Distribution d;
  d.kind = kind;
  d.min = min;
  d.max = max;
  d.q = q;
  return d;
}

std::vector<std::string> spellings(const Distribution& d) {
  std::vector<std::string> all;
  for (std::uint64_t i = 0; i < d.size(); ++i) all.push_back(d.at(i).spelling());
  return all;
}

std::string error_of(const Distribution& d) {
  const Status status = d.validate();
  EXPECT_FALSE(status);
  return status ? "" : status.error().message;
}

TEST(SpecialFunctions, NormalQuantileAgreesWithReferenceValues) {
  const double reference[][2] = {{1e-300, -37.0470962993612},   {1e-16, -8.222082216130435},
                                 {1e-10, -6.361340902404056},   {0.001, -3.090232306167813},
                                 {0.02425, -1.972961051311885}, {0.1, -1.2815515655446004},
                                 {0.25, -0.6744897501960817},   {0.75, 0.6744897501960817},
                                 {0.975, 1.959963984540054},    {0.999999, 4.753424308817087}};
  for (const auto& [p, x] : reference) {
    EXPECT_NEAR(normal_quantile(p), x, 1e-13 * std::max(1.0, std::fabs(x))) << p;
  }
  EXPECT_EQ(normal_quantile(0.25), -normal_quantile(0.75));
}

TEST(SpecialFunctions, BetaQuantileAgreesWithReferenceValues) {
  const double reference[][4] = {
      {0.5, 2, 3, 0.3857275681323895},        {0.1, 0.5, 0.5, 0.024471741852423214},
      {0.9, 0.5, 0.5, 0.9755282581475768},    {0.3, 1, 1, 0.3},
      {0.01, 0.1, 2, 3.8554328942953165e-21}, {0.25, 0.01, 0.5, 2.4491748515352307e-60},
      {0.25, 30, 5, 0.8216268151063669},      {0.999, 2, 50, 0.16712892112554797},
      {0.5, 1000, 2000, 0.3332962917247511},  {0.2, 100000.0, 100000.0, 0.4990590385121411}};
  for (const auto& [p, a, b, x] : reference) {
    EXPECT_NEAR(beta_quantile(p, a, b) / x, 1, 1e-10) << p << " " << a << " " << b;
  }
  EXPECT_EQ(beta_quantile(0, 2, 3), 0);
  EXPECT_EQ(beta_quantile(1, 2, 3), 1);
}

TEST(SpecialFunctions, QuantilesInvertTheirDistribution) {
  Random random(1, 1);
  for (int i = 0; i < 300; ++i) {
    const double a = std::exp(random.uniform() * 10 - 4);
    const double b = std::exp(random.uniform() * 10 - 4);
    const double p = random.uniform();
    const double x = beta_quantile(p, a, b);
    ASSERT_GE(x, 0);
    ASSERT_LE(x, 1);
    if (x > 1e-300 && x < 0.999) {
      ASSERT_NEAR(incomplete_beta(a, b, x), p, 1e-9) << a << " " << b << " " << p;
    }
  }
}

TEST(Distribution, CaseA12_StepsDoNotDriftAndKeepTheirEnd) {
  Distribution d = range(DistributionKind::q_uniform, 0.1, 0.5, 0.1);
  ASSERT_TRUE(d.validate());
  EXPECT_THAT(spellings(d), ElementsAre("0.1", "0.2", "0.3", "0.4", "0.5"));
  d = range(DistributionKind::q_uniform, 0.3, 0.9, 0.3);
  EXPECT_THAT(spellings(d), ElementsAre("0.3", "0.6", "0.9"));
  d = range(DistributionKind::q_uniform, -0.25, 0.3, 0.1);
  EXPECT_THAT(spellings(d), ElementsAre("-0.2", "-0.1", "0.0", "0.1", "0.2", "0.3"));
  d = range(DistributionKind::q_uniform, 1e-5, 5e-5, 1e-5);
  EXPECT_THAT(spellings(d), ElementsAre("1e-05", "2e-05", "3e-05", "4e-05", "5e-05"));
  d = range(DistributionKind::q_uniform, 10, 50, 20);
  d.integer_result = true;
  EXPECT_THAT(spellings(d), ElementsAre("20", "40"));
  EXPECT_EQ(d.at(0), Value::integer(20));
  d = range(DistributionKind::q_uniform, 0, 1000, 0.001);
  EXPECT_EQ(d.size(), 1000001U);
  EXPECT_EQ(d.at(999999).spelling(), "999.999");
}

TEST(Distribution, CaseA12_IntegerLogRangeCoversBothEnds) {
  Distribution d = range(DistributionKind::int_uniform, 1, 1024);
  d.log_integer = true;
  ASSERT_TRUE(d.validate());
  EXPECT_EQ(d.draw(0), Value::integer(1));
  EXPECT_EQ(d.draw(kAlmostOne), Value::integer(1024));
  int small = 0;
  for (int i = 0; i < 1000; ++i) small += *d.draw((i + 0.5) / 1000).number() <= 32 ? 1 : 0;
  // Half of the logarithms lie below sqrt(1024); rounding widens the smallest ones a little.
  EXPECT_GT(small, 450);
  EXPECT_LT(small, 600);
  EXPECT_EQ(d.size(), 1024U);
}

TEST(Distribution, IntegersAreExactAndEachDrawnAlike) {
  const Distribution d = range(DistributionKind::int_uniform, -2, 3);
  std::vector<int> counts(6);
  for (int i = 0; i < 6000; ++i) {
    const Value value = d.draw((i + 0.5) / 6000);
    ASSERT_EQ(value.kind(), ValueKind::integer);
    ++counts[static_cast<std::size_t>(*value.exact_integer() + 2)];
  }
  EXPECT_THAT(counts, ElementsAre(1000, 1000, 1000, 1000, 1000, 1000));
  const Distribution wide =
      range(DistributionKind::int_uniform, -9007199254740992.0, 9007199254740992.0);
  ASSERT_TRUE(wide.validate());
  EXPECT_EQ(wide.draw(0).spelling(), "-9007199254740992");
  EXPECT_EQ(wide.at(wide.size() - 1).spelling(), "9007199254740992");
  const Distribution one = range(DistributionKind::int_uniform, 1, 1);
  ASSERT_TRUE(one.validate());
  EXPECT_EQ(one.size(), 1U);
  EXPECT_EQ(one.draw(0.7), Value::integer(1));
}

TEST(Distribution, CaseB6_LogDrawsStayInsideTheBounds) {
  for (const auto& [low, high] : std::vector<std::pair<double, double>>{
           {1e-5, 1e-1}, {1e-300, 1e300}, {0.1, 0.3}, {3, 7}, {1e-5, 1.1e-5}}) {
    for (DistributionKind kind :
         {DistributionKind::log_uniform_values, DistributionKind::inv_log_uniform_values}) {
      const Distribution d = range(kind, low, high);
      ASSERT_TRUE(d.validate());
      double last = 0;
      for (int i = 0; i <= 2000; ++i) {
        const double unit = i == 2000 ? kAlmostOne : i / 2000.0;
        const double value = *d.draw(unit).number();
        ASSERT_GE(value, low);
        ASSERT_LE(value, high);
        ASSERT_GE(value, last);
        last = value;
      }
      EXPECT_EQ(*d.draw(0).number(), low);
      EXPECT_NEAR(*d.draw(kAlmostOne).number() / high, 1, 1e-11);
      EXPECT_NEAR(std::log(*d.draw(0.5).number()), (std::log(low) + std::log(high)) / 2, 1e-9);
    }
  }
}

TEST(Distribution, ExponentKindsMeanWhatTheyMeanInWandb) {
  const Distribution log = range(DistributionKind::log_uniform, -5, 2);
  EXPECT_NEAR(*log.draw(0).number(), std::exp(-5), 1e-12);
  EXPECT_NEAR(*log.draw(0.5).number(), std::exp(-1.5), 1e-11);
  const Distribution inverse = range(DistributionKind::inv_log_uniform, -5, 2);
  EXPECT_NEAR(*inverse.draw(0).number(), std::exp(-2), 1e-11);
  EXPECT_NEAR(*inverse.draw(0.75).number(), std::exp(-(-5 + 0.25 * 7)), 1e-9);
  EXPECT_EQ(range(DistributionKind::log_uniform, 1e-5, 0.1).doubt(),
            "log_uniform takes natural-log exponents, so this draws from 1.00001000005 to "
            "1.10517091808; for values between 1e-05 and 0.1 write log_uniform_values");
  EXPECT_THAT(range(DistributionKind::inv_log_uniform, 1, 2).doubt(),
              HasSubstr("draws from 0.135335283237 to 0.367879441171; for values between 1 and 2 "
                        "write inv_log_uniform_values"));
  EXPECT_THAT(range(DistributionKind::q_log_uniform, 1, 512).doubt(),
              HasSubstr("write q_log_uniform_values"));
  EXPECT_EQ(log.doubt(), "");
  EXPECT_EQ(range(DistributionKind::log_uniform_values, 1e-5, 0.1).doubt(), "");
}

TEST(Distribution, NormalsAndBetasAreFiniteAtTheEdges) {
  Distribution d;
  d.mu = 3;
  d.sigma = 2;
  for (DistributionKind kind :
       {DistributionKind::normal, DistributionKind::log_normal, DistributionKind::q_normal,
        DistributionKind::q_log_normal, DistributionKind::beta, DistributionKind::q_beta}) {
    d.kind = kind;
    ASSERT_TRUE(d.validate());
    for (double unit : {0.0, 0x1.0p-53, 0.5, kAlmostOne}) {
      ASSERT_TRUE(std::isfinite(*d.draw(unit).number())) << d.describe();
    }
  }
  d.kind = DistributionKind::normal;
  EXPECT_NEAR(*d.draw(0.5).number(), 3, 1e-11);
  EXPECT_NEAR(*d.draw(0.975).number(), 3 + 2 * 1.959963984540054, 1e-10);
  d.kind = DistributionKind::log_normal;
  EXPECT_NEAR(*d.draw(0.5).number() / std::exp(3), 1, 1e-11);
  d.sigma = 1e6;
  EXPECT_TRUE(std::isfinite(*d.draw(kAlmostOne).number()));
  d.kind = DistributionKind::q_log_normal;
  EXPECT_TRUE(std::isfinite(*d.draw(kAlmostOne).number()));
  d.integer_result = true;
  d.sigma = 30;
  EXPECT_EQ(d.draw(0.99).kind(), ValueKind::integer);
}

TEST(Distribution, MultiplesOfQPrintShortAndStayInside) {
  Random random(2, 2);
  for (DistributionKind kind :
       {DistributionKind::q_uniform, DistributionKind::q_log_uniform_values,
        DistributionKind::q_log_uniform, DistributionKind::q_normal, DistributionKind::q_beta}) {
    Distribution d = range(kind, 0.15, 2.25, 0.1);
    ASSERT_TRUE(d.validate());
    for (int i = 0; i < 500; ++i) {
      const Value value = d.draw(random.uniform());
      ASSERT_LE(value.spelling().size(), 5U) << value.spelling() << " " << d.describe();
      if (kind == DistributionKind::q_uniform || kind == DistributionKind::q_log_uniform_values) {
        ASSERT_GE(*value.number(), 0.2);
        ASSERT_LE(*value.number(), 2.2);
      }
    }
  }
  Distribution d = range(DistributionKind::q_log_uniform_values, 1, 100, 8);
  d.integer_result = true;
  std::set<std::string> seen;
  for (int i = 0; i < 500; ++i) seen.insert(d.draw(random.uniform()).spelling());
  EXPECT_EQ(seen.size(), 12U);  // 8, 16 ... 96
  EXPECT_TRUE(seen.count("8") == 1 && seen.count("96") == 1);
}

TEST(Distribution, DrawsHaveTwelveDigits) {
  const Distribution d = range(DistributionKind::uniform, 0, 1);
  EXPECT_EQ(d.draw(1.0 / 3).spelling(), "0.333333333333");
  EXPECT_EQ(d.draw(0), Value::real(0));
  EXPECT_EQ(range(DistributionKind::uniform, -1e308, 1e308).draw(0.75), Value::real(5e307));
}

TEST(Distribution, CaseB6_BadBoundsAreRefusedWithARemedy) {
  using Kind = DistributionKind;
  EXPECT_THAT(error_of(range(Kind::log_uniform_values, 0, 1)), HasSubstr("min > 0, not 0"));
  EXPECT_THAT(error_of(range(Kind::inv_log_uniform_values, -1, 1)), HasSubstr("min > 0, not -1"));
  EXPECT_THAT(error_of(range(Kind::uniform, 3, 1)), HasSubstr("min 3 is greater than max 1"));
  EXPECT_THAT(error_of(range(Kind::int_uniform, 3, 1)), HasSubstr("greater than max"));
  EXPECT_THAT(error_of(range(Kind::log_uniform_values, 0.1, 1e-5)), HasSubstr("greater than"));
  EXPECT_THAT(error_of(range(Kind::uniform, 2, 2)), HasSubstr("`value: 2`"));
  EXPECT_THAT(error_of(range(Kind::log_uniform_values, 0.1, 0.1)), HasSubstr("`value: 0.1`"));
  EXPECT_THAT(error_of(range(Kind::int_uniform, 1.5, 3)), HasSubstr("bound 1.5"));
  EXPECT_THAT(error_of(range(Kind::int_uniform, 0, 1e17)), HasSubstr("2^53"));
  EXPECT_THAT(error_of(range(Kind::uniform, 0, INFINITY)), HasSubstr("finite"));
  EXPECT_THAT(error_of(range(Kind::uniform, NAN, 1)), HasSubstr("finite"));
  EXPECT_THAT(error_of(range(Kind::log_uniform, 1, 1000)), HasSubstr("exponents"));
  EXPECT_THAT(error_of(range(Kind::q_uniform, 0, 1, 0)), HasSubstr("q must be"));
  EXPECT_THAT(error_of(range(Kind::q_uniform, 0, 1, -1)), HasSubstr("q must be"));
  EXPECT_THAT(error_of(range(Kind::q_uniform, 0, 1, NAN)), HasSubstr("q must be"));
  EXPECT_THAT(error_of(range(Kind::q_uniform, 0, 1, 1e-300)), HasSubstr("too fine"));
  EXPECT_THAT(error_of(range(Kind::q_uniform, 0.3, 0.6, 1)), HasSubstr("no multiple"));
  Distribution d = range(Kind::int_uniform, 0, 8);
  d.log_integer = true;
  EXPECT_THAT(error_of(d), HasSubstr("min >= 1"));
  d = Distribution();
  d.kind = Kind::normal;
  d.sigma = 0;
  EXPECT_THAT(error_of(d), HasSubstr("sigma must be greater than 0"));
  d.sigma = 1;
  d.mu = NAN;
  EXPECT_THAT(error_of(d), HasSubstr("mu"));
  d.kind = Kind::beta;
  d.a = -1;
  EXPECT_THAT(error_of(d), HasSubstr("beta distribution needs"));
}

TEST(Distribution, DescribesItselfShort) {
  EXPECT_EQ(range(DistributionKind::log_uniform_values, 1e-5, 0.1).describe(),
            "log-uniform 1e-05 … 0.1");
  EXPECT_EQ(range(DistributionKind::int_uniform, 1, 8).describe(), "integers 1 … 8");
  EXPECT_EQ(range(DistributionKind::q_uniform, 0, 1, 0.1).describe(),
            "uniform 0 … 1, multiples of 0.1");
}

// The inverse of a distribution function never turns back, whatever the kind.
TEST(Distribution, EveryKindIsMonotoneInItsCoordinate) {
  for (int kind = 0; kind <= static_cast<int>(DistributionKind::q_beta); ++kind) {
    Distribution d = range(static_cast<DistributionKind>(kind), 1, 4, 0.5);
    d.a = 0.5;
    d.b = 2;
    ASSERT_TRUE(d.validate()) << d.describe();
    double last = -1e300;
    for (int i = 0; i < 400; ++i) {
      const double value = *d.draw(i / 400.0).number();
      ASSERT_GE(value, last) << d.describe();
      last = value;
    }
  }
}

}  // namespace
}  // namespace seedbed
