#include <gtest/gtest.h>
#include <time.h>

#include <cmath>
#include <limits>
#include <set>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/local_time.h"
#include "base/number_text.h"
#include "base/random.h"
#include "base/shown_text.h"
#include "base/text.h"
#include "base/time.h"

namespace seedbed {
namespace {

TEST(AttemptIdText, ReadsWhatItWrites) {
  const AttemptId id{12, 3};
  EXPECT_EQ(id.text(), "12.3");
  EXPECT_EQ(AttemptId::parse("12.3"), id);
}

TEST(AttemptIdText, RefusesAnythingElse) {
  for (const char* text : {"", "12", "12.", ".1", "0.1", "1.0", "1.1x", "-1.1", "1.-1", "1 .1"}) {
    EXPECT_FALSE(AttemptId::parse(text)) << text;
  }
}

TEST(Duration, ReadsEveryForm) {
  EXPECT_EQ(parse_duration("30s")->count(), 30'000);
  EXPECT_EQ(parse_duration("10m")->count(), 600'000);
  EXPECT_EQ(parse_duration("1h30m")->count(), 5'400'000);
  EXPECT_EQ(parse_duration("1h 30m")->count(), 5'400'000);
  EXPECT_EQ(parse_duration("1.5h")->count(), 5'400'000);
  EXPECT_EQ(parse_duration("500ms")->count(), 500);
  EXPECT_EQ(parse_duration("90")->count(), 90'000);
  EXPECT_EQ(parse_duration("01:02:03")->count(), 3'723'000);
  EXPECT_EQ(parse_duration("2d")->count(), 172'800'000);
  EXPECT_EQ(parse_duration("0s")->count(), 0);
}

TEST(Duration, RefusesNonsenseWithTheAcceptedForms) {
  for (const char* text : {"", "-1s", "1x", "s", "1h30", "1:2", "1:2:3:4", "nan", "1e99h", "1..5s",
                           "999999999999999d", "10 m x"}) {
    auto result = parse_duration(text);
    ASSERT_FALSE(result) << text;
    EXPECT_NE(result.error().message.find("30s"), std::string::npos);
  }
}

TEST(Duration, IsPrintedWithTwoUnits) {
  EXPECT_EQ(format_duration(Milliseconds(850)), "850ms");
  EXPECT_EQ(format_duration(Milliseconds(12'345)), "12.3s");
  EXPECT_EQ(format_duration(Milliseconds(59'960)), "1m 00s");
  EXPECT_EQ(format_duration(Milliseconds(245'000)), "4m 05s");
  EXPECT_EQ(format_duration(Milliseconds(7'620'000)), "2h 07m");
  EXPECT_EQ(format_duration(Milliseconds(273'600'000)), "3d 04h");
}

TEST(Timestamps, ArePrintedInUtc) {
  EXPECT_EQ(format_timestamp(Timestamp{0}), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(format_timestamp(Timestamp{1'769'860'800'250}), "2026-01-31T12:00:00.250Z");
}

TEST(Sizes, ReadEveryForm) {
  EXPECT_EQ(*parse_bytes("4GiB"), 4ULL << 30);
  EXPECT_EQ(*parse_bytes("4G"), 4ULL << 30);
  EXPECT_EQ(*parse_bytes("100MB"), 100'000'000ULL);
  EXPECT_EQ(*parse_bytes("512k"), 512ULL * 1024);
  EXPECT_EQ(*parse_bytes("1.5 GiB"), 3ULL << 29);
  EXPECT_EQ(*parse_bytes("17"), 17ULL);
}

TEST(Sizes, RefuseNonsense) {
  for (const char* text : {"", "-1", "GiB", "4XB", "4GiBs", "inf", "nan", "1e40"}) {
    EXPECT_FALSE(parse_bytes(text)) << text;
  }
}

TEST(Sizes, ArePrintedShort) {
  EXPECT_EQ(format_bytes(17), "17 B");
  EXPECT_EQ(format_bytes(1024), "1.0 KiB");
  EXPECT_EQ(format_bytes(4ULL << 30), "4.0 GiB");
  EXPECT_EQ(format_bytes(812 * 1024), "812 KiB");
  EXPECT_EQ(format_bytes(std::numeric_limits<std::uint64_t>::max()), "16 EiB");
}

TEST(RandomNumbers, AreTheSameOnEveryMachine) {
  EXPECT_EQ(mix(0, 0), 0xe220a8397b1dcdafULL);  // SplitMix64's first output for seed 0
  EXPECT_EQ(hash_text("seedbed"), hash_text("seedbed"));
  EXPECT_NE(hash_text("seedbed"), hash_text("seedbee"));
}

TEST(RandomNumbers, UniformStaysBelowOne) {
  Random random(1, 2);
  double sum = 0;
  for (int i = 0; i < 10'000; ++i) {
    const double u = random.uniform();
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u;
  }
  EXPECT_NEAR(sum / 10'000, 0.5, 0.02);
}

TEST(RandomNumbers, NormalHasMeanZeroAndVarianceOne) {
  Random random(3, 4);
  double sum = 0, squares = 0;
  for (int i = 0; i < 20'000; ++i) {
    const double x = random.normal();
    sum += x, squares += x * x;
  }
  EXPECT_NEAR(sum / 20'000, 0, 0.03);
  EXPECT_NEAR(squares / 20'000, 1, 0.05);
}

TEST(Permutation, VisitsEveryNumberOnceWhateverTheSize) {
  for (std::uint64_t size : {1ULL, 2ULL, 3ULL, 5ULL, 17ULL, 64ULL, 1000ULL, 4097ULL}) {
    const KeyedPermutation permutation(size, 42);
    std::set<std::uint64_t> seen;
    for (std::uint64_t i = 0; i < size; ++i) {
      const std::uint64_t image = permutation(i);
      ASSERT_LT(image, size);
      seen.insert(image);
    }
    EXPECT_EQ(seen.size(), size);
  }
}

TEST(Permutation, DependsOnTheKeyAndWorksForHugeSizes) {
  const std::uint64_t huge = std::numeric_limits<std::uint64_t>::max();
  EXPECT_LT(KeyedPermutation(huge, 1)(huge - 1), huge);
  int same = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    same += KeyedPermutation(1000, 1)(i) == KeyedPermutation(1000, 2)(i) ? 1 : 0;
  }
  EXPECT_LT(same, 20);
}

TEST(Nearest, FindsTypingMistakesOnly) {
  const std::vector<std::string> words = {"method", "metric", "parameters", "seed"};
  EXPECT_EQ(nearest("metod", words), "method");
  EXPECT_EQ(nearest("paramters", words), "parameters");
  EXPECT_EQ(nearest("sede", words), "seed");
  EXPECT_EQ(nearest("METRIC", words), "metric");
  EXPECT_FALSE(nearest("xyzzy", words));
  EXPECT_FALSE(nearest("", words));
}

TEST(ShellQuote, QuotesOnlyWhatNeedsIt) {
  EXPECT_EQ(shell_quote("--lr=1e-3"), "--lr=1e-3");
  EXPECT_EQ(shell_quote("a b"), "'a b'");
  EXPECT_EQ(shell_quote("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_quote(""), "''");
  EXPECT_EQ(shell_quote("$(id)"), "'$(id)'");
  EXPECT_EQ(shell_quote(std::vector<std::string>{"echo", "a b"}), "echo 'a b'");
}

TEST(Utf8, BadBytesBecomeReplacementCharacters) {
  EXPECT_EQ(to_valid_utf8("caf\xe9 x"), "caf\xef\xbf\xbd x");
  EXPECT_EQ(to_valid_utf8("\xc3"), "\xef\xbf\xbd");
  EXPECT_EQ(to_valid_utf8("é李"), "é李");
  EXPECT_TRUE(is_valid_utf8("é李\xf0\x9f\x98\x80"));
  for (const char* bad : {"\xff", "\xc0\x80", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\xe4\xb8"}) {
    EXPECT_FALSE(is_valid_utf8(bad));
    EXPECT_TRUE(is_valid_utf8(to_valid_utf8(bad)));
  }
}

TEST(OneLine, EscapesControlsAndCutsByColumns) {
  EXPECT_EQ(one_line("a\nb\x1b[31m"), "a\\nb\\x1b[31m");
  EXPECT_EQ(one_line("abcdef", 6), "abcdef");
  EXPECT_EQ(one_line("abcdefg", 6), "abcde…");
  EXPECT_EQ(one_line("李明李明", 5), "李明…");
  EXPECT_EQ(display_width(one_line("李明李明", 4)), 3U);
}

TEST(OneLine, EscapesWhatTurnsOrHidesText) {
  EXPECT_EQ(one_line("a\u202eb\u2066c"), "a\\u202eb\\u2066c");
  EXPECT_EQ(one_line("\u200b\ufeff\u0085\u2028"), "\\u200b\\ufeff\\x85\\u2028");
  EXPECT_EQ(one_line("\U000e0041"), "\\U000e0041");
  EXPECT_EQ(one_line("a\u202e", 4), "a…");
  EXPECT_EQ(one_line("👩\u200d🔬"), "👩\u200d🔬");  // joiners belong to words
}

TEST(ShownText, QuotesWhatWouldBeBlank) {
  EXPECT_EQ(shown_text(""), "\"\"");
  EXPECT_EQ(shown_text(" "), "\" \"");
  EXPECT_EQ(shown_text("a "), "\"a \"");
  EXPECT_EQ(shown_text("a b\n"), "a b\\n");
}

class LocalTime : public testing::Test {
 protected:
  static void zone(const char* name) {
    setenv("TZ", name, 1);
    tzset();
  }
  void TearDown() override {
    unsetenv("TZ");
    tzset();
  }
};

TEST_F(LocalTime, IsThatOfTheZoneWithoutMilliseconds) {
  zone("XYZ-2");
  EXPECT_EQ(format_local_time(Timestamp{0}), "1970-01-01 02:00:00");
  EXPECT_EQ(format_local_time(Timestamp{-1}), "1970-01-01 01:59:59");
  EXPECT_EQ(local_time_of("2026-01-31T23:30:00.250Z"), "2026-02-01 01:30:00");
  EXPECT_EQ(local_time_of("yesterday"), "yesterday");
}

TEST(Numbers, ArePrintedShortAndReadBack) {
  EXPECT_EQ(format_number(0.1), "0.1");
  EXPECT_EQ(format_number(0.1 + 0.2), "0.30000000000000004");
  EXPECT_EQ(format_number(1e-5), "1e-05");
  EXPECT_EQ(format_number(0.0001), "0.0001");
  EXPECT_EQ(format_number(1), "1.0");
  EXPECT_EQ(format_number(1e16), "1e+16");
  EXPECT_EQ(format_number(123456789.0), "123456789.0");
  EXPECT_EQ(format_number(std::nan("")), "nan");
  EXPECT_EQ(format_number(-std::numeric_limits<double>::infinity()), "-inf");
}

TEST(Numbers, AreRoundedForPeople) {
  EXPECT_EQ(number_text(0.9763000000000001), "0.9763");
  EXPECT_EQ(number_text(0.95733333), "0.957333");
  EXPECT_EQ(number_text(1'234'567), "1234567");
  EXPECT_EQ(number_text(123456.75), "123457");
  EXPECT_EQ(number_text(1e-5), "1e-05");
  EXPECT_EQ(number_text(1e300), "1e+300");
  for (const auto& text : {number_text, stored_number_text}) {
    EXPECT_EQ(text(-0.0), "0");
    EXPECT_EQ(text(5), "5");
    EXPECT_EQ(text(-std::nan("")), "nan");
    EXPECT_EQ(text(-std::numeric_limits<double>::infinity()), "-inf");
  }
}

TEST(Numbers, ThatAreKeptAreShownWithEveryDigit) {
  EXPECT_EQ(stored_number_text(0.9763000000000001), "0.9763000000000001");
  EXPECT_EQ(stored_number_text(123456.75), "123456.75");
  EXPECT_EQ(stored_number_text(999'999'999'999'999), "999999999999999");
  EXPECT_EQ(stored_number_text(1e16), "1e+16");
}

}  // namespace
}  // namespace seedbed
