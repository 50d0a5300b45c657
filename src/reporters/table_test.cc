#include "reporters/table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace seedbed {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

Table small() {
  return Table{
      {{"trial", "", Align::right, false}, {"state"}, {"val_acc", "last val_acc", Align::right}},
      {{Cell::integer(1), Cell::text("completed", Style::good), Cell::number(0.957)},
       {Cell::integer(12), Cell::text("failed", Style::bad), Cell()},
       {Cell::integer(3), Cell::text("completed")}}};
}

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  for (const auto line : split(text, '\n')) widest = std::max(widest, display_width(line));
  return widest;
}

TEST(TextTable, AlignsAndLeavesNoBlanksAtLineEnds) {
  EXPECT_EQ(text_table(small()),
            "trial  state      last val_acc\n"
            "    1  completed         0.957\n"
            "   12  failed\n"
            "    3  completed\n");
}

TEST(TextTable, AnEmptyTableIsItsHeader) {
  Table table = small();
  table.rows.clear();
  EXPECT_EQ(text_table(table), "trial  state  last val_acc\n");
  EXPECT_EQ(text_table(Table{}), "");
  EXPECT_EQ(json_table(table), "[]\n");
  EXPECT_EQ(json_lines_table(table), "");
  EXPECT_EQ(csv_table(table), "trial,state,val_acc\n");
}

TEST(TextTable, WideCharactersKeepTheColumnsStraight) {
  const Table table{{{"name"}, {"n"}},
                    {{Cell::text("李明"), Cell::integer(1)}, {Cell::text("é"), Cell::integer(2)}}};
  EXPECT_EQ(text_table(table), "name  n\n李明  1\né     2\n");
}

TEST(TextTable, ControlCharactersCannotReachTheTerminal) {
  const Table table{{{"a\x1b[2J"}}, {{Cell::text("x\ny\x1b[31m\xff")}}};
  const std::string text = text_table(table);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  EXPECT_TRUE(is_valid_utf8(text));
}

TEST(TextTable, ANarrowTerminalShrinksTheWidestThenDropsFromTheRight) {
  Table table{{{"id", "", Align::right, false}, {"words"}, {"x"}},
              {{Cell::integer(7), Cell::text(std::string(50, 'w')), Cell::text("0123456789")}}};
  std::string text = text_table(table, {.width = 40});
  EXPECT_LE(widest_line(text), 40U);
  EXPECT_NE(text.find("…"), std::string::npos);
  EXPECT_NE(text.find("0123456789"), std::string::npos) << "the short column stays whole";

  text = text_table(table, {.width = 15});
  EXPECT_NE(text.find("(too narrow for 1 more column: x)"), std::string::npos) << text;

  for (std::size_t width = 1; width < 80; ++width) {
    text = text_table(table, {.width = width});
    text.erase(std::min(text.find("(too narrow"), text.size()));
    EXPECT_LE(widest_line(text), width);
  }
}

TEST(TextTable, CaseA10_AHugeValueDoesNotDrownTheTableButMachinesGetIt) {
  const std::string huge(200'000, 'a');
  const Table table{{{"value"}}, {{Cell::text(huge)}}};
  EXPECT_LT(text_table(table).size(), 1000U);
  EXPECT_GT(json_table(table).size(), huge.size());
  EXPECT_GT(csv_table(table).size(), huge.size());
}

TEST(TextTable, ColourOnlyWhenAskedAndOutsideTheWidth) {
  const std::string plain = text_table(small());
  EXPECT_EQ(plain.find('\x1b'), std::string::npos);
  std::string coloured = text_table(small(), {.colour = true});
  EXPECT_NE(coloured.find("\x1b[31mfailed"), std::string::npos);
  EXPECT_NE(coloured.find("\x1b[0m"), std::string::npos);
}

TEST(TextTable, BlanksAreSeenAndDirectionsDoNotTurn) {
  const Table table{{{"w"}},
                    {{Cell::value(Value::from_text(" "))},
                     {Cell::value(Value::from_text("a "))},
                     {Cell::value(Value::from_text("a\u202eb\u2066"))}}};
  EXPECT_EQ(text_table(table), "w\n\" \"\n\"a \"\na\\u202eb\\u2066\n");
  EXPECT_EQ(csv_table(table), "w\n\" \"\n\"a \"\na\u202eb\u2066\n");
}

TEST(TextTable, CaseC7_NanIsShownAsNan) {
  const Table table{
      {{"loss"}},
      {{Cell::number(kNan)}, {Cell::number(-kNan)}, {Cell::number(kInf)}, {Cell::number(-kInf)}}};
  EXPECT_EQ(text_table(table), "loss\nnan\nnan\ninf\n-inf\n");
  EXPECT_EQ(csv_table(table), "loss\nnan\nnan\ninf\n-inf\n");
}

TEST(JsonTable, CaseC7_NumbersThatAreNotFiniteAreStrings) {
  const Table table{
      {{"loss"}, {"n"}},
      {{Cell::number(kNan), Cell::integer(1)}, {Cell::number(-kInf)}, {Cell::number(0.1)}}};
  const auto rows = nlohmann::json::parse(json_table(table));
  EXPECT_EQ(rows.at(0).at("loss"), "nan");
  EXPECT_EQ(rows.at(1).at("loss"), "-inf");
  EXPECT_TRUE(rows.at(1).at("n").is_null());
  EXPECT_EQ(rows.at(2).at("loss"), 0.1);
  EXPECT_EQ(
      json_lines_table(table),
      "{\"loss\":\"nan\",\"n\":1}\n{\"loss\":\"-inf\",\"n\":null}\n{\"loss\":0.1,\"n\":null}\n");
}

TEST(JsonTable, CaseC5_BytesThatAreNotUtf8StayValid) {
  const Table table{{{"t\xff"}}, {{Cell::text("caf\xe9 \xff\xfe")}}};
  const auto rows = nlohmann::json::parse(json_table(table));
  EXPECT_EQ(rows.at(0).size(), 1U);
  EXPECT_TRUE(is_valid_utf8(csv_table(table)));
  EXPECT_TRUE(is_valid_utf8(text_table(table)));
}

TEST(ParameterCell, AbsentEmptyAndNoneAreThreeValuesEverywhere) {
  const Table table{{{"p"}},
                    {{Cell::value(Value::absent())},
                     {Cell::value(Value::from_text(""))},
                     {Cell::value(Value::null())}}};
  EXPECT_EQ(text_table(table), "p\n\n\"\"\nNone\n");
  EXPECT_EQ(csv_table(table), "p\n\n\"\"\nNone\n");
  EXPECT_EQ(json_lines_table(table), "{}\n{\"p\":\"\"}\n{\"p\":null}\n");
}

TEST(ParameterCell, KeepsSpellingForPeopleAndTypeForMachines) {
  const Table table{{{"p"}},
                    {{Cell::value(Value::from_plain("1e-3"))},
                     {Cell::value(Value::from_plain("7"))},
                     {Cell::value(Value::from_plain("007"))},
                     {Cell::value(Value::from_plain("true"))},
                     {Cell::value(Value::from_plain("123456789012345678901234567890"))}}};
  EXPECT_EQ(text_table(table), "p\n1e-3\n7\n007\nTrue\n123456789012345678901234567890\n");
  EXPECT_EQ(csv_table(table), "p\n1e-3\n7\n007\nTrue\n123456789012345678901234567890\n");
  const auto rows = nlohmann::json::parse(json_table(table));
  EXPECT_EQ(rows.at(0).at("p"), 0.001);
  EXPECT_EQ(rows.at(1).at("p"), 7);
  EXPECT_EQ(rows.at(2).at("p"), "007");
  EXPECT_EQ(rows.at(3).at("p"), true);
  EXPECT_DOUBLE_EQ(rows.at(4).at("p").get<double>(), 123456789012345678901234567890.0);
}

TEST(Csv, QuotesAsTheRfcSays) {
  EXPECT_EQ(csv_field("plain"), "plain");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("say \"hi\""), "\"say \"\"hi\"\"\"");
  EXPECT_EQ(csv_field("two\nlines"), "\"two\nlines\"");
  EXPECT_EQ(csv_field("cr\r"), "\"cr\r\"");
  EXPECT_EQ(csv_field(" lead"), "\" lead\"");
  EXPECT_EQ(csv_field("trail "), "\"trail \"");
  EXPECT_EQ(csv_field(""), "\"\"");
}

TEST(Csv, FormulasStayAsTheyAre) {
  const Table table{
      {{"v"}}, {{Cell::text("=1+2")}, {Cell::text("@x")}, {Cell::number(-1)}, {Cell::text("a=b")}}};
  EXPECT_EQ(csv_table(table), "v\n=1+2\n@x\n-1.0\na=b\n");
}

TEST(Csv, EveryDigitSurvives) {
  const Table table{{{"v"}}, {{Cell::number(0.1 + 0.2)}}};
  EXPECT_EQ(csv_table(table), "v\n0.30000000000000004\n");
  EXPECT_EQ(text_table(table), "v\n0.3\n");
}

TEST(Compose, CutsOnceAtTheRightColumnWhateverTheSpans) {
  const std::vector<Span> spans{{"abc", Style::good}, {"def", Style::bad}};
  EXPECT_EQ(compose(spans, 0, false), "abcdef");
  EXPECT_EQ(compose(spans, 6, false), "abcdef");
  EXPECT_EQ(compose(spans, 5, false), "abcd…");
  EXPECT_EQ(compose(spans, 4, false), "abc…");
  EXPECT_EQ(compose(spans, 3, false), "ab…");
  EXPECT_EQ(compose(spans, 1, false), "…");
  EXPECT_EQ(compose({{"李明", Style::plain}, {"x", Style::plain}}, 4, false), "李…");
  EXPECT_EQ(compose(spans, 5, true), "\x1b[32mabc\x1b[0m\x1b[31md…\x1b[0m");
}

}  // namespace
}  // namespace seedbed
