#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "metrics/parser_check.h"

// The fuzzers' inputs as a unit test. The tests run in the root of the repository.

namespace seedbed {
namespace {

void replay(const std::string& name, SourceFormat format,
            const std::vector<CaptureSpec>& capture = {}) {
  const std::filesystem::path folder = "tests/fuzz/corpus/" + name;
  ASSERT_TRUE(std::filesystem::is_directory(folder)) << "not in the root of the repository";
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry);
  std::sort(files.begin(), files.end());
  EXPECT_GE(files.size(), 4u);
  for (const auto& file : files) {
    std::ifstream stream(file, std::ios::binary);
    const std::string data{std::istreambuf_iterator<char>(stream),
                           std::istreambuf_iterator<char>()};
    EXPECT_EQ(check_parser(format, capture, data), "") << file;
  }
}

TEST(Corpus, OutputLines) {
  replay("output_lines", SourceFormat::output_lines);
  replay("output_lines", SourceFormat::output_lines,
         {{"", R"(score (?P<score>\S+))", ""}, {"", R"(at (?P<step>\d+)( x (?P<x>\S+))?)", ""}});
}
TEST(Corpus, JsonLines) { replay("json_lines", SourceFormat::json_lines); }
TEST(Corpus, Tables) {
  replay("table_file", SourceFormat::csv);
  replay("table_file", SourceFormat::tsv);
}

}  // namespace
}  // namespace seedbed
