#include "base/outcome.h"

#include <gtest/gtest.h>

namespace seedbed {
namespace {

TEST(Outcome, IsDescribedInOneLineForPeople) {
  EXPECT_EQ(describe({OutcomeKind::exited, 3, ""}), "exit code 3");
  EXPECT_EQ(describe({OutcomeKind::signalled, 11, ""}), "killed by SIGSEGV (11)");
  EXPECT_EQ(describe({OutcomeKind::signalled, 250, ""}), "killed by signal 250");
  EXPECT_EQ(describe({OutcomeKind::timed_out, 0, "silence"}), "timed out (silence)");
  EXPECT_EQ(describe({OutcomeKind::start_failed, 0, "./x: no such file"}),
            "could not be started: ./x: no such file");
}

}  // namespace
}  // namespace seedbed
