#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "env/posix/process_tree.h"
#include "launchers/launcher_world_test.h"
#include "launchers/shim_link.h"
#include "protocol/exit_record_text.h"

namespace seedbed {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr AttemptId kFirst{1, 1};

class LocalAdopt : public LauncherWorld {
 protected:
  // Runs until told by the file `go`, then says so and ends with 5.
  LaunchOrder patient(AttemptId attempt, SlotNumber slot = 0) {
    return shell(attempt,
                 "echo run >> runs; while [ ! -e go ]; do sleep 0.01; done; echo loss=1; exit 5",
                 slot);
  }
  void let_go() { ASSERT_TRUE(write_file(dir / "go", "")); }
  ProcessIdentity start_patient() {
    launcher->start(patient(kFirst));
    until_news("running 1.1");
    until([&] { return path_exists(dir / "runs"); });
    return news->processes[kFirst];
  }
  std::string runs() { return contents(dir / "runs"); }
};

TEST_F(LocalAdopt, CaseD5_ARunningTrialIsFoundAgainAndItsResultRecorded) {
  const ProcessIdentity before = start_patient();
  restart();
  launcher->adopt({open_started(kFirst, before)});
  until_news("running 1.1");
  EXPECT_EQ(news->processes[kFirst], before);
  let_go();
  until_news("tree_gone 1.1");
  EXPECT_THAT(news->all, ElementsAre("running 1.1", "ended 1.1 exited 5", "tree_gone 1.1"));
  EXPECT_EQ(runs(), "run\n");
}

TEST_F(LocalAdopt, CaseD5_AControllerKilledBySignal9LosesNoTrial) {
  int ready[2];
  ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
  launcher.reset();
  const pid_t controller = ::fork();
  if (controller == 0) {
    loop = make_posix_event_loop();
    restart();
    for (TrialNumber trial = 1; trial <= 4; ++trial) {
      launcher->start(patient({trial, 1}, static_cast<SlotNumber>(trial)));
    }
    until([&] { return news->count("running") == 4; });
    for (TrialNumber trial = 1; trial <= 4; ++trial) {
      const ProcessIdentity& process = news->processes[{trial, 1}];
      if (::write(ready[1], &process.pid, sizeof process.pid) < 0) ::_exit(1);
      if (::write(ready[1], &process.start_ticks, sizeof process.start_ticks) < 0) ::_exit(1);
    }
    for (;;) ::pause();
  }
  std::vector<OpenAttempt> open;
  for (TrialNumber trial = 1; trial <= 4; ++trial) {
    ProcessIdentity process{0, 0, boot_id(), host_name()};
    ASSERT_EQ(::read(ready[0], &process.pid, sizeof process.pid), 8);
    ASSERT_EQ(::read(ready[0], &process.start_ticks, sizeof process.start_ticks), 8);
    open.push_back(open_started({trial, 1}, process, static_cast<SlotNumber>(trial)));
  }
  ::kill(controller, SIGKILL);
  ::waitpid(controller, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);
  restart();
  launcher->adopt(open);
  until([&] { return news->count("running") == 4; });
  let_go();
  until([&] { return news->count("tree_gone") == 4; });
  for (TrialNumber trial = 1; trial <= 4; ++trial) {
    EXPECT_TRUE(news->has("ended " + std::to_string(trial) + ".1 exited 5"));
  }
  EXPECT_EQ(news->count("lost"), 0U);
  until([&] {
    const auto text = read_file(dir / "runs");
    return text && text->size() == 16;
  });
  EXPECT_EQ(runs(), "run\nrun\nrun\nrun\n") << "never two copies of one trial";
}

TEST_F(LocalAdopt, ATrialThatEndedWithoutAControllerIsToldByItsShim) {
  const ProcessIdentity before = start_patient();
  launcher.reset();
  let_go();
  until([&] { return path_exists(file(kFirst, ".exit")); });
  restart();
  launcher->adopt({open_started(kFirst, before)});
  until_news("tree_gone 1.1");
  EXPECT_TRUE(news->has("ended 1.1 exited 5"));
  run(shell({2, 1}, "echo next"));  // the same shim goes on
  EXPECT_EQ(shims().size(), 1U);
  EXPECT_EQ(log_of({2, 1}), "next\n");
}

TEST_F(LocalAdopt, ATrialWhoseShimHasLeftIsToldByItsExitRecord) {
  const ProcessIdentity before = start_patient();
  launcher.reset();
  let_go();
  until([&] { return path_exists(file(kFirst, ".exit")); });
  for (const std::int64_t shim : shims()) ::kill(static_cast<pid_t>(shim), SIGKILL);
  until([&] { return shims().empty(); });
  restart();
  launcher->adopt({open_started(kFirst, before)});
  until_news("tree_gone 1.1");
  EXPECT_THAT(news->all, ElementsAre("ended 1.1 exited 5", "tree_gone 1.1"));
}

TEST_F(LocalAdopt, AnAdoptedTrialCanBeStopped) {
  const ProcessIdentity before = start_patient();
  restart();
  launcher->adopt({open_started(kFirst, before)});
  launcher->stop(kFirst, false);  // asked before the shim was reached
  until_news("tree_gone 1.1");
  EXPECT_TRUE(news->has("ended 1.1 stopped 15"));
  EXPECT_FALSE(alive(before.pid));
}

TEST_F(LocalAdopt, AnAdoptedTrialCanBePruned) {
  const ProcessIdentity before = start_patient();
  restart();
  launcher->adopt({open_started(kFirst, before)});
  until_news("running 1.1");
  launcher->stop(kFirst, true);
  until_news("tree_gone 1.1");
  EXPECT_TRUE(news->has("ended 1.1 pruned 15"));
}

TEST_F(LocalAdopt, AnAdoptedTrialCanBeKilled) {
  const ProcessIdentity before = start_patient();
  restart();
  launcher->adopt({open_started(kFirst, before)});
  launcher->kill(kFirst);
  until_news("tree_gone 1.1");
  EXPECT_TRUE(news->has("ended 1.1 stopped 9"));
}

TEST_F(LocalAdopt, ARecordedEndIsNotToldTwiceOnlyItsTree) {
  launcher->start(shell(kFirst,
                        "trap '' TERM; (trap '' TERM; while [ ! -e go ]; do sleep 0.01; "
                        "done) & exit 0"));
  until_news("ended 1.1");
  OpenAttempt one = open_started(kFirst, news->processes[kFirst]);
  one.ended = true;
  restart();
  launcher->adopt({one});
  let_go();
  until_news("tree_gone 1.1");
  EXPECT_THAT(news->all, ElementsAre("tree_gone 1.1"));
}

TEST_F(LocalAdopt, APlannedAttemptThatNobodyClaimedIsVoided) {
  ASSERT_TRUE(make_directories(trial_dir(kFirst)));
  launcher->adopt({open(kFirst)});
  until_news("unclaimed 1.1");
  EXPECT_TRUE(path_exists(file(kFirst, ".log")));
  // Whoever comes late with the old order finds the claim taken.
  launcher->start(shell(kFirst, "touch ran"));
  until([&] { return news->count("unclaimed") == 2; });
  EXPECT_FALSE(path_exists(dir / "ran"));
}

TEST_F(LocalAdopt, APlannedAttemptWithoutAFolderIsVoidedToo) {
  launcher->adopt({open(kFirst)});
  until_news("unclaimed 1.1");
}

TEST_F(LocalAdopt, AnOrderThatWasStillUnderWayIsEitherStartedOrVoidedNeverBoth) {
  for (std::uint32_t i = 1; i <= 20; ++i) {
    const AttemptId attempt{7, i};
    launcher->start(shell(attempt, "echo x >> runs"));
    restart();
    launcher->adopt({open(attempt)});
    until([&] {
      return news->has("unclaimed " + attempt.text()) || news->has("tree_gone " + attempt.text());
    });
    const auto written = read_file(dir / "runs");
    const std::size_t runs = written ? written->size() / 2 : 0;
    if (news->has("unclaimed " + attempt.text())) {
      EXPECT_EQ(runs, 0U);
    } else {
      EXPECT_EQ(runs, 1U);
      EXPECT_TRUE(news->has("ended " + attempt.text() + " exited 0"));
    }
    ::unlink((dir / "runs").c_str());
  }
}

TEST_F(LocalAdopt, StartedButNothingToBeFoundIsLost) {
  ASSERT_TRUE(make_directories(trial_dir(kFirst)));
  ASSERT_TRUE(write_file(file(kFirst, ".log"), "some output\n"));
  launcher->adopt({open_started(kFirst, {4'000'000, 77, boot_id(), host_name()})});
  until_news("tree_gone 1.1");
  EXPECT_THAT(news->all, ElementsAre("lost 1.1", "tree_gone 1.1"));
  EXPECT_EQ(log_of(kFirst), "some output\n");
}

TEST_F(LocalAdopt, ClaimedButNeverRecordedAsStartedIsLostToo) {
  ASSERT_TRUE(make_directories(trial_dir(kFirst)));
  ASSERT_TRUE(write_file(file(kFirst, ".log"), ""));
  launcher->adopt({open(kFirst)});
  until_news("lost 1.1");
}

TEST_F(LocalAdopt, AfterARebootNothingRuns) {
  ASSERT_TRUE(make_directories(trial_dir(kFirst)));
  // The pid exists, and even its start time fits: but it is of another boot.
  const std::uint64_t ticks = read_proc_stat(::getpid())->start_ticks;
  launcher->adopt({open_started(kFirst, {::getpid(), ticks, "an earlier boot", host_name()})});
  until_news("lost 1.1");
}

TEST_F(LocalAdopt, OnAnotherHostOnlyTheRecordCanTell) {
  ASSERT_TRUE(make_directories(trial_dir(kFirst)));
  ExitRecord record;
  record.attempt = {2, 1};
  record.outcome = {OutcomeKind::exited, 0, ""};
  ASSERT_TRUE(make_directories(trial_dir({2, 1})));
  ASSERT_TRUE(write_file(file({2, 1}, ".exit"), encode_exit_record(record)));
  launcher->adopt({open_started(kFirst, {1, 1, "boot", "elsewhere"}),
                   open_started({2, 1}, {1, 1, "boot", "elsewhere"}, 1)});
  until([&] { return news->count("tree_gone") == 2; });
  EXPECT_THAT(news->details[kFirst], HasSubstr("host elsewhere"));
  EXPECT_TRUE(news->has("ended 2.1 exited 0"));
}

TEST_F(LocalAdopt, ATornOrForeignExitRecordIsNoRecord) {
  ExitRecord record;
  record.attempt = {9, 9};
  const std::string foreign = encode_exit_record(record);
  record.attempt = kFirst;
  const std::string whole = encode_exit_record(record);
  TrialNumber trial = 1;
  for (const std::string& text : {whole.substr(0, whole.size() / 2), std::string(), foreign,
                                  std::string(whole.size(), '\0')}) {
    const AttemptId attempt{trial++, 1};
    ASSERT_TRUE(make_directories(trial_dir(attempt)));
    ASSERT_TRUE(write_file(file(attempt, ".log"), ""));
    ASSERT_TRUE(write_file(file(attempt, ".exit"), text));
    launcher->adopt({open_started(attempt, {4'000'000, 1, boot_id(), host_name()})});
    until_news("lost " + attempt.text());
  }
}

TEST_F(LocalAdopt, AStartThatFailedWithoutAControllerIsToldByItsRecord) {
  run(order(kFirst, {"./nosuch"}));
  launcher->leave();
  until([&] { return shims().empty(); });
  restart();
  launcher->adopt({open(kFirst)});
  until_news("tree_gone 1.1");
  EXPECT_THAT(news->all, ElementsAre("did_not_start 1.1", "tree_gone 1.1"));
  EXPECT_EQ(news->details[kFirst], dir / "nosuch: no such file");
}

TEST_F(LocalAdopt, AForeignSlotFileNamesNobody) {
  ASSERT_TRUE(make_directories(study + "/slots"));
  ASSERT_TRUE(write_file(study + "/slots/0", "rubbish"));
  launcher->adopt({open_started(kFirst, {4'000'000, 1, boot_id(), host_name()})});
  until_news("lost 1.1");
  run(shell({2, 1}, "echo ok"));
  EXPECT_EQ(log_of({2, 1}), "ok\n");
  EXPECT_TRUE(live_shim(study, 0));
}

TEST_F(LocalAdopt, TheShimOfAnEarlierControllerIsUsedAgainNotDoubled) {
  run(shell({1, 1}, "true"));
  const auto before = shims();
  restart();
  run(shell({2, 1}, "echo again"));
  EXPECT_EQ(log_of({2, 1}), "again\n");
  EXPECT_EQ(shims(), before);
}

TEST_F(LocalAdopt, OfTwoShimsForOneSlotTheSecondGoesAtOnceAndTheFirstIsUsed) {
  const ProcessIdentity before = start_patient();
  const auto first = shims();
  auto second = start_shim(SEEDBED_SHIM_PATH, study, 0, runtime + "/slot-0");
  ASSERT_TRUE(second);
  int status = 0;
  ASSERT_EQ(::waitpid(second->pid, &status, 0), second->pid);
  EXPECT_EQ(WEXITSTATUS(status), 1);
  EXPECT_EQ(shims(), first);
  EXPECT_EQ(live_shim(study, 0)->attempt, kFirst);
  restart();
  launcher->adopt({open_started(kFirst, before)});
  let_go();
  until_news("ended 1.1 exited 5");
}

TEST_F(LocalAdopt, AShimThatIsStillStartingWhenItsControllerIsKilledIsNoObstacle) {
  for (int i = 0; i < 10; ++i) {
    auto orphan = start_shim(SEEDBED_SHIM_PATH, study, 0, runtime + "/slot-0");
    ASSERT_TRUE(orphan);
    orphan->socket.reset();  // killed before it said a word
    restart();
    const AttemptId attempt{1, static_cast<std::uint32_t>(i + 1)};
    run(shell(attempt, "echo ok"));
    EXPECT_EQ(log_of(attempt), "ok\n");
    launcher->leave();
    until([&] { return shims().empty(); });
    ::waitpid(orphan->pid, nullptr, 0);
  }
}

TEST_F(LocalAdopt, AShimThatEndsAtOnceIsAnErrorNotAnEndlessLoop) {
  news = std::make_unique<News>();
  launcher = std::move(*make_local_launcher(*loop, *news, *log, study, {"/bin/true", runtime}));
  run(shell(kFirst, "true"));
  EXPECT_THAT(news->all, ElementsAre("did_not_start 1.1", "tree_gone 1.1"));
  EXPECT_THAT(news->details[kFirst], HasSubstr("/bin/true: ends at once"));
}

TEST_F(LocalAdopt, WhatNobodyWantsAnyMoreIsKilledBeforeItsSlotIsUsed) {
  const ProcessIdentity before = start_patient();
  restart();
  run(shell({2, 1}, "echo next"));  // this controller's records do not know 1.1
  EXPECT_FALSE(alive(before.pid));
  EXPECT_EQ(log_of({2, 1}), "next\n");
}

TEST_F(LocalAdopt, AShimThatCannotBeSpokenToIsAskedBySignalAndItsRecordRead) {
  const ProcessIdentity before = start_patient();
  launcher.reset();
  std::filesystem::remove_all(runtime);  // while it has no controller, and cannot listen again
  ASSERT_TRUE(write_file(runtime, "in the way"));
  news = std::make_unique<News>();
  auto made = make_local_launcher(*loop, *news, *log, study, {SEEDBED_SHIM_PATH, runtime});
  launcher = std::move(*made);
  launcher->adopt({open_started(kFirst, before)});
  until_news("tree_gone 1.1");
  EXPECT_THAT(news->all, ElementsAre("ended 1.1 stopped 15", "tree_gone 1.1"));
}

TEST_F(LocalAdopt, AShimListensAgainWhenItsSocketWasTidiedAway) {
  const ProcessIdentity before = start_patient();
  for (const auto& entry : std::filesystem::directory_iterator(runtime)) {
    std::filesystem::remove(entry.path());
  }
  restart();
  launcher->adopt({open_started(kFirst, before)});
  until_news("running 1.1");
  let_go();
  until_news("ended 1.1 exited 5");
}

TEST_F(LocalAdopt, WhenTheShimIsKilledItsMainProcessDiesAndTheTreeIsEnded) {
  // The escaped grandchild ignores TERM, sits in its own session, and outlives its parents.
  launcher->start(shell(kFirst,
                        "setsid sh -c \"trap '' TERM; echo up; while :; do sleep 0.02; "
                        "done\" & wait"));
  until_log(kFirst, "up");
  until_news("running 1.1");  // may come after the first output
  const ProcessIdentity main = news->processes[kFirst];
  const std::string token = contents("/proc/" + std::to_string(main.pid) + "/environ");
  const std::string assignment =
      token.substr(token.find("SEEDBED_TOKEN="), std::string::npos).c_str();
  EXPECT_GE(processes_with(assignment).size(), 2U);
  ASSERT_EQ(shims().size(), 1U);
  ::kill(static_cast<pid_t>(shims()[0]), SIGKILL);
  until_news("tree_gone 1.1");
  EXPECT_THAT(news->all, ElementsAre("running 1.1", "lost 1.1", "tree_gone 1.1"));
  EXPECT_FALSE(alive(main.pid));
  EXPECT_THAT(processes_with(assignment), IsEmpty());
  run(shell({2, 1}, "echo next"));
  EXPECT_EQ(log_of({2, 1}), "next\n");
}

TEST_F(LocalAdopt, AShimKilledWhileNobodyLookedLeavesALostTrialAndNoProcess) {
  launcher->start(shell(kFirst, "setsid sh -c \"echo up; while :; do sleep 0.02; done\" & wait"));
  until_log(kFirst, "up");
  until_news("running 1.1");  // may come after the first output
  const ProcessIdentity main = news->processes[kFirst];
  launcher.reset();
  ::kill(static_cast<pid_t>(shims()[0]), SIGKILL);
  until([&] { return shims().empty() && !alive(main.pid); });
  restart();
  launcher->adopt({open_started(kFirst, main)});
  until_news("tree_gone 1.1");
  EXPECT_THAT(news->all, ElementsAre("lost 1.1", "tree_gone 1.1"));
}

TEST_F(LocalAdopt, ShimsSurviveTheSignalsOfATerminal) {
  start_patient();
  for (const int signal : {SIGINT, SIGHUP, SIGQUIT, SIGTSTP, SIGPIPE, SIGUSR1}) {
    ::kill(static_cast<pid_t>(shims()[0]), signal);
  }
  let_go();
  until_news("tree_gone 1.1");
  EXPECT_TRUE(news->has("ended 1.1 exited 5"));
}

TEST_F(LocalAdopt, AShimAskedByTermEndsItsTreeInOrderAndLeaves) {
  start_patient();
  ::kill(static_cast<pid_t>(shims()[0]), SIGTERM);
  until_news("tree_gone 1.1");
  EXPECT_TRUE(news->has("ended 1.1 stopped 15"));
  until([&] { return shims().empty(); });
}

}  // namespace
}  // namespace seedbed
