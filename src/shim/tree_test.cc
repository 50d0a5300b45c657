#include "shim/tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "shim/system.h"

namespace seedbed::shim {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(PidsIn, AListThatWasCutDoesNotEndInTheBeginningOfANumber) {
  EXPECT_THAT(pids_in("13 4567 "), ElementsAre(13, 4567));
  EXPECT_THAT(pids_in("13 4567 45"), ElementsAre(13, 4567));
  EXPECT_THAT(pids_in("45"), IsEmpty());
  EXPECT_THAT(pids_in(""), IsEmpty());
  EXPECT_THAT(pids_in("0 -5 x 7 99999999999999 "), ElementsAre(7));
}

TEST(SmallFile, IsReadUpToItsEndOrTheLimit) {
  char path[] = "/tmp/seedbed-test-XXXXXX";
  const int file = ::mkstemp(path);
  ASSERT_GE(file, 0);
  const std::string text(50'000, 'x');
  ASSERT_EQ(write_all(file, text), 0);
  ::close(file);
  EXPECT_EQ(read_small_file(path).size(), 16384U);
  EXPECT_EQ(read_small_file(path, 100).size(), 100U);
  EXPECT_EQ(read_small_file(path, 50'000), text);
  EXPECT_EQ(read_small_file(path, 1 << 20), text);
  EXPECT_EQ(read_small_file("/tmp/seedbed-no-such-file"), "");
  ::unlink(path);
}

TEST(Tree, DescendantsAreFoundThroughTheGenerations) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const pid_t grandchild = ::fork();
    if (grandchild == 0) {
      for (;;) ::pause();
    }
    static_cast<void>(!::write(ready[1], &grandchild, sizeof grandchild));
    for (;;) ::pause();
  }
  pid_t grandchild = 0;
  ASSERT_EQ(::read(ready[0], &grandchild, sizeof grandchild),
            static_cast<ssize_t>(sizeof grandchild));
  EXPECT_THAT(children_of(::getpid()), Contains(child));
  EXPECT_THAT(children_of(::getpid()), Not(Contains(grandchild)));
  EXPECT_THAT(descendants_of(::getpid()), Contains(grandchild));
  ::kill(grandchild, SIGKILL);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace seedbed::shim
