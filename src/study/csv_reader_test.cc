#include "study/csv_reader.h"

#include <gtest/gtest.h>

namespace seedbed {
namespace {

std::string show(const Result<ExplicitRows>& rows) {
  if (!rows) return rows.error().message.substr(0, rows.error().message.find('\n'));
  std::string text;
  for (const auto& row : rows->rows) {
    for (const Parameter& parameter : row) {
      text += parameter.name + "=" + std::string(kind_word(parameter.value.kind())) + ":" +
              parameter.value.spelling() + " ";
    }
    text += "\n";
  }
  return text;
}

std::string read(const std::string& csv) {
  ValueNotes notes;
  return show(read_csv_trials(SourceText("runs.csv", csv), notes));
}

TEST(CsvReader, EmptyCellIsAbsentQuotedEmptyIsEmptyText) {
  EXPECT_EQ(read("lr,tag\n1e-3,\"\"\n,a\n0.1,None\n"),
            "lr=real:1e-3 tag=text: \n"
            "lr=absent: tag=text:a \n"
            "lr=real:0.1 tag=text:None \n");
}

TEST(CsvReader, QuotesKeepCommasNewlinesAndQuotes) {
  EXPECT_EQ(read("a,b\n\"x, \"\"y\"\"\", \"1\" \n\"two\nlines\",2\n"),
            "a=text:x, \"y\" b=text:1 \n"
            "a=text:two\nlines b=integer:2 \n");
}

TEST(CsvReader, ToleratesLineEndsMarksBlanksAndOtherSeparators) {
  EXPECT_EQ(read("\xEF\xBB\xBF"
                 "a,b\r\n 1 , 2\r\n\r\n   \n3,4"),
            "a=integer:1 b=integer:2 \na=integer:3 b=integer:4 \n");
  EXPECT_EQ(read("a;b\n1;2\n"), "a=integer:1 b=integer:2 \n");
  EXPECT_EQ(read("a\tb\n1\t2,5\n"), "a=integer:1 b=text:2,5 \n");
  EXPECT_EQ(read("a\n1\n\n2\n"), "a=integer:1 \na=integer:2 \n");
}

TEST(CsvReader, ErrorsNameLineAndColumn) {
  EXPECT_EQ(read(""),
            "runs.csv:1:1: the first line is empty; it names the parameters, separated "
            "by commas");
  EXPECT_EQ(read("a,a\n"), "runs.csv:1:3: column `a` is there twice");
  EXPECT_EQ(read("a,\n1,2\n"),
            "runs.csv:1:3: in the header: the name is empty; the first line "
            "names the parameters");
  EXPECT_EQ(read("a,b\n1,2\n1,2,3\n"),
            "runs.csv:3:1: 3 cells in a table of 2 columns; a comma inside a value needs quotes "
            "around the value");
  EXPECT_EQ(read("a,b\n1,\"x\n"),
            "runs.csv:2:3: the quote is not closed; write \"\" for a quote "
            "inside");
  EXPECT_EQ(read("a,b\n1,\"x\"y\n"),
            "runs.csv:2:6: text after the closing quote; write \"\" for a "
            "quote inside a quoted cell");
  EXPECT_EQ(read("a,b\n"), "runs.csv: no trials below the header");
  EXPECT_EQ(read("a\n\xFF\n"), "runs.csv: this is not UTF-8 text; save it with the encoding UTF-8");
}

}  // namespace
}  // namespace seedbed
