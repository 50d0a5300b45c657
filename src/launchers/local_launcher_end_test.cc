#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "launchers/launcher_world_test.h"

namespace seedbed {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr AttemptId kFirst{1, 1};

// Sleeps of odd lengths, so that a process is told from those of other tests.
std::string odd_sleep(int which) {
  return std::to_string(70'000 + which) + "." + std::to_string(::getpid());
}

class LocalEnd : public LauncherWorld {
 protected:
  [[nodiscard]] std::size_t sleepers(int which) const {
    return processes(std::string("sleep") + '\0' + odd_sleep(which)).size();
  }
  void until_sleepers(int which, std::size_t count) {
    until([&] { return sleepers(which) == count; });
  }
};

TEST_F(LocalEnd, CaseD1_StopEndsTheWholeTreeAndTheSlotIsFreeOnlyThen) {
  const std::string python = "import subprocess,time; [subprocess.Popen(['sleep','" + odd_sleep(1) +
                             "']) for _ in range(3)]; time.sleep(7777)";
  for (TrialNumber trial = 1; trial <= 4; ++trial) {
    launcher->start(order({trial, 1},
                          {"/bin/bash", "-c", "/usr/bin/python3 -c \"" + python + "\"; true"},
                          static_cast<SlotNumber>(trial)));
  }
  until_sleepers(1, 12);
  std::size_t left_at_tree_gone = 0;
  for (TrialNumber trial = 1; trial <= 4; ++trial) launcher->stop({trial, 1}, false);
  until([&] { return news->count("tree_gone") == 4; });
  left_at_tree_gone = sleepers(1);
  EXPECT_EQ(left_at_tree_gone, 0U);
  EXPECT_TRUE(news->has("ended 1.1 stopped 15"));
  EXPECT_TRUE(news->records[kFirst].stop_asked);
}

TEST_F(LocalEnd, AFrozenTreeStandsStillAndItsTimeLimitWaits) {
  LaunchOrder one = shell(kFirst, "(while :; do echo line; sleep 0.05; done) & wait");
  one.time_limit = Milliseconds(1000);
  launcher->start(one);
  until_log(kFirst, "line");
  launcher->freeze(kFirst, true);
  const auto stands_still = [&] {
    const auto pids = processes("echo line; sleep 0.05");
    return !pids.empty() && std::all_of(pids.begin(), pids.end(), [](std::int64_t pid) {
      const auto stat = read_proc_stat(pid);
      return stat && stat->state == 'T';
    });
  };
  until(stands_still);
  const std::string before = log_of(kFirst);
  // Twice its limit goes by: a limit that went on would end it in this time.
  bool over = false;
  loop->call_after(Milliseconds(2000), [&] { over = true; });
  until([&] { return over; });
  EXPECT_TRUE(stands_still());
  EXPECT_EQ(log_of(kFirst), before);
  EXPECT_FALSE(news->has("ended 1.1"));
  launcher->freeze(kFirst, false);
  until([&] { return log_of(kFirst).size() > before.size(); });
  until_news("tree_gone 1.1");
  EXPECT_TRUE(news->has("ended 1.1 timed_out 15"));
}

TEST_F(LocalEnd, AFrozenTreeIsStoppedLikeAnyOther) {
  launcher->start(shell(kFirst, "trap 'exit 3' TERM; while :; do sleep 0.05; done"));
  until_news("running 1.1");
  launcher->freeze(kFirst, true);
  launcher->stop(kFirst, false);
  until_news("tree_gone 1.1");
  EXPECT_TRUE(news->has("ended 1.1 stopped 3"));
}

TEST_F(LocalEnd, CaseD1_ChildrenOfOneThatExitsNormallyEndTooAndTheNextWaitsForThem) {
  launcher->start(shell({1, 1}, "for i in 1 2 3; do sleep " + odd_sleep(2) + " & done; exit 0"));
  launcher->start(shell({2, 1}, "true"));
  until_news("running 2.1");
  EXPECT_EQ(sleepers(2), 0U);
  EXPECT_THAT(std::vector<std::string>(news->all.begin(), news->all.begin() + 3),
              ElementsAre("running 1.1", "ended 1.1 exited 0", "tree_gone 1.1"));
}

TEST_F(LocalEnd, CaseD1_AStubbornGrandchildInASessionOfItsOwnIsKilledAtTheEndOfTheGrace) {
  LaunchOrder one = shell(kFirst, "setsid sh -c \"trap '' TERM HUP; echo up; sleep " +
                                      odd_sleep(3) + "; sleep " + odd_sleep(3) + "\" & wait");
  one.grace = Milliseconds(300);
  launcher->start(one);
  until_sleepers(3, 1);
  launcher->stop(kFirst, false);
  until_news("tree_gone 1.1");
  EXPECT_EQ(sleepers(3), 0U);
  EXPECT_TRUE(processes(odd_sleep(3)).empty());
}

TEST_F(LocalEnd, CaseD2_StoppingAShellReachesItsProgramAndNothingAfterItRuns) {
  launcher->start(shell({1, 1}, "sleep " + odd_sleep(4) + "; echo end", 0));
  launcher->start(shell({2, 1}, "sleep " + odd_sleep(5), 1));  // this shell becomes the sleep
  until([&] { return sleepers(4) == 1 && sleepers(5) == 1; });
  launcher->stop({1, 1}, false);
  launcher->stop({2, 1}, false);
  until([&] { return news->count("tree_gone") == 2; });
  EXPECT_EQ(sleepers(4) + sleepers(5), 0U);
  EXPECT_EQ(log_of({1, 1}), "");
}

TEST_F(LocalEnd, AProgramMayEndItsOwnWorkersWithinHalfOfTheGrace) {
  // The worker would say "worker asked" if it were asked directly.
  launcher->start(
      order(kFirst, {"/usr/bin/python3", "-u", "-c",
                     "import signal, subprocess, sys, time\n"
                     "w = subprocess.Popen(['/bin/sh', '-c', 'trap \"echo worker asked\" TERM; "
                     "while [ ! -e enough ]; do sleep 0.01; done; echo worker ended'])\n"
                     "def end(*_):\n"
                     "  open('enough', 'w'); w.wait(); print('saved'); sys.exit(0)\n"
                     "signal.signal(signal.SIGTERM, end)\n"
                     "print('ready')\n"
                     "while True: time.sleep(1)\n"}));
  until_log(kFirst, "ready");
  launcher->stop(kFirst, false);
  until_news("tree_gone 1.1");
  EXPECT_EQ(log_of(kFirst), "ready\nworker ended\nsaved\n");
  EXPECT_TRUE(news->has("ended 1.1 stopped 0"));
}

TEST_F(LocalEnd, TheStopFileIsThereForProgramsThatDoNotHearSignals) {
  launcher->start(shell(kFirst,
                        "trap '' TERM; echo ready; while [ ! -e trial/stop ]; do sleep 0.01; "
                        "done; echo saw it; exit 7"));
  ASSERT_EQ(::symlink(trial_dir(kFirst).c_str(), (dir / "trial").c_str()), 0);
  until_log(kFirst, "ready");
  EXPECT_FALSE(path_exists(trial_dir(kFirst) + "/stop"));
  launcher->stop(kFirst, false);
  until_news("tree_gone 1.1");
  EXPECT_EQ(log_of(kFirst), "ready\nsaw it\n");
  EXPECT_TRUE(news->has("ended 1.1 stopped 7"));
}

TEST_F(LocalEnd, APrunedOneHasItsOwnLongerGraceAndCountsAsPruned) {
  LaunchOrder one = shell(kFirst,
                          "trap '' TERM; echo ready; while [ ! -e go ]; do sleep 0.01; done; "
                          "echo last metric=1; exit 0");
  one.grace = Milliseconds(1);
  one.prune_grace = Milliseconds(400'000);
  launcher->start(one);
  until_log(kFirst, "ready");
  launcher->stop(kFirst, true);
  until([&] { return path_exists(trial_dir(kFirst) + "/stop"); });
  ASSERT_TRUE(write_file(dir / "go", ""));
  until_news("tree_gone 1.1");
  EXPECT_TRUE(news->has("ended 1.1 pruned 0"));
  EXPECT_THAT(log_of(kFirst), HasSubstr("last metric=1"));
}

TEST_F(LocalEnd, AnInterruptShortensTheGraceOfAPrunedOne) {
  LaunchOrder one = shell(kFirst, "trap '' TERM; echo ready; while :; do sleep 0.01; done");
  one.grace = Milliseconds(50);
  one.prune_grace = Milliseconds(600'000);
  launcher->start(one);
  until_log(kFirst, "ready");
  launcher->stop(kFirst, true);
  launcher->stop(kFirst, false);
  until_news("tree_gone 1.1");
  EXPECT_TRUE(news->has("ended 1.1 pruned 9"));
}

TEST_F(LocalEnd, KillDoesNotWaitForAnyGrace) {
  LaunchOrder one = shell(kFirst, "trap '' TERM; echo ready; while :; do sleep 0.01; done");
  one.grace = Milliseconds(600'000);
  launcher->start(one);
  until_log(kFirst, "ready");
  launcher->stop(kFirst, false);
  launcher->kill(kFirst);
  until_news("tree_gone 1.1");
  EXPECT_TRUE(news->has("ended 1.1 stopped 9"));
}

TEST_F(LocalEnd, AStoppedProcessHearsTheRequestToEnd) {
  launcher->start(shell(kFirst,
                        "trap 'echo asked; exit 4' TERM; echo ready; kill -STOP $$; "
                        "while :; do sleep 0.01; done"));
  until([&] {
    const auto stat = read_proc_stat(news->processes[kFirst].pid);
    return stat && stat->state == 'T';
  });
  launcher->stop(kFirst, false);
  until_news("tree_gone 1.1");
  EXPECT_TRUE(news->has("ended 1.1 stopped 4"));
}

TEST_F(LocalEnd, AWaitingOrderThatIsStoppedNeverBegins) {
  launcher->start(shell({1, 1}, "while [ ! -e go ]; do sleep 0.01; done"));
  launcher->start(shell({2, 1}, "touch ran"));
  until_news("running 1.1");
  launcher->stop({2, 1}, false);
  until_news("unclaimed 2.1");
  ASSERT_TRUE(write_file(dir / "go", ""));
  until_news("tree_gone 1.1");
  run(shell({3, 1}, "true"));
  EXPECT_FALSE(path_exists(dir / "ran"));
}

TEST_F(LocalEnd, StopAndKillOfUnknownAttemptsDoNothing) {
  launcher->stop({9, 9}, false);
  launcher->kill({9, 9});
  run(shell(kFirst, "true"));
  launcher->stop(kFirst, false);
  launcher->kill(kFirst);
  run(shell({2, 1}, "true"));
  EXPECT_TRUE(news->has("ended 2.1 exited 0"));
}

TEST_F(LocalEnd, CaseD9_TheWallTimeLimitEndsItWithItsChildren) {
  LaunchOrder one =
      shell(kFirst, "echo loss=1; sleep " + odd_sleep(6) + " & sleep " + odd_sleep(6) + "; true");
  one.time_limit = Milliseconds(3000);  // time to say so on a busy machine
  run(one);
  EXPECT_THAT(news->all, ElementsAre("running 1.1", "ended 1.1 timed_out 15", "tree_gone 1.1"));
  EXPECT_EQ(news->records[kFirst].outcome.detail, "time");
  EXPECT_GE(news->records[kFirst].wall_ms, 3000);
  EXPECT_EQ(sleepers(6), 0U);
  EXPECT_EQ(log_of(kFirst), "loss=1\n");
}

TEST_F(LocalEnd, CaseD9_SilenceEndsItAndOutputIsLife) {
  LaunchOrder one = shell(kFirst,
                          "for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.25; done; "
                          "sleep 100000; true");
  one.silence_limit = Milliseconds(1500);
  run(one);
  EXPECT_TRUE(news->has("ended 1.1 timed_out 15"));
  EXPECT_EQ(news->records[kFirst].outcome.detail, "silence");
  EXPECT_EQ(log_of(kFirst), "1\n2\n3\n4\n5\n6\n7\n8\n");
}

TEST_F(LocalEnd, CaseD9_AWatchedFileThatGrowsIsLife) {
  LaunchOrder one = shell(kFirst,
                          "for i in 1 2 3 4 5 6 7 8; do echo $i >> m.csv; sleep 0.25; "
                          "done; mv m.csv m2.csv; sleep 100000; true");
  one.silence_limit = Milliseconds(1500);
  one.watched_files = {dir / "m.csv"};
  run(one);
  EXPECT_TRUE(news->has("ended 1.1 timed_out 15"));
  EXPECT_GE(news->records[kFirst].wall_ms, 2000 + 1500);
}

TEST_F(LocalEnd, ALimitThatIgnoresTermIsKilledAfterTheGrace) {
  LaunchOrder one = shell(kFirst, "trap '' TERM; while :; do sleep 0.01; done");
  one.time_limit = Milliseconds(3000);  // time for the trap on a busy machine
  one.grace = Milliseconds(100);
  run(one);
  EXPECT_TRUE(news->has("ended 1.1 timed_out 9"));
}

TEST_F(LocalEnd, ALogOverItsLimitKeepsHeadAndTailAndGivesTheMiddleBack) {
  LaunchOrder one = order(kFirst, {"/usr/bin/python3", "-u", "-c",
                                   "import time\n"
                                   "print('head')\n"
                                   "for i in range(64):\n"
                                   "  print('x' * 65535)\n"
                                   "  if i % 16 == 15: time.sleep(0.3)\n"
                                   "print('tail')\n"});
  one.log_limit = 1 << 20;
  run(one);
  const std::string text = log_of(kFirst);
  EXPECT_TRUE(text.starts_with("head\nxxx")) << text.substr(0, 20);
  EXPECT_TRUE(text.ends_with("xxx\ntail\n"));
  EXPECT_EQ(text.size(), 64U * 65536 + 10);
  EXPECT_EQ(news->records[kFirst].log_bytes, text.size());
  ASSERT_EQ(news->notes[kFirst].size(), 1U) << "told once";
  struct stat info {};
  ASSERT_EQ(::stat(file(kFirst, ".log").c_str(), &info), 0);
  if (news->notes[kFirst][0].find("grows on") != std::string::npos) {
    GTEST_SKIP() << "this file system cannot cut files";
  }
  EXPECT_LE(info.st_blocks * 512, one.log_limit.value() + 65536);
}

TEST_F(LocalEnd, ALogUnderItsLimitIsLeftAlone) {
  LaunchOrder one = order(kFirst, {"/usr/bin/python3", "-c", "print('x' * 99999)"});
  one.log_limit = 100'000;
  run(one);
  EXPECT_EQ(log_of(kFirst), std::string(99'999, 'x') + "\n");
  EXPECT_TRUE(news->notes.empty());
}

TEST_F(LocalEnd, LeaveLetsTheShimsEndTheirTreesByThemselves) {
  launcher->start(shell(kFirst, "trap '' TERM; echo ready; while :; do sleep 0.01; done"));
  until_log(kFirst, "ready");
  until_news("running 1.1");  // may come after the first output
  launcher->leave();
  launcher.reset();
  until([&] { return shims().empty(); });
  EXPECT_FALSE(alive(news->processes[kFirst].pid));
  EXPECT_TRUE(path_exists(file(kFirst, ".exit")));
}

TEST_F(LocalEnd, UsageCountsTheTimeAndTheLargestProcess) {
  run(order(kFirst, {"/usr/bin/python3", "-c",
                     "import time\n"
                     "x = bytearray(100_000_000)\n"
                     "t = time.process_time()\n"
                     "while time.process_time() - t < 0.2: pass\n"}));
  EXPECT_GE(news->records[kFirst].cpu_ms, 200);
  EXPECT_LT(news->records[kFirst].cpu_ms, 5000);
  EXPECT_GT(news->records[kFirst].peak_memory, 100'000'000U);
  EXPECT_LT(news->records[kFirst].peak_memory, 200'000'000U);
}

}  // namespace
}  // namespace seedbed
