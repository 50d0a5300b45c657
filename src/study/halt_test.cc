#include "study/halt.h"

#include <gtest/gtest.h>

namespace seedbed {
namespace {

TEST(HaltSpec, CaseI9_ReadsEveryFormAndRefusesTheRest) {
  using Kind = HaltSpec::Kind;
  EXPECT_EQ(HaltSpec::parse("")->kind, Kind::never);
  EXPECT_EQ(HaltSpec::parse(" Never ")->kind, Kind::never);
  EXPECT_EQ(HaltSpec::parse("first")->kind, Kind::first);
  EXPECT_EQ(HaltSpec::parse("3")->threshold, 3);
  EXPECT_EQ(HaltSpec::parse("0.5%")->kind, Kind::percent);
  for (const char* wrong : {"0", "-1", "1.5", "150%", "0%", "%", "often", "nan", "1e3"}) {
    EXPECT_FALSE(HaltSpec::parse(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace seedbed
