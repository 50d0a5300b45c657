#include "cli/invocation.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "env/posix/files.h"
#include "env/posix/temporary_dir_test.h"

namespace seedbed {
namespace {

namespace fs = std::filesystem;

// A folder in which people stand, with studies in it.
class StudyWord : public testing::Test {
 protected:
  void SetUp() override {
    before_ = fs::current_path();
    fs::create_directories(folder_ / "here");
    here_ = canonical_path(folder_ / "here");
    fs::current_path(here_);
  }
  void TearDown() override { fs::current_path(before_); }

  std::string study(const std::string& dir) {
    fs::create_directories(dir);
    std::ofstream(dir + "/study.db") << "x";
    return canonical_path(dir);
  }

  // The word must lead to the study where it was made, without --dir.
  void expect_leads(const std::string& word, const std::string& study_dir) {
    Invocation invocation;
    invocation.study = word;
    const auto found = find_study(invocation);
    ASSERT_TRUE(found) << word << ": " << found.error().message;
    EXPECT_EQ(*found, study_dir) << word;
  }

  void expect_word(const std::string& dir, const std::string& word) {
    const std::string study_dir = study(dir);
    EXPECT_EQ(study_word(study_dir), word);
    expect_leads(study_word(study_dir), study_dir);
  }

  TemporaryDir folder_;
  std::string here_;
  fs::path before_;
};

TEST_F(StudyWord, IsTheNameWhereTheNameFindsIt) {
  expect_word("studies/digits", "digits");
  expect_word("studies/two words", "two words");
}

TEST_F(StudyWord, IsAPathForAStudyUnderAnotherFolder) {
  expect_word("out/digits", "out/digits");
  expect_word(folder_ / "elsewhere/digits", canonical_path(folder_ / "elsewhere/digits"));
}

TEST_F(StudyWord, IsNoNameThatLeadsToAnotherStudy) {
  study("studies/digits");
  expect_word("out/digits", "out/digits");
  study("studies/out/digits");  // a word with a slash is a path first
  expect_word("out/digits", "out/digits");
}

TEST_F(StudyWord, IsNeverTakenForAnOption) {
  expect_word("studies/-x", "studies/-x");
  expect_word("-out/x", here_ + "/-out/x");
}

TEST_F(StudyWord, ThroughALinkTheNameStillFindsIt) {
  const std::string real = study(folder_ / "disk/digits");
  fs::create_directory_symlink(folder_ / "disk", "studies");
  EXPECT_EQ(study_word(real), "digits");
  expect_leads("digits", real);
}

}  // namespace
}  // namespace seedbed
