#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launchers/launcher_world_test.h"
#include "protocol/exit_record_text.h"

namespace seedbed {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr AttemptId kFirst{1, 1};

class LocalStart : public LauncherWorld {
 protected:
  void write_script(const std::string& name, const std::string& text, mode_t mode = 0755) {
    ASSERT_TRUE(write_file(dir / name, text));
    ASSERT_EQ(::chmod((dir / name).c_str(), mode), 0);
  }
  // The words for a start that fails.
  std::string failure_of(std::vector<std::string> argv) {
    const AttemptId attempt{++trials_, 1};
    run(order(attempt, std::move(argv)));
    EXPECT_THAT(news->of(attempt.text()),
                ElementsAre("did_not_start " + attempt.text(), "tree_gone " + attempt.text()));
    return news->details[attempt];
  }
  TrialNumber trials_ = 100;
};

TEST_F(LocalStart, APlainAttemptGivesItsNewsInOrderAndItsRecord) {
  launcher->start(shell(kFirst, "echo out; echo err >&2; exit 3"));
  until_news("tree_gone 1.1");
  EXPECT_THAT(news->all, ElementsAre("running 1.1", "ended 1.1 exited 3", "tree_gone 1.1"));
  EXPECT_EQ(log_of(kFirst), "out\nerr\n");
  const auto record = decode_exit_record(contents(file(kFirst, ".exit")));
  ASSERT_TRUE(record);
  EXPECT_EQ(*record, news->records[kFirst]);
  EXPECT_EQ(record->process, news->processes[kFirst]);
  EXPECT_EQ(record->process.boot_id, boot_id());
  EXPECT_EQ(record->process.host, host_name());
  EXPECT_EQ(record->log_bytes, 8U);
  EXPECT_GT(record->peak_memory, 100'000U);
  EXPECT_FALSE(record->stop_asked);
  EXPECT_GE(record->ended_ms, record->started_ms);
}

TEST_F(LocalStart, StartTimesAreThoseOfTheKernel) {
  for (std::uint32_t i = 1; i <= 20; ++i) {
    const AttemptId attempt{1, i};
    launcher->start(shell(attempt, "cat /proc/self/stat; cut -d' ' -f22 /proc/$$/stat"));
    until_news("tree_gone " + attempt.text());
    EXPECT_THAT(log_of(attempt),
                HasSubstr("\n" + std::to_string(news->processes[attempt].start_ticks) + "\n"));
  }
}

TEST_F(LocalStart, AttemptsOfOneSlotRunOneAfterAnotherInOneShim) {
  for (TrialNumber trial = 1; trial <= 3; ++trial) {
    launcher->start(shell({trial, 1}, "echo $PPID"));
  }
  until_news("tree_gone 3.1");
  EXPECT_THAT(news->all, ElementsAre("running 1.1", "ended 1.1 exited 0", "tree_gone 1.1",
                                     "running 2.1", "ended 2.1 exited 0", "tree_gone 2.1",
                                     "running 3.1", "ended 3.1 exited 0", "tree_gone 3.1"));
  EXPECT_EQ(log_of({1, 1}), log_of({3, 1}));
  EXPECT_EQ(shims().size(), 1U);
}

TEST_F(LocalStart, SlotsRunSideBySide) {
  // Each waits for the other's file.
  launcher->start(shell({1, 1}, "touch a; while [ ! -e b ]; do sleep 0.01; done", 0));
  launcher->start(shell({2, 1}, "touch b; while [ ! -e a ]; do sleep 0.01; done", 1));
  until([&] { return news->has("tree_gone 1.1") && news->has("tree_gone 2.1"); });
}

TEST_F(LocalStart, ArgumentsAndVariablesArriveUnchanged) {
  const std::vector<std::string> odd = {"a b", "it's", "$HOME",    "`id`",     "*",
                                        "",    "\n",   "\xff\xfe", "--x=-1e-3"};
  std::vector<std::string> argv = {"/usr/bin/python3", "-c",
                                   "import os,sys; print([os.fsencode(a) for a in sys.argv[1:]]); "
                                   "print(sorted(k for k in os.environb)); "
                                   "print(os.environb[b'ODD'])"};
  argv.insert(argv.end(), odd.begin(), odd.end());
  LaunchOrder one = order(kFirst, argv);
  one.environment = {"ODD=x=\xff y", "SEEDBED_TOKEN=of a surrounding study", "LC_ALL=C.UTF-8"};
  run(one);
  EXPECT_EQ(log_of(kFirst),
            "[b'a b', b\"it's\", b'$HOME', b'`id`', b'*', b'', b'\\n', b'\\xff\\xfe', "
            "b'--x=-1e-3']\n[b'LC_ALL', b'ODD', b'SEEDBED_TOKEN']\nb'x=\\xff y'\n");
}

TEST_F(LocalStart, ItStandsInItsWorkingFolderInASessionOfItsOwn) {
  run(order(kFirst, {"/usr/bin/python3", "-c",
                     "import os; print(os.getcwd()); print(os.getsid(0) == os.getpid())"}));
  EXPECT_EQ(log_of(kFirst), dir.path() + "\nTrue\n");
}

TEST_F(LocalStart, ItIsBoundToItsCores) {
  LaunchOrder one = order(
      kFirst, {"/usr/bin/python3", "-c", "import os; print(sorted(os.sched_getaffinity(0)))"});
  one.allocation.cores = {0};
  run(one);
  EXPECT_EQ(log_of(kFirst), "[0]\n");
}

TEST_F(LocalStart, ACoreThatIsNotThereIsNotedAndDoesNotStopIt) {
  LaunchOrder one = shell(kFirst, "echo ran");
  one.allocation.cores = {8000};
  run(one);
  EXPECT_EQ(log_of(kFirst), "ran\n");
  ASSERT_EQ(news->notes[kFirst].size(), 1U);
  EXPECT_THAT(news->notes[kFirst][0], HasSubstr("could not be bound"));
}

TEST_F(LocalStart, SignalsArePlainWhateverTheControllerIgnores) {
  ::signal(SIGHUP, SIG_IGN);
  ::signal(SIGPIPE, SIG_IGN);
  run(order(kFirst, {"/bin/grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"}));
  ::signal(SIGHUP, SIG_DFL);
  ::signal(SIGPIPE, SIG_DFL);
  // Signals 32 and 33 belong to the C library: whoever started us may have them ignored.
  EXPECT_THAT(log_of(kFirst), ::testing::MatchesRegex("SigBlk:\t0000000000000000\n"
                                                      "SigIgn:\t0000000[01]80000000\n|"
                                                      "SigBlk:\t0000000000000000\n"
                                                      "SigIgn:\t0000000000000000\n"));
}

TEST_F(LocalStart, CaseD14_ATrialHasDescriptors0To2AndNoOther) {
  const Descriptor leaky(::open("/dev/zero", O_RDONLY));  // NOLINT: not close-on-exec on purpose
  run(order(kFirst, {"/usr/bin/python3", "-c",
                     "import os; print([os.readlink('/proc/self/fd/%d' % f) for f in "
                     "sorted(int(n) for n in os.listdir('/proc/self/fd'))[:-1]])"}));
  const std::string log_path = file(kFirst, ".log");
  EXPECT_EQ(log_of(kFirst), "['/dev/null', '" + log_path + "', '" + log_path + "']\n");
}

TEST_F(LocalStart, CaseD14_ManyAttemptsKeepOneDescriptorPerSlot) {
  const auto descriptors = [] {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry :
         std::filesystem::directory_iterator("/proc/self/fd")) {
      ++count;
    }
    return count;
  };
  run(order({100, 1}, {"/bin/true"}, 9));
  const std::size_t before = descriptors();
  for (TrialNumber trial = 1; trial <= 60; ++trial) {
    launcher->start(order({trial, 1}, {"/bin/true"}, static_cast<SlotNumber>(trial % 4)));
  }
  until([&] { return news->count("tree_gone") == 61; });
  EXPECT_LE(descriptors(), before + 4);
}

TEST_F(LocalStart, CaseD11_NoZombieIsLeftByAThousandTrials) {
  for (std::uint32_t done = 0; done < 1000; done += 100) {
    for (std::uint32_t i = done + 1; i <= done + 100; ++i) {
      launcher->start(shell({1, i}, i % 10 == 0 ? "true & true" : "true", i % 2));
    }
    until([&] { return news->count("tree_gone") == done + 100; });
  }
  const auto here = shims();
  ASSERT_EQ(here.size(), 2U);
  for (const std::int64_t shim : here) {
    const std::string path = "/proc/" + std::to_string(shim) + "/task/" + std::to_string(shim);
    EXPECT_EQ(contents(path + "/children"), "");
  }
  EXPECT_EQ(news->count("running"), 1000U);
}

TEST_F(LocalStart, CaseC4_AMillionBytesOnBothStreamsDoNotBlock) {
  run(order(kFirst, {"/usr/bin/python3", "-c",
                     "import sys; sys.stderr.write('e'*1000000); sys.stdout.write('o'*1000000)"}));
  EXPECT_EQ(log_of(kFirst), std::string(1'000'000, 'e') + std::string(1'000'000, 'o'));
}

TEST_F(LocalStart, CaseC4_ItHasEndedWhenItsMainProcessHasWhoeverHoldsItsOutput) {
  LaunchOrder one = shell(kFirst, "sleep 300 & echo started");
  launcher->start(one);
  until_news("ended 1.1");
  EXPECT_THAT(news->of("1.1"), ElementsAre("running 1.1", "ended 1.1 exited 0"));
  until_news("tree_gone 1.1");
}

TEST_F(LocalStart, WhatStillWritesWhenTheMainProcessEndsHasAMoment) {
  // The `tee` of a pipe, say, which ends by itself when it has written all.
  launcher->start(shell(kFirst,
                        "(trap 'date +%s%3N; exit 0' TERM; touch up; "
                        "while :; do sleep 0.005; done) 2> /dev/null & "
                        "while [ ! -e up ]; do sleep 0.005; done"));
  until_news("tree_gone 1.1");
  ASSERT_NE(log_of(kFirst), "");
  EXPECT_GE(std::stoll(log_of(kFirst)), news->records[kFirst].ended_ms + 150);
}

TEST_F(LocalStart, CaseC5_RawBytesAreKept) {
  run(order(kFirst, {"/usr/bin/printf", R"(caf\xe9 \xff\xfe\x00 loss=0.5\n\xc3)"}));
  EXPECT_EQ(log_of(kFirst), std::string("caf\xe9 \xff\xfe\0 loss=0.5\n\xc3", 19));
}

TEST_F(LocalStart, CaseD10_StandardInputIsAtItsEnd) {
  run(order({1, 1}, {"/usr/bin/python3", "-c", "print(input('continue? '))"}));
  EXPECT_TRUE(news->has("ended 1.1 exited 1"));
  EXPECT_THAT(log_of({1, 1}), HasSubstr("EOFError"));
  run(order({2, 1}, {"/bin/cat"}));
  EXPECT_TRUE(news->has("ended 2.1 exited 0"));
  run(order({3, 1}, {"/usr/bin/python3", "-c", "import pdb; pdb.set_trace()"}));
  EXPECT_TRUE(news->has("ended 3.1 exited 1"));
}

TEST_F(LocalStart, AClaimedAttemptIsNeverStartedAgain) {
  LaunchOrder one = shell(kFirst, "echo ran");
  ASSERT_TRUE(write_file(file(kFirst, ".log"), "of somebody\n"));
  run(one);
  EXPECT_THAT(news->all, ElementsAre("unclaimed 1.1"));
  EXPECT_EQ(log_of(kFirst), "of somebody\n");
  EXPECT_FALSE(path_exists(file(kFirst, ".exit")));
  run(shell({2, 1}, "echo ran"));  // the slot goes on
  EXPECT_EQ(log_of({2, 1}), "ran\n");
}

TEST_F(LocalStart, AnEndThatNobodyKnewOfIsFoundInTheFolder) {
  LaunchOrder one = shell(kFirst, "echo ran >> runs; exit 3");
  one.fingerprint = "same";
  run(one);
  restart();  // with a record that has lost it
  run(one);
  EXPECT_THAT(news->all, ElementsAre("ended 1.1 exited 3", "tree_gone 1.1"));
  EXPECT_THAT(news->notes[kFirst], ElementsAre(HasSubstr("found in its folder")));
  restart();
  one.fingerprint = "of another command";
  run(one);
  EXPECT_THAT(news->all, ElementsAre("unclaimed 1.1"));
  EXPECT_EQ(*read_file(dir / "runs"), "ran\n");
}

TEST_F(LocalStart, AnEndThatWasAskedForIsNotTakenOver) {
  LaunchOrder one = shell(kFirst, "sleep 1000");
  one.fingerprint = "same";
  launcher->start(one);
  until_news("running 1.1");
  launcher->stop(kFirst, false);
  until_news("tree_gone 1.1");
  restart();
  run(one);
  EXPECT_THAT(news->all, ElementsAre("unclaimed 1.1"));
}

TEST_F(LocalStart, OutcomesOfSignalsAndLimitsOfCodes) {
  run(shell({1, 1}, "kill -SEGV $$"));
  EXPECT_TRUE(news->has("ended 1.1 signalled 11"));
  run(shell({2, 1}, "exit 255"));
  EXPECT_TRUE(news->has("ended 2.1 exited 255"));
  run(shell({3, 1}, "kill -KILL $$"));
  EXPECT_TRUE(news->has("ended 3.1 signalled 9")) << "no proof of a kill for memory";
}

TEST_F(LocalStart, CaseD16_ACommandThatIsNotFound) {
  EXPECT_EQ(failure_of({"./nosuch"}), dir / "nosuch: no such file");
  EXPECT_THAT(failure_of({"nosuch-command"}),
              HasSubstr("nosuch-command: command not found along PATH (/usr/local/bin:"));
  write_script("here", "#!/bin/sh\n");
  EXPECT_THAT(failure_of({"here"}), HasSubstr("write ./here"));
  EXPECT_THAT(failure_of({"/dev/null/x"}), HasSubstr("not a folder"));
}

TEST_F(LocalStart, CaseD16_AFileWithoutExecutePermission) {
  write_script("train.py", "print(1)\n", 0644);
  EXPECT_THAT(failure_of({"./train.py"}), HasSubstr("train.py: no execute permission; chmod +x"));
}

TEST_F(LocalStart, CaseD16_AMissingInterpreter) {
  write_script("train.py", "#!/no/such/python\nprint(1)\n");
  EXPECT_THAT(failure_of({"./train.py"}),
              HasSubstr("train.py: its interpreter /no/such/python (first line) does not exist"));
}

TEST_F(LocalStart, CaseD16_WindowsLineEnds) {
  write_script("train.py", "#!/usr/bin/python3\r\nprint(1)\r\n");
  EXPECT_THAT(failure_of({"./train.py"}), HasSubstr("its lines end in CR LF"));
  write_script("env.py", "#!/usr/bin/env python3\r\nprint(1)\r\n");
  run(order(kFirst, {"./env.py"}));  // env itself starts, and fails
  EXPECT_TRUE(news->has("ended 1.1 exited 127"));
  EXPECT_THAT(news->records[kFirst].outcome.detail, HasSubstr("its lines end in CR LF"));
}

TEST_F(LocalStart, CaseD16_AFolder) {
  EXPECT_EQ(failure_of({dir.path()}), dir.path() + ": is a folder, not a program");
}

TEST_F(LocalStart, CaseD16_TextWithoutAFirstLineForTheSystem) {
  write_script("train.py", "print(1)\n");
  EXPECT_THAT(failure_of({"./train.py"}), HasSubstr("no `#!` in its first line"));
  write_script("empty", "");
  EXPECT_THAT(failure_of({"./empty"}), HasSubstr("empty: is empty"));
}

TEST_F(LocalStart, CaseD16_TheCauseIsInTheRecordAndInTheLogToo) {
  run(order(kFirst, {"./nosuch"}));
  const auto record = decode_exit_record(contents(file(kFirst, ".exit")));
  ASSERT_TRUE(record);
  EXPECT_EQ(record->outcome.kind, OutcomeKind::start_failed);
  EXPECT_EQ(record->outcome.detail, news->details[kFirst]);
  EXPECT_EQ(log_of(kFirst), "seedbed: " + news->details[kFirst] + "\n");
}

TEST_F(LocalStart, CaseA10_AnArgumentBeyondTheSystemsLimitIsExplained) {
  EXPECT_THAT(failure_of({"/bin/true", std::string(200'000, 'x')}), HasSubstr("128 KiB"));
}

TEST_F(LocalStart, AnOrderLargerThanAMessageIsRefused) {
  LaunchOrder one = shell(kFirst, "true");
  one.environment.assign(90, "X=" + std::string(100'000, 'x'));
  run(one);
  EXPECT_THAT(news->details[kFirst], HasSubstr("8 MiB"));
}

TEST_F(LocalStart, AnOrderLargerThanTheSocketsBufferArrives) {
  LaunchOrder one = shell(kFirst, "env | grep -c ^BIG");
  for (int i = 0; i < 15; ++i) {
    one.environment.push_back("BIG" + std::to_string(i) + "=" + std::string(100'000, 'x'));
  }
  run(one);
  EXPECT_EQ(log_of(kFirst), "15\n");
}

TEST_F(LocalStart, AMissingWorkingFolderIsNamed) {
  LaunchOrder one = shell(kFirst, "true");
  one.working_dir = dir / "gone";
  run(one);
  EXPECT_THAT(news->details[kFirst], StartsWith(dir / "gone: cannot be the working folder"));
}

TEST_F(LocalStart, AMissingTrialFolderIsNamed) {
  LaunchOrder one = shell(kFirst, "true");
  one.trial_dir = dir / "gone";
  run(one);
  EXPECT_THAT(news->details[kFirst], HasSubstr("gone/attempt-1.log: No such file"));
}

TEST_F(LocalStart, TheShimsNameTellsStudyAndSlot) {
  run(shell(kFirst, "true", 7));
  const auto here = shims();
  ASSERT_EQ(here.size(), 1U);
  const std::string line = contents("/proc/" + std::to_string(here[0]) + "/cmdline");
  EXPECT_EQ(line, std::string("seedbed-shim\0", 13) + study + std::string("\0slot\0007\0", 8));
}

TEST_F(LocalStart, FinishLetsIdleShimsGoAtOnceAndBusyOnesWhenTheyAreDone) {
  run(shell({1, 1}, "true", 0));
  launcher->start(shell({2, 1}, "while [ ! -e go ]; do sleep 0.01; done; echo done", 1));
  until_news("running 2.1");
  launcher->finish();
  until([&] { return shims().size() == 1; });
  ASSERT_TRUE(write_file(dir / "go", ""));
  until_news("tree_gone 2.1");
  until([&] { return shims().empty(); });
  EXPECT_EQ(log_of({2, 1}), "done\n");
}

TEST_F(LocalStart, ASlotsShimThatWasKilledWhileIdleIsReplaced) {
  run(shell({1, 1}, "true"));
  ASSERT_EQ(shims().size(), 1U);
  const std::int64_t before = shims()[0];
  ::kill(static_cast<pid_t>(before), SIGKILL);
  while (alive(before)) ::usleep(1000);  // the loop has not seen it yet
  run(shell({2, 1}, "echo never"));      // goes to the dead one: known not to have begun
  EXPECT_THAT(news->of("2.1"), ElementsAre("unclaimed 2.1"));
  run(shell({2, 2}, "echo second"));
  EXPECT_EQ(log_of({2, 2}), "second\n");
  EXPECT_NE(shims()[0], before);
}

TEST(FindShim, AMissingOneIsAnErrorWithARemedy) {
  ::setenv("SEEDBED_SHIM", "/no/such/shim", 1);
  const auto found = find_shim();
  ::unsetenv("SEEDBED_SHIM");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::machine);
  EXPECT_THAT(found.error().message, HasSubstr("/no/such/shim"));
}

}  // namespace
}  // namespace seedbed
