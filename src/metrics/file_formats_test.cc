#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metrics/test_support.h"

namespace seedbed {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<std::string> json(std::string_view text) {
  return read_all(SourceFormat::json_lines, text);
}
std::vector<std::string> csv(std::string_view text) { return read_all(SourceFormat::csv, text); }
std::vector<std::string> tsv(std::string_view text) { return read_all(SourceFormat::tsv, text); }

std::vector<std::string> notes(SourceFormat format, std::string_view text) {
  const auto parser = parser_of(format);
  std::vector<ParsedPoint> points;
  parser->feed(text, points);
  parser->finish(points);
  return parser->take_notes();
}

TEST(FormatOf, IsChosenByTheEndingOfTheName) {
  EXPECT_EQ(format_of("a/b.c/m.jsonl"), SourceFormat::json_lines);
  EXPECT_EQ(format_of("M.JSON"), SourceFormat::json_lines);
  EXPECT_EQ(format_of("x.ndjson"), SourceFormat::json_lines);
  EXPECT_EQ(format_of("out/progress.csv"), SourceFormat::csv);
  EXPECT_EQ(format_of("progress.txt"), SourceFormat::tsv);
  EXPECT_EQ(format_of("a.tsv"), SourceFormat::tsv);
  EXPECT_EQ(format_of("a.csv/log"), SourceFormat::output_lines);
  EXPECT_EQ(format_of("train.log"), SourceFormat::output_lines);
}

// ---- JSON lines

TEST(JsonLines, ReadsObjects) {
  EXPECT_THAT(json("{\"step\":1,\"loss\":0.5}\n{\"step\":2,\"loss\":0.4,\"acc\":1}\n"),
              ElementsAre("loss@1=0.5", "loss@2=0.4", "acc@2=1"));
  EXPECT_THAT(json("{\"loss\":0.5}\n\n  {\"loss\":0.4}\r\n"),
              ElementsAre("loss@1=0.5", "loss@2=0.4"));
  EXPECT_THAT(
      json("{\"_step\":7,\"a\":{\"b\":{\"c\":1}},\"d\":true,\"e\":false,\"f\":null,\"g\":[1,2]}\n"),
      ElementsAre("a.b.c@7=1", "d@7=1", "e@7=0"));
  EXPECT_THAT(json("\xef\xbb\xbf{\"a\":1}\n{}\n"), ElementsAre("a@1=1"));
  EXPECT_THAT(json("{\"a\\u00e9\\n\\\"x\\ud83d\\ude00\":1, \"\":2, \"a\":{\"\":3}}\n"),
              ElementsAre("a\xc3\xa9\n\"x\xf0\x9f\x98\x80@1=1", "a.@1=3"));
}

TEST(JsonLines, CaseC7_NaNAndInfinityAreValues) {
  EXPECT_THAT(
      json("{\"a\":NaN,\"b\":Infinity,\"c\":-Infinity,\"d\":nan,\"e\":1e999,\"f\":\"NaN\"}\n"),
      ElementsAre("a@1=nan", "b@1=inf", "c@1=-inf", "d@1=nan", "e@1=inf", "f@1=nan"));
}

TEST(JsonLines, TheLastLineWaitsForItsEnd) {
  const auto parser = parser_of(SourceFormat::json_lines);
  std::vector<ParsedPoint> points;
  parser->feed("{\"loss\":0.5}\n{\"loss\":0.", points);
  EXPECT_THAT(points, SizeIs(1));
  parser->feed("25}", points);
  EXPECT_THAT(points, SizeIs(1)) << "another digit could follow in a line without an end";
  parser->finish(points);
  EXPECT_THAT(show(points), ElementsAre("loss@1=0.5", "loss@2=0.25"));
  EXPECT_THAT(json("{\"loss\":0.5}\n{\"loss\":0.2"), ElementsAre("loss@1=0.5")) << "torn for ever";
}

TEST(JsonLines, BadLinesAreLeftOutWithOneNoteAndNothingElseIsLost) {
  for (const char* bad : {"{\"loss\":}", "{\"loss\" 1}", "loss=1", "[1]", "1", "\"x\"", "{\"a\":1",
                          "{a}", "{\"a\":01x}", "{\"a\":tru e}", "}", "{\"a\":{\"b\":1},\"c\":@}",
                          "{\"a\":\"unclosed}", "{'a':1 'b':2}"}) {
    const std::string text = "{\"x\":1}\n" + std::string(bad) + "\n{\"x\":2}\n";
    EXPECT_THAT(json(text), ElementsAre("x@1=1", "x@2=2")) << bad;
    EXPECT_THAT(notes(SourceFormat::json_lines, text), ElementsAre(HasSubstr("left out"))) << bad;
  }
}

TEST(JsonLines, WhatFollowsATornWriteOnTheSameLineIsRead) {
  EXPECT_THAT(json("{\"step\":3,\"lo{\"step\":4,\"loss\":0.5}\n"), ElementsAre("loss@4=0.5"));
  EXPECT_THAT(json("{\"step\":3,\"loss\":1}{\"step\":4,\"loss\":0.5}\n"),
              ElementsAre("loss@3=1", "loss@4=0.5"));
}

TEST(JsonLines, TextIsNoMetricAndSaysSo) {
  EXPECT_THAT(json("{\"phase\":\"train\",\"loss\":1}\n"), ElementsAre("loss@1=1"));
  EXPECT_THAT(notes(SourceFormat::json_lines, "{\"phase\":\"train\"}\n{\"phase\":\"x\"}\n"),
              ElementsAre(HasSubstr("`phase` holds text")));
}

TEST(JsonLines, HostileNestingAndLengthAreBounded) {
  EXPECT_THAT(json(std::string(60'000, '{') + "\n{\"a\":1}\n"), ElementsAre("a@1=1"));
  std::string deep;
  for (int i = 0; i < 10'000; ++i) deep += "{\"a\":";
  EXPECT_THAT(json(deep + "\n{\"a\":1}\n"), ElementsAre("a@1=1"));
  std::string lists = "{\"a\":" + std::string(50'000, '[');
  EXPECT_THAT(json(lists + "\n{\"a\":1}\n"), ElementsAre("a@1=1"));
  const std::string text = "{\"x\":\"" + std::string(200'000, 'y') + "\"}\n{\"a\":1}\n";
  EXPECT_THAT(json(text), ElementsAre("a@1=1"));
  EXPECT_THAT(notes(SourceFormat::json_lines, text), ElementsAre(HasSubstr("64 KiB")));
}

// ---- tables

TEST(Table, ReadsProgressTxt) {
  EXPECT_THAT(
      tsv("Epoch\tAverageEpRet\tTotalEnvInteracts\tTime\n0\t12.5\t4000\t1.5\n1\t13.5\t8000\tnan\n"),
      ElementsAre("Epoch@4000=0", "AverageEpRet@4000=12.5", "Time@4000=1.5", "Epoch@8000=1",
                  "AverageEpRet@8000=13.5", "Time@8000=nan"));
}

TEST(Table, CaseC8_RaggedRowsAndALaterHeaderNeverMoveAValue) {
  const std::string text = "step loss\n1 0.9\n2 0.8 0.7\n3\nstep loss eval\n4 0.6 0.5\n5 0.4\n";
  EXPECT_THAT(tsv(text),
              ElementsAre("loss@1=0.9", "loss@2=0.8", "loss@4=0.6", "eval@4=0.5", "loss@5=0.4"));
  EXPECT_THAT(notes(SourceFormat::tsv, text),
              ElementsAre(HasSubstr("more fields than the 2 columns"), HasSubstr("fewer fields"),
                          HasSubstr("new header"), HasSubstr("fewer fields than the 3")));
}

TEST(Table, CaseC8_AHeaderInAnotherOrderKeepsTheNames) {
  EXPECT_THAT(csv("step,a,b\n1,10,20\nstep,b,a\n2,21,11\n"),
              ElementsAre("a@1=10", "b@1=20", "b@2=21", "a@2=11"));
}

TEST(Table, EmptyFieldsAreBlanksWhereverTheyStand) {
  EXPECT_THAT(tsv("step\ta\tb\tc\n1\t\t2\t3\n2\t1\t\t3\n3\t1\t2\t\n"),
              ElementsAre("b@1=2", "c@1=3", "a@2=1", "c@2=3", "a@3=1", "b@3=2"));
}

TEST(Table, ARepeatedHeaderIsNoRow) {
  const std::string text = "step,loss\n1,0.5\nstep,loss\n1,0.4\n";
  EXPECT_THAT(csv(text), ElementsAre("loss@1=0.5", "loss@1=0.4"));
  EXPECT_THAT(notes(SourceFormat::csv, text), ElementsAre(HasSubstr("header is repeated")));
}

TEST(Table, TextCellsAreNoMetricsAndNoHeader) {
  EXPECT_THAT(csv("phase,loss,ok\ntrain,0.5,True\ntrain,None,False\nval,0.6,\n"),
              ElementsAre("loss@1=0.5", "ok@1=1", "ok@2=0", "loss@2=0.6"));
}

TEST(Table, QuotedFields) {
  EXPECT_THAT(csv("\"step\",\"a,b\",\"c\"\"d\"\n\"1\",\"0.5\",2\n2,\"x\ny, 7\",3\n"),
              ElementsAre("a,b@1=0.5", "c\"d@1=2", "c\"d@2=3"));
  EXPECT_THAT(csv("a,b\n1,x\"y\n2,3\n"), ElementsAre("a@1=1", "a@2=2", "b@1=3"))
      << "a quote inside a field is a character";
  EXPECT_THAT(csv("note,a\n\"say \"\"hi\"\", ok\",1\nplain,2\n"), ElementsAre("a@1=1", "a@2=2"));
}

TEST(Table, AQuoteThatIsNeverClosedCostsABoundedPart) {
  std::string text = "a,b\n1,2\n\"open,3\n";
  for (int i = 0; i < 20'000; ++i) text += std::to_string(i) + ",5\n";
  const auto points = csv(text);
  EXPECT_GT(points.size(), 15'000u);
  EXPECT_EQ(points[0], "a@1=1");
  EXPECT_THAT(notes(SourceFormat::csv, text), Contains(HasSubstr("never closed")));
}

TEST(Table, SeparatorsAreFoundInTheHeader) {
  EXPECT_THAT(csv("step;loss\n1;0.5\n"), ElementsAre("loss@1=0.5"));
  EXPECT_THAT(csv("step\tloss\n1\t0.5\n"), ElementsAre("loss@1=0.5"));
  EXPECT_THAT(tsv("step,loss\n1,0.5\n"), ElementsAre("loss@1=0.5"));
  EXPECT_THAT(tsv("  step   loss\n   1    0.5  \n"), ElementsAre("loss@1=0.5"));
  EXPECT_THAT(csv("loss\n0.5\n0.4\n"), ElementsAre("loss@1=0.5", "loss@2=0.4"));
  EXPECT_THAT(csv("step,loss\r\n1,0.5\r\n"), ElementsAre("loss@1=0.5"));
}

TEST(Table, CommentsTitlesAndMissingHeaders) {
  EXPECT_THAT(tsv("# step loss\n1 0.5\n# a comment\n2 0.4\n"),
              ElementsAre("loss@1=0.5", "loss@2=0.4"));
  EXPECT_THAT(csv("#{\"t_start\": 1.5, \"env_id\": \"x\"}\nr,l,t\n1.5,9,0.1\n"),
              ElementsAre("r@1=1.5", "l@1=9", "t@1=0.1"));
  EXPECT_THAT(tsv("My run\nstep loss\n1 0.5\n"), ElementsAre("loss@1=0.5"));
  EXPECT_THAT(csv("1,0.5\n2,0.4\n"),
              ElementsAre("column1@1=1", "column2@1=0.5", "column1@2=2", "column2@2=0.4"));
  EXPECT_THAT(csv(",loss\n0,0.5\n1,0.4\n"), ElementsAre("loss@1=0.5", "loss@2=0.4"))
      << "an index without a name";
}

TEST(Table, ColumnsOfOneNameAreToldApart) {
  const std::string text = "step,loss,loss\n1,0.5,0.6\n";
  EXPECT_THAT(csv(text), ElementsAre("loss@1=0.5", "loss.2@1=0.6"));
  EXPECT_THAT(notes(SourceFormat::csv, text), ElementsAre(HasSubstr("two columns are called")));
}

TEST(Table, ALastLineWithoutAnEndCountsUnlessItMayBeCut) {
  EXPECT_THAT(csv("step,a,b\n1,2,3\n2,4,5"), ElementsAre("a@1=2", "b@1=3", "a@2=4", "b@2=5"));
  EXPECT_THAT(csv("step,a,b\n1,2,3\n2,4"), ElementsAre("a@1=2", "b@1=3"));
  EXPECT_THAT(csv("step,a,b"), IsEmpty());
  EXPECT_THAT(csv(""), IsEmpty());
}

TEST(Table, LongRowsAreLeftOutWithANote) {
  const std::string text = "a,b\n1,2\n" + std::string(100'000, '7') + ",1\n3,4\n";
  EXPECT_THAT(csv(text), ElementsAre("a@1=1", "b@1=2", "a@2=3", "b@2=4"));
  EXPECT_THAT(notes(SourceFormat::csv, text), ElementsAre(HasSubstr("64 KiB")));
}

TEST(Table, CaseK3_RowsWithoutAStepAreNumbered) {
  EXPECT_THAT(csv("loss,acc\n3,\n2,7\n,8\n1,\n"),
              ElementsAre("loss@1=3", "loss@2=2", "acc@1=7", "acc@2=8", "loss@3=1"));
}

}  // namespace
}  // namespace seedbed
