#include "study/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "base/random.h"

namespace seedbed {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Names = std::map<std::string, Value, std::less<>>;

Names names_of(std::initializer_list<std::pair<const char*, const char*>> plain) {
  Names names;
  for (const auto& [name, text] : plain) names.emplace(name, Value::from_plain(text));
  return names;
}

Result<bool> evaluate(std::string_view text, const Names& names) {
  const Result<Expression> expression = Expression::parse(text);
  if (!expression) return propagate(expression);
  return expression->holds([&](std::string_view name) -> const Value* {
    const auto found = names.find(name);
    return found == names.end() ? nullptr : &found->second;
  });
}

bool holds(std::string_view text, const Names& names = {}) {
  const Result<bool> result = evaluate(text, names);
  EXPECT_TRUE(result) << text << "\n" << result.error().message;
  return result && *result;
}

std::string error_of(std::string_view text, const Names& names = {}) {
  const Result<bool> result = evaluate(text, names);
  EXPECT_FALSE(result) << text;
  if (result) return "";
  EXPECT_EQ(result.error().code, ErrorCode::usage);
  return result.error().message;
}

TEST(Expression, ArithmeticFollowsTheUsualPrecedence) {
  for (const char* text :
       {"1 + 2 * 3 == 7",  "(1 + 2) * 3 == 9",  "2 ** 3 ** 2 == 512", "-2 ** 2 == -4",
        "2 ** -1 == 0.5",  "7 / 2 == 3.5",      "7 // 2 == 3",        "-7 // 2 == -4",
        "-7 % 3 == 2",     "7 % -3 == -2",      "7.5 % 2 == 1.5",     "-7.5 // 2 == -4",
        "10 - 3 - 2 == 5", "100 / 10 / 5 == 2", "1 - -1 == 2",        "+3 == 3",
        "1e-3 == .001",    "5. == 5",           "1E3 == 1000",        "2*3==6",
        "0 ** 0 == 1",     "(-1) ** 3 == -1",   "- - 2 == 2"}) {
    EXPECT_TRUE(holds(text)) << text;
  }
}

TEST(Expression, WhereKeepsTheStatedProducts) {
  const Names names = names_of({{"batch", "64"}, {"accum", "4"}, {"opt", "sgd"}, {"lr", "1e-3"}});
  EXPECT_TRUE(holds("batch * accum <= 256", names));
  EXPECT_FALSE(holds("batch * accum < 256", names));
  EXPECT_TRUE(holds("opt == 'sgd'", names));
  EXPECT_TRUE(holds("opt == \"sgd\" and lr < 0.01", names));
  EXPECT_TRUE(holds("not (opt == 'adam' or lr > 0.1)", names));
  EXPECT_TRUE(holds("1e-4 < lr <= 0.001 < batch", names));
  EXPECT_FALSE(holds("1e-4 < lr < 0.001", names));
  EXPECT_TRUE(holds("lr == 0.001", names));
  EXPECT_TRUE(holds("batch == 64.0", names));
}

TEST(Expression, ListsNamesAndTexts) {
  Names names = names_of({{"opt.lr", "0.1"}, {"opt", "sgd"}, {"n", "2"}});
  names.emplace("weight-decay", Value::from_plain("0.5"));
  names.emplace("größe", Value::from_plain("3"));
  names.emplace("word", Value::from_text("it's"));
  names.emplace("val/acc", Value::from_plain("0.9"));
  EXPECT_TRUE(holds("n in (1, 2, 'a')", names));
  EXPECT_TRUE(holds("n in [1, 2,]", names));
  EXPECT_TRUE(holds("n in (2)", names));
  EXPECT_TRUE(holds("opt not in ('adam', 1)", names));
  EXPECT_FALSE(holds("opt in ('adam', 1)", names));
  EXPECT_TRUE(holds("n in (n + 1, n * 1)", names));
  EXPECT_TRUE(holds("opt.lr * 10 == 1", names));
  EXPECT_TRUE(holds("`weight-decay` == 0.5 and `val/acc` > 0.8", names));
  EXPECT_TRUE(holds("größe == 3", names));
  EXPECT_TRUE(holds("word == 'it\\'s'", names));
  EXPECT_TRUE(holds("word == \"it's\"", names));
  EXPECT_TRUE(holds("'a\\d' == \"a\\\\d\""));
  EXPECT_TRUE(holds("'a' < 'b' < 'ba'"));
  EXPECT_THAT(Expression::parse("b < a and b > `c d` or a in (e, 1)")->names(),
              ElementsAre("b", "a", "c d", "e"));
  EXPECT_EQ(Expression::parse(" a < 1 ")->text(), " a < 1 ");
}

TEST(Expression, KindsAreNotConfused) {
  Names names = names_of({{"amp", "true"}, {"x", "~"}, {"i", "1"}, {"r", "1.0"}});
  names.emplace("t", Value::from_text("1"));
  names.emplace("s", Value::structure("[1, 2]", "[1,2]"));
  EXPECT_TRUE(holds("amp", names));
  EXPECT_TRUE(holds("amp == true and amp != false and not not amp", names));
  EXPECT_TRUE(holds("x == none", names));
  EXPECT_TRUE(holds("x == None and x == null and x != 0 and x != false", names));
  EXPECT_TRUE(holds("i == r", names));
  EXPECT_TRUE(holds("t != i and t == '1'", names));
  EXPECT_TRUE(holds("amp != 1 and amp != 'True'", names));
  EXPECT_TRUE(holds("s != '[1,2]' and s == s", names));
}

TEST(Expression, AComparisonWithAnAbsentValueIsFalse) {
  Names names = names_of({{"x", "3"}});
  names.emplace("gone", Value::absent());
  for (const char* text : {"gone == 1", "gone != 1", "gone < 1", "unknown == none",
                           "gone in (1, 2)", "gone not in (1, 2)", "x * gone <= 256", "-gone < 1",
                           "gone == gone", "x < gone < 5", "gone", "1 + gone + 1 == 2"}) {
    EXPECT_FALSE(holds(text, names)) << text;
  }
  EXPECT_TRUE(holds("not gone == 1", names));
  EXPECT_TRUE(holds("x == 3 or gone == 1", names));
  EXPECT_TRUE(holds("x in (gone, 3)", names));
}

TEST(Expression, ShortCircuitGuardsWhatComesAfter) {
  const Names names = names_of({{"x", "0"}, {"word", "abc"}});
  EXPECT_FALSE(holds("x != 0 and 1 / x > 2", names));
  EXPECT_TRUE(holds("x == 0 or word + 1 > 2", names));
  EXPECT_THAT(error_of("x == 0 and 1 / x > 2", names), HasSubstr("division by zero"));
}

TEST(Expression, EvaluationErrorsNameTheValueAndThePlace) {
  const Names names =
      names_of({{"opt", "adam"}, {"x", "0"}, {"lr", "1e-3"}, {"n", "~"}, {"amp", "true"}});
  const std::string message = error_of("lr > 0 and opt * 2 < 3", names);
  EXPECT_THAT(message, HasSubstr("column 12: `opt` is the text 'adam', and arithmetic needs"));
  EXPECT_THAT(message, HasSubstr("\n  lr > 0 and opt * 2 < 3\n             ^"));
  EXPECT_THAT(error_of("-opt < 1", names), HasSubstr("`opt` is the text 'adam'"));
  EXPECT_THAT(error_of("+opt < 1", names), HasSubstr("`opt` is the text 'adam'"));
  EXPECT_THAT(error_of("amp + 1 < 1", names), HasSubstr("the boolean true"));
  EXPECT_THAT(error_of("lr // x < 1", names), HasSubstr("column 4: division by zero"));
  EXPECT_THAT(error_of("lr % x < 1", names), HasSubstr("division by zero"));
  EXPECT_THAT(error_of("0 ** -1 == 1", names), HasSubstr("not a number"));
  EXPECT_THAT(error_of("(-8) ** 0.5 == 1", names), HasSubstr("not a number"));
  EXPECT_THAT(error_of("10.0 ** 400 > 1", names), HasSubstr("not a number"));
  EXPECT_THAT(error_of("lr", names), HasSubstr("`lr` is the number 0.001, not true or false"));
  EXPECT_THAT(error_of("lr and amp", names), HasSubstr("not true or false"));
  EXPECT_THAT(error_of("amp and opt", names), HasSubstr("`opt` is the text 'adam', not true"));
  EXPECT_THAT(error_of("not n", names), HasSubstr("`n` is none"));
  EXPECT_THAT(error_of("opt < 3", names), HasSubstr("no order"));
  EXPECT_THAT(error_of("amp < true", names), HasSubstr("no order"));
  EXPECT_THAT(error_of("gone * opt < 3", names), HasSubstr("`opt` is the text 'adam'"));
}

TEST(Expression, SyntaxErrorsPointAtTheColumnAndSayWhatToWrite) {
  EXPECT_EQ(error_of("batch <= "),
            "column 10: expected a number, a text or a name, but the expression ends here\n"
            "  batch <= \n           ^");
  EXPECT_THAT(error_of("lr = 3"), HasSubstr("column 4: expected an operator or the end, not `=`; "
                                            "compare with `==`"));
  EXPECT_THAT(error_of("größe = 3"), HasSubstr("column 7:"));
  EXPECT_THAT(error_of("größe = 3"), HasSubstr("\n  größe = 3\n        ^"));
  EXPECT_THAT(error_of("a && b"), HasSubstr("write `and`"));
  EXPECT_THAT(error_of("a || b"), HasSubstr("write `or`"));
  EXPECT_THAT(error_of("!a"), HasSubstr("write `not`"));
  EXPECT_THAT(error_of("a AND b"), HasSubstr("write `and`"));
  EXPECT_THAT(error_of("a <> 1"), HasSubstr("write `!=`"));
  EXPECT_THAT(error_of("exec('rm')"), HasSubstr("calls are not part"));
  EXPECT_THAT(error_of("a .b"), HasSubstr("attributes are not part"));
  EXPECT_THAT(error_of("a[0] == 1"), HasSubstr("items are not part"));
  EXPECT_THAT(error_of("opt is none"), HasSubstr("compare with `==`"));
  EXPECT_THAT(error_of("opt == weight decay"), HasSubstr("column 15"));
  EXPECT_THAT(error_of("(a < 1"), HasSubstr("`)`"));
  EXPECT_THAT(error_of("a < 1)"), HasSubstr("column 6"));
  EXPECT_THAT(error_of("a in 1"), HasSubstr("a list after `in`"));
  EXPECT_THAT(error_of("a in ()"), HasSubstr("empty"));
  EXPECT_THAT(error_of("a in (1 2)"), HasSubstr("column 9"));
  EXPECT_THAT(error_of("a in (,)"), HasSubstr("column 7"));
  EXPECT_THAT(error_of("a not b"), HasSubstr("`in` after `not`"));
  EXPECT_THAT(error_of("'abc"), HasSubstr("no closing '"));
  EXPECT_THAT(error_of("'abc\\"), HasSubstr("no closing '"));
  EXPECT_THAT(error_of("`abc"), HasSubstr("no closing `"));
  EXPECT_THAT(error_of("`` == 1"), HasSubstr("empty"));
  EXPECT_THAT(error_of("a == 007"), HasSubstr("column 6: `007` is not a plain decimal"));
  EXPECT_THAT(error_of("a == 0x10"), HasSubstr("quote it: '0x10'"));
  EXPECT_THAT(error_of("a == 1_000"), HasSubstr("1_000"));
  EXPECT_THAT(error_of("a == 1e999"), HasSubstr("1e999"));
  EXPECT_THAT(error_of("a == 1.2.3"), HasSubstr("1.2.3"));
  EXPECT_THAT(error_of("a ? b"), HasSubstr("column 3"));
  EXPECT_THAT(error_of("a; b"), HasSubstr("column 2"));
  EXPECT_THAT(error_of(""), HasSubstr("empty"));
  EXPECT_THAT(error_of("  \n "), HasSubstr("empty"));
  EXPECT_THAT(error_of("and"), HasSubstr("column 1"));
  EXPECT_THAT(error_of(std::string("a\0b", 3)), HasSubstr("column 2"));
}

TEST(Expression, CaretStaysUnderThePlaceInLongAndManyLineTexts) {
  const std::string message = error_of(std::string(300, 'a') + " = " + std::string(300, 'b'));
  EXPECT_THAT(message, HasSubstr("column 302"));
  EXPECT_LT(message.size(), 400U);
  const std::string lines = error_of("a < 1\n  and b = 2");
  EXPECT_THAT(lines, HasSubstr("column 15"));
  EXPECT_THAT(lines, HasSubstr("\n  a < 1   and b = 2\n                ^"));
}

TEST(Expression, NestingAndLengthAreBounded) {
  const auto repeated = [](const std::string& part, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) text += part;
    return text;
  };
  EXPECT_TRUE(holds(repeated("(", 100) + "1 == 1" + repeated(")", 100)));
  for (const std::string& text :
       {repeated("(", 101) + "1 == 1" + repeated(")", 101), repeated("(", 60000),
        repeated("not ", 15000) + "true", repeated("-", 60000) + "1 == 1",
        "2" + repeated("**2", 20000) + " == 1", repeated("a in (", 10000)}) {
    EXPECT_THAT(error_of(text), HasSubstr("nested more than 100 deep")) << text.substr(0, 20);
  }
  EXPECT_THAT(error_of(std::string(70000, ' ')), HasSubstr("64 KiB"));
  // Flat chains are one node: no depth, no recursion.
  EXPECT_TRUE(holds("0" + repeated(" + 1", 10000) + " == 10000"));
  EXPECT_TRUE(holds("true" + repeated(" and true", 7000)));
  EXPECT_TRUE(holds("1" + repeated(" <= 1", 10000)));
}

TEST(Expression, IntegersBeyondDoublesCompareExactly) {
  EXPECT_TRUE(holds("9007199254740993 > 9007199254740992"));
  EXPECT_FALSE(holds("9007199254740993 == 9007199254740992.0"));
  EXPECT_TRUE(holds("9007199254740993 > 9007199254740992.0"));
  EXPECT_TRUE(holds("9223372036854775807 + 1 > 9223372036854775807"));
  EXPECT_TRUE(holds("-9223372036854775807 - 1 < -9223372036854775807"));
  EXPECT_TRUE(holds("9223372036854775807 < 1e300 and -9223372036854775807 > -1e300"));
  EXPECT_TRUE(holds("3 < 3.5 and 4 > 3.5 and -3 > -3.5 and -4 < -3.5"));
  EXPECT_TRUE(holds("2 ** 62 + 1 > 2 ** 62"));
  EXPECT_TRUE(holds("(-9223372036854775807 - 1) // -1 > 0"));
  EXPECT_TRUE(holds("(-9223372036854775807 - 1) % -1 == 0"));
}

TEST(Expression, CopiesShareTheirMeaning) {
  Result<Expression> first = Expression::parse("x < 3");
  ASSERT_TRUE(first);
  Expression copy = *first;
  *first = *Expression::parse("x > 3");
  const Value two = Value::integer(2);
  const Expression::Lookup lookup = [&](std::string_view) { return &two; };
  EXPECT_TRUE(*copy.holds(lookup));
  EXPECT_FALSE(*first->holds(lookup));
}

// Whatever is typed: an answer or an error with a place, never a crash.
TEST(Expression, RandomTokensNeverCrash) {
  const char* tokens[] = {"a",  "1",    "1e-3", "'x'", "`q`", "(", ")",    ",", "and",  "or", "not",
                          "in", "<",    "==",   "**",  "-",   "+", "//",   "%", "true", "!",  "=",
                          ".",  "none", "\"",   "\\",  "\n",  "é", "\xff", "[", "]"};
  const Names names = names_of({{"a", "2"}, {"q", "word"}});
  Random random(5, 6);
  int parsed = 0;
  for (int i = 0; i < 8000; ++i) {
    std::string text;
    const std::size_t length = 1 + random.below(9);
    for (std::size_t k = 0; k < length; ++k) {
      text += tokens[random.below(std::size(tokens))];
      if (random.below(2) == 0) text += ' ';
    }
    const Result<bool> result = evaluate(text, names);
    if (result) {
      ++parsed;
    } else {
      ASSERT_THAT(result.error().message, HasSubstr("column ")) << text;
    }
  }
  EXPECT_GT(parsed, 20);
}

// Random integer arithmetic agrees with an independent evaluation in doubles.
TEST(Expression, RandomSumsAgreeWithPlainArithmetic) {
  Random random(7, 8);
  for (int i = 0; i < 3000; ++i) {
    double expected = 0;
    std::string text = "0";
    for (int k = 0; k < 6; ++k) {
      const auto a = static_cast<int>(random.below(100)) - 50;
      const auto b = static_cast<int>(random.below(9)) + 1;
      switch (random.below(4)) {
        case 0:
          text += " + " + std::to_string(a) + " * " + std::to_string(b);
          expected += a * b;
          break;
        case 1:
          text += " - (" + std::to_string(a) + " - " + std::to_string(b) + ")";
          expected -= a - b;
          break;
        case 2:
          text += " + " + std::to_string(a) + " // " + std::to_string(b);
          expected += std::floor(static_cast<double>(a) / b);
          break;
        default:
          text += " - " + std::to_string(a) + " % " + std::to_string(b);
          expected -= a - b * std::floor(static_cast<double>(a) / b);
      }
    }
    ASSERT_TRUE(holds(text + " == " + std::to_string(static_cast<long>(expected)))) << text;
  }
}

}  // namespace
}  // namespace seedbed
