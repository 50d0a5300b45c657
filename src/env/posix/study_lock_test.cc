#include "env/posix/study_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/local_time.h"
#include "env/posix/identity.h"
#include "env/posix/temporary_dir_test.h"

namespace seedbed {
namespace {

using ::testing::HasSubstr;

StudyLock::Options options(const std::string& command = "seedbed run a.yaml") {
  return {command, Timestamp{1'800'000'000'000}, false};
}

LockHolder dead_holder_here() {
  LockHolder holder;
  holder.pid = 4'000'000;  // above every pid_max in use
  holder.start_ticks = 12;
  holder.boot_id = boot_id();
  holder.host = host_name();
  holder.since = "2026-01-31T12:00:00.000Z";
  holder.command = "seedbed run old.yaml";
  return holder;
}

TEST(StudyLock, CaseI17_TheSecondControllerIsToldWhoWhereAndSinceWhen) {
  TemporaryDir dir;
  const auto first = StudyLock::acquire(dir.path(), options());
  ASSERT_TRUE(first) << first.error().message;
  const auto second = StudyLock::acquire(dir.path(), options("seedbed run again"));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::in_use);
  for (const std::string& part : {"PID " + std::to_string(::getpid()), "host " + host_name(),
                                  "since " + format_local_time(Timestamp{1'800'000'000'000}),
                                  std::string("seedbed run a.yaml"), std::string("seedbed attach"),
                                  std::string("seedbed add")}) {
    EXPECT_THAT(second.error().message, HasSubstr(part));
  }
}

TEST(StudyLock, ARefusedSecondDoesNotDisturbTheFirst) {
  TemporaryDir dir;
  const auto first = StudyLock::acquire(dir.path(), options());
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(StudyLock::acquire(dir.path(), options()));
  EXPECT_EQ(StudyLock::holder(dir.path())->command, "seedbed run a.yaml");
}

TEST(StudyLock, AReleasedLockIsFreeAndRemembersNobody) {
  TemporaryDir dir;
  { ASSERT_TRUE(StudyLock::acquire(dir.path(), options())); }
  EXPECT_FALSE(StudyLock::holder(dir.path()));
  const auto again = StudyLock::acquire(dir.path(), options());
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->previous());
}

TEST(StudyLock, CaseI17_TheLockOfADeadProcessOfThisHostIsTakenOver) {
  TemporaryDir dir;
  ASSERT_TRUE(write_file(dir / "seedbed.lock", encode_lock(dead_holder_here())));
  EXPECT_FALSE(StudyLock::holder(dir.path()));
  const auto lock = StudyLock::acquire(dir.path(), options());
  ASSERT_TRUE(lock) << lock.error().message;
  EXPECT_EQ(lock->previous(), dead_holder_here());
}

TEST(StudyLock, ALivePidWithAnotherStartTimeIsAnotherProcess) {
  TemporaryDir dir;
  LockHolder holder = dead_holder_here();
  holder.pid = ::getppid();
  holder.start_ticks = 1;
  ASSERT_TRUE(write_file(dir / "seedbed.lock", encode_lock(holder)));
  EXPECT_TRUE(StudyLock::acquire(dir.path(), options()));
}

TEST(StudyLock, ALiveHolderWhoseLockCannotBeSeenStillCounts) {
  TemporaryDir dir;
  LockHolder holder = dead_holder_here();
  holder.pid = ::getppid();
  holder.start_ticks = read_proc_stat(holder.pid)->start_ticks;
  ASSERT_TRUE(write_file(dir / "seedbed.lock", encode_lock(holder)));
  const auto lock = StudyLock::acquire(dir.path(), options());
  ASSERT_FALSE(lock);
  EXPECT_EQ(lock.error().code, ErrorCode::in_use);
}

TEST(StudyLock, CaseI17_AHolderOnAnotherHostYieldsOnlyWhenForced) {
  TemporaryDir dir;
  LockHolder holder = dead_holder_here();
  holder.host = "elsewhere";
  ASSERT_TRUE(write_file(dir / "seedbed.lock", encode_lock(holder)));
  const auto refused = StudyLock::acquire(dir.path(), options());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("host elsewhere"));
  EXPECT_THAT(refused.error().message, HasSubstr("--take-over"));
  EXPECT_TRUE(StudyLock::holder(dir.path()));  // the refused one changed nothing
  auto forced = options();
  forced.take_over = true;
  EXPECT_TRUE(StudyLock::acquire(dir.path(), forced));
}

TEST(StudyLock, TheLockOfAKilledControllerIsFreeAtOnce) {
  TemporaryDir dir;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lock = StudyLock::acquire(dir.path(), options("seedbed run child"));
    const char answer = lock ? 'y' : 'n';
    if (::write(ready[1], &answer, 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  char answer = 0;
  ASSERT_EQ(::read(ready[0], &answer, 1), 1);
  ASSERT_EQ(answer, 'y');
  EXPECT_FALSE(StudyLock::acquire(dir.path(), options()));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  const auto lock = StudyLock::acquire(dir.path(), options());
  ASSERT_TRUE(lock);
  ASSERT_TRUE(lock->previous());
  EXPECT_EQ(lock->previous()->pid, child);
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(StudyLock, AForeignOrTornTextIsNobody) {
  EXPECT_FALSE(decode_lock(""));
  EXPECT_FALSE(decode_lock("pid=12\n"));
  EXPECT_FALSE(decode_lock("seedbed_lock=1\npid=\n"));
  const std::string whole = encode_lock(dead_holder_here());
  EXPECT_EQ(decode_lock(whole), dead_holder_here());
}

TEST(StudyLock, AMissingFolderIsAnErrorOfTheMachine) {
  const auto lock = StudyLock::acquire("/no/such/study", options());
  ASSERT_FALSE(lock);
  EXPECT_EQ(lock.error().code, ErrorCode::machine);
}

TEST(Identity, AZombieAndAReusedPidAreNotRunning) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  const auto stat = read_proc_stat(child);
  ASSERT_TRUE(stat);
  EXPECT_TRUE(stat->ended());
  EXPECT_EQ(stat->parent, ::getpid());
  EXPECT_FALSE(is_running(child, stat->start_ticks, boot_id()));
  ::waitpid(child, nullptr, 0);
  const auto self = read_proc_stat(::getpid());
  EXPECT_TRUE(is_running(::getpid(), self->start_ticks, boot_id()));
  EXPECT_FALSE(is_running(::getpid(), self->start_ticks + 1, boot_id()));
  EXPECT_FALSE(is_running(::getpid(), self->start_ticks, "another boot"));
}

TEST(Identity, ACommandNameCannotForgeItsStat) {
  const auto stat =
      parse_proc_stat("77 (a) Z 1 (b\n) S 5 0 0 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 987654 0 0");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->parent, 5);
  EXPECT_EQ(stat->start_ticks, 987654U);
  EXPECT_FALSE(parse_proc_stat(""));
  EXPECT_FALSE(parse_proc_stat("77 (a) S 1 2 3"));
  EXPECT_FALSE(parse_proc_stat("77 (a) S x 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"));
}

}  // namespace
}  // namespace seedbed
