// docs/reference/sweep-file.md says what the readers' tables say, and its examples work.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "study/reader_draft.h"
#include "study/word_reader.h"

namespace seedbed {
namespace {

std::string page() {
  std::ifstream in("docs/reference/sweep-file.md");
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

TEST(ReaderDocs, EveryKeyIsOnThePageWithItsMeaning) {
  const std::string text = page();
  ASSERT_FALSE(text.empty());
  for (const KeyDoc& doc : sweep_file_keys()) {
    const std::string row = "| `" + doc.key + "` | " + doc.meaning + " |\n";
    EXPECT_NE(text.find(row), std::string::npos) << doc.map << ": " << row;
  }
}

TEST(ReaderDocs, EveryFunctionOfTheWordsIsOnThePage) {
  const std::string text = page();
  for (const WordFunction& function : word_functions()) {
    if (function.name == "json_str") continue;  // deprecated in Hydra itself
    EXPECT_NE(text.find(std::string(function.name)), std::string::npos) << function.name;
  }
}

TEST(ReaderDocs, EveryExampleReads) {
  const std::string text = page();
  int examples = 0;
  for (std::size_t at = 0; (at = text.find("```yaml\n", at)) != std::string::npos;) {
    at += 8;
    const std::size_t end = text.find("```", at);
    StudySources sources;
    sources.file_name = "example.yaml";
    sources.file_text = text.substr(at, end - at);
    const Result<StudySpec> spec = read_study(sources, nullptr);
    EXPECT_TRUE(spec) << spec.error().message;
    ++examples;
    at = end;
  }
  EXPECT_GE(examples, 6);
}

TEST(ReaderDocs, EveryWordOfTheTableReads) {
  const std::string text = page();
  std::size_t at = text.find("| word | values |");
  ASSERT_NE(at, std::string::npos);
  const std::string table = text.substr(at, text.find("\n\n", at) - at);
  int words = 0;
  for (at = 0; (at = table.find('`', at)) != std::string::npos;) {
    const std::size_t end = table.find('`', at + 1);
    const std::string word = table.substr(at + 1, end - at - 1);
    at = end + 1;
    const bool is_word = word.size() > 1 && word.find('=') != std::string::npos && word != "\\" &&
                         word[0] != '\\' && word.find("start, stop") == std::string::npos;
    if (!is_word) continue;
    const Result<Dimension> dimension = read_word(word, 1);
    EXPECT_TRUE(dimension) << word << ": " << dimension.error().message;
    ++words;
  }
  EXPECT_GE(words, 20);
}

}  // namespace
}  // namespace seedbed
