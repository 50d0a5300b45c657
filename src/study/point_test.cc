#include "study/point.h"

#include <gtest/gtest.h>

namespace seedbed {
namespace {

Parameter parameter(std::string name, std::string_view plain) {
  return {std::move(name), Value::from_plain(plain)};
}

TEST(Point, IdentityDoesNotDependOnOrderOrSpelling) {
  const Point a{{parameter("lr", "1e-3"), parameter("seed", "0")}};
  const Point b{{parameter("seed", "0"), parameter("lr", "0.001")}};
  EXPECT_EQ(a.identity(), b.identity());
  EXPECT_EQ(a.identity(), "lr=r:1e-3\nseed=i:0\n");
}

TEST(Point, AbsentIsTheSameAsNotThereButNotAsEmptyOrNull) {
  const Point none{{parameter("lr", "1")}};
  const Point absent{{parameter("lr", "1"), {"opt", Value::absent()}}};
  const Point null{{parameter("lr", "1"), {"opt", Value::null()}}};
  const Point empty{{parameter("lr", "1"), {"opt", Value::from_text("")}}};
  const Point word{{parameter("lr", "1"), {"opt", Value::from_text("None")}}};
  EXPECT_EQ(none.identity(), absent.identity());
  EXPECT_NE(none.identity(), null.identity());
  EXPECT_NE(null.identity(), empty.identity());
  EXPECT_NE(null.identity(), word.identity());
  EXPECT_NE(none.identity(), empty.identity());
}

TEST(Point, ValuesCannotForgeOtherParameters) {
  const Point forged{{{"a", Value::from_text("1\nb=t:2")}}};
  const Point honest{{{"a", Value::from_text("1")}, {"b", Value::from_text("2")}}};
  EXPECT_NE(forged.identity(), honest.identity());
  const Point escaped{{{"a", Value::from_text("1\\nb=t:2")}}};
  EXPECT_NE(forged.identity(), escaped.identity());
  const Point odd_name{{{"a=t:1", Value::from_text("x")}}};
  const Point odd_value{{{"a", Value::from_text("1=t:x")}}};
  EXPECT_NE(odd_name.identity(), odd_value.identity());
}

TEST(Point, ReplicatesShareTheirConfiguration) {
  const Point a{{parameter("lr", "1e-3"), parameter("seed", "0")}};
  const Point b{{parameter("lr", "1e-3"), parameter("seed", "1")}};
  const Point c{{parameter("lr", "1e-2"), parameter("seed", "0")}};
  EXPECT_EQ(a.configuration_identity("seed"), b.configuration_identity("seed"));
  EXPECT_NE(a.configuration_identity("seed"), c.configuration_identity("seed"));
  EXPECT_NE(a.configuration_identity(""), b.configuration_identity(""));
}

TEST(Point, FindsByExactName) {
  const Point a{{parameter("opt.lr", "1e-3"), parameter("opt", "sgd")}};
  ASSERT_NE(a.find("opt.lr"), nullptr);
  EXPECT_EQ(a.find("opt.lr")->spelling(), "1e-3");
  EXPECT_EQ(a.find("opt.l"), nullptr);
  EXPECT_EQ(a.find(""), nullptr);
}

}  // namespace
}  // namespace seedbed
