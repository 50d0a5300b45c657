// Replays the corpora of the fuzzers of this room: what once was found stays fixed.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "study/reader_fuzz.h"

namespace seedbed {
namespace {

void replay(const std::string& name, void (*check)(std::string_view), std::size_t least) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator("tests/fuzz/corpus/" + name)) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  ASSERT_GE(files.size(), least);
  for (const std::filesystem::path& file : files) {
    SCOPED_TRACE(file.string());
    std::ifstream in(file, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    check(text);  // aborts on a broken invariant
  }
}

TEST(ReaderCorpus, SweepFile) { replay("sweep_file", reader_fuzz::sweep_file, 14); }
TEST(ReaderCorpus, Word) { replay("word", reader_fuzz::word, 19); }
TEST(ReaderCorpus, CsvTrials) { replay("csv_trials", reader_fuzz::csv, 6); }
TEST(ReaderCorpus, Expression) { replay("expression", reader_fuzz::expression, 6); }

}  // namespace
}  // namespace seedbed
