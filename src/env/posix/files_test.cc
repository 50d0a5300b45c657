#include "env/posix/files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "env/posix/runtime_dir.h"
#include "env/posix/temporary_dir_test.h"

namespace seedbed {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Files, WriteThenReadGivesTheSameBytes) {
  TemporaryDir dir;
  const std::string bytes("a\0b\xff\n", 5);
  ASSERT_TRUE(write_file(dir / "f", bytes));
  EXPECT_EQ(*read_file(dir / "f"), bytes);
}

TEST(Files, AReaderNeverSeesHalfOfAReplacedFile) {
  TemporaryDir dir;
  const std::string path = dir / "f";
  const std::string small(1000, 'a'), large(200'000, 'b');
  ASSERT_TRUE(write_file(path, small));
  std::thread writer([&] {
    for (int i = 0; i < 200; ++i) ASSERT_TRUE(write_file(path, i % 2 == 0 ? large : small));
  });
  for (int i = 0; i < 200; ++i) {
    const auto seen = read_file(path);
    ASSERT_TRUE(seen) << seen.error().message;
    EXPECT_TRUE(*seen == small || *seen == large) << seen->size();
  }
  writer.join();
}

TEST(Files, AFailedReplacementLeavesNothingBehind) {
  TemporaryDir dir;
  ASSERT_TRUE(make_directories(dir / "taken/inside"));
  EXPECT_FALSE(write_file(dir / "taken", "x"));  // a folder has that name
  int entries = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(dir.path())) {
    ++entries;
  }
  EXPECT_EQ(entries, 1);
}

TEST(Files, ReadRefusesMoreThanItsLimitAndNamesTheFile) {
  TemporaryDir dir;
  ASSERT_TRUE(write_file(dir / "big", std::string(101, 'x')));
  const auto read = read_file(dir / "big", 100);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("big"));
  EXPECT_TRUE(read_file(dir / "big", 101));
}

TEST(Files, AMissingFileIsAnErrorOfTheMachineWithItsPath) {
  const auto read = read_file("/no/such/file");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::machine);
  EXPECT_EQ(read.error().message, "/no/such/file: No such file or directory");
}

TEST(Files, CaseJ1_OfManyThatMakeOneFolderExactlyOneDid) {
  TemporaryDir dir;
  std::vector<std::thread> threads;
  std::atomic<int> made{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      const auto result = make_directory(dir / "same");
      if (result && *result) ++made;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, 1);
}

TEST(Files, ADescriptorIsClosedOnceAndMoves) {
  Descriptor first(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int number = first.get();
  Descriptor second = std::move(first);
  EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(second.get(), number);
  second.reset();
  EXPECT_EQ(::fcntl(number, F_GETFD), -1);
}

TEST(Files, CanonicalPathFollowsLinksAlsoForNamesThatAreMissing) {
  TemporaryDir dir;
  ASSERT_TRUE(make_directories(dir / "real"));
  ASSERT_EQ(::symlink((dir / "real").c_str(), (dir / "link").c_str()), 0);
  EXPECT_EQ(canonical_path(dir / "link/../link/new/"), canonical_path(dir / "real") + "/new");
}

class RuntimeDir : public ::testing::Test {
 protected:
  RuntimeDir() { ::chmod(dir.path().c_str(), 0700); }
  TemporaryDir dir;
};

TEST_F(RuntimeDir, IsPrivateAndTheSameForEveryNameOfAStudy) {
  ASSERT_TRUE(make_directories(dir / "study"));
  ASSERT_EQ(::symlink((dir / "study").c_str(), (dir / "link").c_str()), 0);
  const auto first = study_runtime_dir(dir / "study", dir.path(), "/nonexistent");
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(*first, *study_runtime_dir(dir / "link/", dir.path(), "/nonexistent"));
  EXPECT_NE(*first, *study_runtime_dir(dir / "other", dir.path(), "/nonexistent"));
  EXPECT_THAT(*first, StartsWith(dir / "seedbed/"));
  struct stat info {};
  ASSERT_EQ(::stat(first->c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700U);
}

TEST_F(RuntimeDir, FallsBackWhenTheUsersOneIsMissing) {
  const auto found = study_runtime_dir("/s", dir / "missing", dir.path());
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_THAT(*found, StartsWith(dir / "seedbed-"));
}

TEST_F(RuntimeDir, FallsBackWhenSocketPathsWouldBeTooLong) {
  const std::string deep = dir / (std::string(60, 'x') + "/" + std::string(20, 'y'));
  ASSERT_TRUE(make_directories(deep));
  const auto found = study_runtime_dir("/s", deep, dir.path());
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_LE(found->size() + 20, kSocketPathLimit);
}

TEST_F(RuntimeDir, RefusesAFolderThatOthersMayEnter) {
  const std::string base = dir / ("seedbed-" + std::to_string(::geteuid()));
  ASSERT_TRUE(make_directories(base));
  ::chmod(base.c_str(), 0755);
  const auto found = study_runtime_dir("/s", "", dir.path());
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr("chmod 700"));
}

TEST_F(RuntimeDir, RefusesALinkThatSomebodyPlanted) {
  ASSERT_TRUE(make_directories(dir / "elsewhere"));
  const std::string base = dir / ("seedbed-" + std::to_string(::geteuid()));
  ASSERT_EQ(::symlink((dir / "elsewhere").c_str(), base.c_str()), 0);
  EXPECT_FALSE(study_runtime_dir("/s", "", dir.path()));
}

TEST_F(RuntimeDir, RefusesAFolderOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to give a folder away";
  const std::string base = dir / "seedbed-0";
  ASSERT_TRUE(make_directory(base, 0700));
  ASSERT_EQ(::chown(base.c_str(), 65534, 65534), 0);
  const auto found = study_runtime_dir("/s", "", dir.path());
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr("belongs to user 65534"));
}

}  // namespace
}  // namespace seedbed
