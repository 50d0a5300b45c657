#include "study/value.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/text.h"

namespace seedbed {
namespace {

ValueKind kind_of(std::string_view spelling) { return Value::from_plain(spelling).kind(); }

TEST(Value, CaseA1_EveryDecimalSpellingIsANumberAndKeepsItsText) {
  for (const char* spelling : {"1e-3", "1E-3", "1.0e-3", "1e+3", ".5", "5.", "1.10", "-.5", "-10.",
                               "5.e3", ".5E+01", "0.00001", "-1e-3", "0e0", "0.0", "-0.0", "1e5"}) {
    const Value value = Value::from_plain(spelling);
    EXPECT_EQ(value.kind(), ValueKind::real) << spelling;
    EXPECT_EQ(value.spelling(), spelling);
    ASSERT_TRUE(value.number()) << spelling;
    EXPECT_EQ(*value.number(), std::strtod(spelling, nullptr)) << spelling;
  }
  for (const char* spelling : {"0", "1", "-1", "10", "9007199254740993", "-0"}) {
    EXPECT_EQ(kind_of(spelling), ValueKind::integer) << spelling;
    EXPECT_EQ(Value::from_plain(spelling).spelling(), spelling);
  }
}

TEST(Value, CaseA3_OnlyPlainDecimalsAndTrueFalseLeaveTheWorldOfWords) {
  for (const char* word :
       {"no",    "NO",         "off",  "on",   "yes",   "se",       "nan",      ".nan",
        "inf",   "-inf",       ".inf", "007",  "0x10",  "1_000",    "12:30:45", "none",
        "None",  "2024-01-02", "+1",   "+.5",  "1e",    "1e+",      "e5",       ".",
        "-",     "-.",         ".e3",  "--1",  "1.2.3", "1 ",       " 1",       "1e5.0",
        "00",    "-01",        "00.5", "01e3", "1f",    "1e 5",     "true ",    "yEs",
        "1e-3-", "0b1",        "0o7",  "1,5",  "tRue",  "\xd9\xa1", "nuLL"}) {
    const Value value = Value::from_plain(word);
    EXPECT_EQ(value.kind(), ValueKind::text) << word;
    EXPECT_EQ(value.spelling(), word);
    EXPECT_FALSE(value.number()) << word;
  }
  for (const char* word : {"true", "True", "TRUE"}) {
    EXPECT_EQ(Value::from_plain(word), Value::boolean(true));
    EXPECT_EQ(Value::from_plain(word).spelling(), "True");
  }
  for (const char* word : {"~", "null", "NULL", "Null", ""}) {
    EXPECT_EQ(Value::from_plain(word), Value::null());
    EXPECT_EQ(Value::from_plain(word).spelling(), "None");
  }
}

TEST(Value, SpellingsOfOneNumberAreOneValue) {
  for (const char* spelling : {"0.001", "1E-3", "1e-03", "0.0010", ".001", "10e-4", "0.1e-2"}) {
    EXPECT_EQ(Value::from_plain("1e-3"), Value::from_plain(spelling)) << spelling;
    EXPECT_EQ(Value::from_plain(spelling).canonical(), "r:1e-3");
  }
  EXPECT_EQ(Value::from_plain("-0.0"), Value::from_plain("0.0"));
  EXPECT_EQ(Value::from_plain("-0"), Value::from_plain("0"));
  EXPECT_EQ(Value::from_plain("0e5"), Value::from_plain("0.0"));
  EXPECT_EQ(Value::from_plain("100.0"), Value::from_plain("1e2"));
}

TEST(Value, DifferentValuesStayDifferent) {
  const std::vector<Value> all = {
      Value(),
      Value::null(),
      Value::boolean(false),
      Value::boolean(true),
      Value::integer(0),
      Value::integer(1),
      Value::integer(-1),
      Value::from_plain("0.0"),
      Value::from_plain("1.0"),
      Value::from_plain("1e1"),
      Value::from_plain("9007199254740992"),
      Value::from_plain("9007199254740993"),
      // The same double, other decimals: no rounding decides.
      Value::from_plain("0.1"),
      Value::from_plain("0.1000000000000000055511151231257827"),
      Value::from_text(""),
      Value::from_text("1"),
      Value::from_text("None"),
      Value::from_text("True"),
      Value::from_text("-"),
      Value::from_text("n"),
      Value::structure("[1]", "[1]"),
      Value::structure("[1.0]", "[1.0]"),
      Value::from_text("[1]"),
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = 0; j < all.size(); ++j) {
      EXPECT_EQ(all[i] == all[j], i == j) << all[i].canonical() << " " << all[j].canonical();
    }
  }
}

TEST(Value, HugeNumbersAreBoundedAndDoNotOverflow) {
  EXPECT_EQ(kind_of("1e308"), ValueKind::real);
  EXPECT_EQ(kind_of("1.7976931348623157e308"), ValueKind::real);
  EXPECT_EQ(kind_of("1e309"), ValueKind::text);
  EXPECT_EQ(kind_of("2e308"), ValueKind::text);
  EXPECT_EQ(kind_of("1e99999999999999999999999"), ValueKind::text);
  EXPECT_EQ(kind_of("-1e-99999999999999999999999"), ValueKind::text);
  EXPECT_EQ(kind_of(std::string(400, '9')), ValueKind::text);
  EXPECT_EQ(kind_of(std::string(300, '9')), ValueKind::integer);
  EXPECT_EQ(kind_of("0." + std::string(1000, '0') + "1e1000"), ValueKind::real);
  EXPECT_EQ(*Value::from_plain("1e-400").number(), 0.0);
  EXPECT_NE(Value::from_plain("1e-400"), Value::from_plain("0.0"));
  EXPECT_EQ(Value::from_plain("1e-0000000000000003"), Value::from_plain("0.001"));
  EXPECT_EQ(Value::from_plain("9223372036854775807").exact_integer(),
            std::numeric_limits<std::int64_t>::max());
  EXPECT_FALSE(Value::from_plain("9223372036854775808").exact_integer());
  EXPECT_FALSE(Value::from_plain("1.0").exact_integer());
}

TEST(Value, CaseA12_RealsPrintShort) {
  EXPECT_EQ(Value::real(0.3).spelling(), "0.3");
  EXPECT_EQ(Value::real(1e-5).spelling(), "1e-05");
  EXPECT_EQ(Value::real(1).spelling(), "1.0");
  EXPECT_EQ(Value::real(-0.0).spelling(), "0.0");
  EXPECT_EQ(Value::real(1).kind(), ValueKind::real);
  EXPECT_EQ(Value::real(1e300).kind(), ValueKind::real);
  EXPECT_EQ(Value::real(0.1), Value::from_plain("1e-1"));
}

TEST(Value, RestoreGivesBackEveryKind) {
  const std::vector<Value> all = {Value(),
                                  Value::null(),
                                  Value::boolean(true),
                                  Value::boolean(false),
                                  Value::integer(-7),
                                  Value::from_plain("1e-3"),
                                  Value::from_text("1e-3"),
                                  Value::from_text(""),
                                  Value::from_text("no"),
                                  Value::structure("{a: 1}", "{\"a\":1}")};
  for (const Value& value : all) {
    const Value back = Value::restore(value.kind(), value.spelling(), value.canonical_json());
    EXPECT_EQ(back, value);
    EXPECT_EQ(back.kind(), value.kind());
    EXPECT_EQ(back.spelling(), value.spelling());
    EXPECT_EQ(kind_from_word(kind_word(value.kind())), value.kind());
  }
  EXPECT_EQ(Value::restore(ValueKind::integer, "1e-3"), Value::from_text("1e-3"));
  EXPECT_EQ(Value::restore(ValueKind::real, "nonsense"), Value::from_text("nonsense"));
  EXPECT_FALSE(kind_from_word("number"));
}

TEST(Value, TablesSortNumbersByValueAndKindsByOrder) {
  std::vector<Value> values;
  for (const char* text :
       {"b", "10", "9", "1e-3", "-2", "-10", "0.5", "1.0", "1", "a", "true", "9007199254740993",
        "9007199254740992", "-9007199254740993", "-9007199254740992"}) {
    values.push_back(Value::from_plain(text));
  }
  values.push_back(Value::null());
  values.push_back(Value());
  std::sort(values.begin(), values.end());
  std::vector<std::string> order;
  for (const Value& value : values) order.push_back(value.spelling());
  EXPECT_EQ(join(order, " "),
            " None True -9007199254740993 -9007199254740992 -10 -2 1e-3 0.5 1 1.0 9 10 "
            "9007199254740992 9007199254740993 a b");
}

// Any finite double survives: printed short, read back as the same value and the same double.
TEST(Value, RandomDoublesSurviveTheirSpelling) {
  Random random(1, 2);
  for (int i = 0; i < 20000; ++i) {
    std::uint64_t bits = random.next();
    double number = 0;
    static_assert(sizeof(bits) == sizeof(number));
    std::memcpy(&number, &bits, sizeof(bits));
    if (!std::isfinite(number)) continue;
    const Value value = Value::real(number);
    ASSERT_EQ(value.kind(), ValueKind::real);
    ASSERT_EQ(*value.number(), number) << value.spelling();
    ASSERT_EQ(Value::from_plain(value.spelling()), value);
  }
}

// Moving the point and writing the exponent for it never changes the value.
TEST(Value, MovedPointsAreTheSameValue) {
  Random random(3, 4);
  for (int i = 0; i < 5000; ++i) {
    std::string digits = "1";
    const std::size_t length = random.below(20);
    for (std::size_t k = 0; k < length; ++k) digits += static_cast<char>('0' + random.below(10));
    const int exponent = static_cast<int>(random.below(40)) - 20;
    const std::size_t point = 1 + random.below(digits.size());
    std::string moved = digits.substr(0, point) + "." + digits.substr(point);
    moved += "e" + std::to_string(exponent + static_cast<int>(digits.size() - point));
    const std::string plain = digits + "e" + std::to_string(exponent);
    ASSERT_EQ(Value::from_plain(plain), Value::from_plain(moved)) << plain << " " << moved;
  }
}

}  // namespace
}  // namespace seedbed
