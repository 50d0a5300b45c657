#include "env/posix/process_tree.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <thread>

#include "env/posix/identity.h"

namespace seedbed {
namespace {

pid_t start_with_token(const std::string& token, const char* command) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::setsid();
  const char* argv[] = {"sh", "-c", command, nullptr};
  const char* environment[] = {"PATH=/usr/bin:/bin", token.c_str(), "LAST=1", nullptr};
  ::execve("/bin/sh", const_cast<char**>(argv), const_cast<char**>(environment));
  ::_exit(127);
}

TEST(ProcessTree, CaseD1_FindsEveryHolderOfATokenWhateverItsSessionAndNobodyElse) {
  const std::string token = "SEEDBED_TEST_TOKEN=" + std::to_string(::getpid()) + ".1";
  const pid_t stubborn = start_with_token(token, "trap '' TERM; while :; do sleep 0.01; done");
  const pid_t bystander = start_with_token(token + "0", "exec sleep 4321");
  while (processes_with(token).empty()) ::usleep(1000);
  while (processes_with(token + "0").empty()) ::usleep(1000);
  EXPECT_GE(signal_processes_with(token, 0), 1U);
  std::thread reaper([&] { ::waitpid(stubborn, nullptr, 0); });
  while (signal_processes_with(token, SIGKILL) > 0) ::usleep(1000);
  reaper.join();
  EXPECT_EQ(processes_with(token + "0").size(), 1U) << "a longer token is another one";
  ::kill(bystander, SIGKILL);
  ::waitpid(bystander, nullptr, 0);
}

TEST(ProcessTree, AStoppedProcessHearsTerm) {
  const std::string token = "SEEDBED_TEST_TOKEN=" + std::to_string(::getpid()) + ".2";
  const pid_t child = start_with_token(token, "trap 'exit 5' TERM; kill -STOP $$; exit 6");
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
  ASSERT_TRUE(WIFSTOPPED(status));
  EXPECT_EQ(signal_processes_with(token, SIGTERM), 1U);
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 5);
}

void wait_for_zombie(pid_t pid) {
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT);
}

// Runs as process 1 of a PID namespace; the exit code says which step failed.
int reap_as_first_process() {
  if (::getpid() != 1) return 10;
  if (::mount("proc", "/proc", "proc", 0, nullptr) != 0) return 77;
  const pid_t parent = ::fork();
  if (parent == 0) {  // leaves an orphan behind, which comes to process 1
    if (::fork() == 0) ::_exit(0);
    ::_exit(0);
  }
  ::waitpid(parent, nullptr, 0);
  const pid_t own = ::fork();
  if (own == 0) ::_exit(9);
  wait_for_zombie(own);
  // The orphan's death is not ours to wait for here: look until it has been seen twice.
  OrphanReaper reaper;
  if (reaper.look() != 0) return 11;  // nothing is reaped at first sight
  int status = 0;
  if (::waitpid(own, &status, 0) != own || WEXITSTATUS(status) != 9) return 12;  // still ours
  int reaped = 0;
  for (int looks = 0; reaped == 0 && looks < 10'000; ++looks) {
    reaped += reaper.look();
    if (reaped == 0) ::usleep(1000);
  }
  if (reaped != 1) return 13;
  return ::waitpid(-1, nullptr, WNOHANG) == -1 ? 0 : 14;
}

TEST(OrphanReaper, CaseD11_AsProcess1OrphansAreReapedAndOwnChildrenLeftToTheirOwner) {
  const pid_t helper = ::fork();
  if (helper == 0) {
    if (::unshare(CLONE_NEWPID | CLONE_NEWNS) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
      ::_exit(77);
    }
    const pid_t first = ::fork();
    if (first == 0) ::_exit(reap_as_first_process());
    int status = 0;
    ::waitpid(first, &status, 0);
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 99);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(helper, &status, 0), helper);
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "needs the right to make a PID namespace";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(OrphanReaper, DoesNothingElsewhere) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(3);
  wait_for_zombie(child);
  OrphanReaper reaper;
  EXPECT_EQ(reaper.look() + reaper.look(), 0);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
}

}  // namespace
}  // namespace seedbed
