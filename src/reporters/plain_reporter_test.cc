#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "reporters/progress.h"
#include "reporters/reporters_test_support.h"

namespace seedbed {
namespace {

using testing::expect_golden;
using testing::fixed_tail;
using testing::MemoryOutput;
using testing::Story;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

ReportFacts facts(std::optional<std::uint64_t> total = {}) {
  ReportFacts facts;
  facts.study = "digits";
  facts.study_dir = "studies/digits";
  facts.version = "0.1.0";
  facts.total = total;
  return facts;
}

struct Plain {
  explicit Plain(LogTail tail = {}, ReportFacts told = facts())
      : reporter(make_plain_reporter(output, std::move(told), std::move(tail))),
        story(reporter.get()) {}

  std::string take() {
    std::string text = output.all();
    output.writes.clear();
    return text;
  }
  void end(int code = 0, std::string reason = "") {
    story.commit({RunEnded{1, code, std::move(reason)}});
    reporter->ended(story.state);
  }

  MemoryOutput output;
  std::unique_ptr<Reporter> reporter;
  Story story;
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(PlainReporter, CaseL7_AWholeRunReadsAsOneScreen) {
  Plain plain(fixed_tail({"Traceback (most recent call last):", "ValueError: bad lr"}), facts(5));
  Story& story = plain.story;
  story.commit({Story::run(), Story::space(),
                NoteAdded{0, "cores", "only core 0 of 4 allowed (affinity)"},
                NoteAdded{0, "info_taken_over", "the lock of a dead process was taken over"}});
  story.commit({story.trial(1, "0.1", "0"), story.trial(2, "0.1", "1"), story.trial(3, "0.01", "0"),
                story.trial(4, "0.01", "1"), story.trial(5, "9", "0"), SpaceWalked{1, 5}});
  story.start(1, 0);
  story.start(2, 1);
  story.report(1, 1, 0.5);
  story.wait(Milliseconds(12'345));
  story.report(1, 2, 0.91);
  story.report(2, 1, 0.89);
  story.complete(1, 12'345);
  story.complete(2, 12'000);
  story.start(3, 0);
  story.start(4, 1);
  story.wait(Milliseconds(31'000));
  story.report(3, 7, 0.957);
  story.tick();
  story.tick();
  story.complete(3, 31'000);
  story.fail(4, 3, 31'000);
  story.start(5, 0);
  story.report(5, 1, 0.1);
  story.commit(
      {AttemptStopping{{5, 1}, StopCause::pruned, "0.1 at step 1 is below the median 0.9"}});
  Outcome pruned;
  pruned.kind = OutcomeKind::pruned;
  story.commit({Story::ended(5, pruned, 2000),
                Story::fate(5, TrialState::pruned, "0.1 at step 1 is below the median 0.9")});
  story.commit({AllocationReleased{{5, 1}}});
  plain.end(1, "some trials failed");
  EXPECT_TRUE(plain.output.drained);
  expect_golden("plain_run.txt", plain.output.all());
}

TEST(PlainReporter, CaseE2_TheStartLineSaysWhatTheMachineAllows) {
  Plain plain;
  plain.story.commit({Story::run(), Story::space()});
  EXPECT_TRUE(has(plain.take(), "machine  box: 64 cores seen, 4 usable (quota)\n"));
}

TEST(PlainReporter, CaseE4_WarningsOfTheStartAreWarnings) {
  Plain plain;
  plain.story.commit({Story::run(), Story::space(),
                      NoteAdded{0, "cores", "only core 0 of 4 allowed"},
                      NoteAdded{0, "info", "resumed"}});
  const std::string text = plain.take();
  EXPECT_TRUE(has(text, "\nwarning  only core 0 of 4 allowed\n"));
  EXPECT_TRUE(has(text, "\nnote     resumed\n"));
}

TEST(PlainReporter, CaseK5_TheGoalStandsBesideEveryBest) {
  for (const Goal goal : {Goal::maximize, Goal::minimize}) {
    Plain plain;
    Story& story = plain.story;
    story.commit({Story::run(), Story::space("loss", goal)});
    story.commit({story.trial(1, "1"), story.trial(2, "2"), SpaceWalked{1, 2}});
    for (const TrialNumber number : {1, 2}) {
      story.start(number, 0);
      story.report(number, 1, static_cast<double>(number));
      story.complete(number, 1000);
    }
    plain.end();
    const std::string word = goal == Goal::maximize ? "maximize" : "minimize";
    const std::string best = goal == Goal::maximize ? "00002-lr2-s0  2" : "00001-lr1-s0  1";
    const std::string text = plain.take();
    EXPECT_TRUE(has(text, "goal     " + word + " loss\n"));
    EXPECT_TRUE(has(text, "best     " + best + "  (" + word + " last loss)\n")) << text;
  }
}

std::string closing_of_two_settings(bool one_failed) {
  Plain plain;
  Story& story = plain.story;
  story.begin({"0.1", "0.2"}, {"0", "1", "2"});
  const double values[] = {0.8, 0.8, 0.8, 0.1, 0.2, 0.99};
  for (TrialNumber number = 1; number <= 6; ++number) {
    story.start(number, 0);
    if (number == 3 && one_failed) {
      story.fail(number, 1, 1000);
      continue;
    }
    story.report(number, 1, values[number - 1]);
    story.complete(number, 1000);
  }
  plain.end(one_failed ? 1 : 0);
  return plain.take();
}

TEST(PlainReporter, CaseK1_BestConfigurationIsTheMeanNotTheLuckiestSeed) {
  const std::string text = closing_of_two_settings(false);
  EXPECT_TRUE(
      has(text, "best     lr=0.1  0.8 ± 0 (n=3)  (maximize last val_acc, mean over seed)\n"))
      << text;
  EXPECT_TRUE(has(text, "  best single trial 0.99: 00006-lr0.2-s2\n")) << text;
}

TEST(PlainReporter, CaseK1_TheMeanOfEqualValuesIsThatValue) {
  Plain plain;
  plain.story.begin({"0.1"}, {"0", "1", "2", "3", "4", "5", "6"});
  for (TrialNumber number = 1; number <= 7; ++number) {
    plain.story.start(number, 0);
    plain.story.report(number, 1, 0.3);
    plain.story.complete(number, 1000);
  }
  const Closing closing = make_closing(plain.story.state, 10);
  ASSERT_TRUE(closing.best_configuration);
  EXPECT_EQ(closing.best_configuration->mean, 0.3);
}

TEST(PlainReporter, CaseK1_AConfigurationWithAFailedSeedIsBehindTheCompleteOnes) {
  const std::string text = closing_of_two_settings(true);
  EXPECT_TRUE(has(text, "best     lr=0.2  0.43 ± ")) << text;
  EXPECT_TRUE(has(text, "(n=3)")) << text;
  EXPECT_TRUE(has(text, "  trial  00006-lr0.2-s2  0.99  (maximize last val_acc)\n")) << text;
}

TEST(PlainReporter, CaseC7_NanIsShownAsNanAndIsNeverBest) {
  Plain plain;
  Story& story = plain.story;
  story.begin({"1", "2", "3"}, {"0"});
  const double values[] = {kNan, 0.5, -std::numeric_limits<double>::infinity()};
  for (TrialNumber number = 1; number <= 3; ++number) {
    story.start(number, 0);
    story.report(number, 1, values[number - 1]);
    story.complete(number, 1000);
  }
  plain.end();
  const std::string text = plain.take();
  EXPECT_TRUE(has(text, "00001-lr1-s0 completed in 1.0s  val_acc=nan\n")) << text;
  EXPECT_TRUE(has(text, "00003-lr3-s0 completed in 1.0s  val_acc=-inf\n"));
  EXPECT_TRUE(has(text, "best     00002-lr2-s0  0.5  (maximize last val_acc)\n"));
  EXPECT_FALSE(has(text, "-nan"));
}

TEST(PlainReporter, CaseC7_OnlyNanMeansNoBest) {
  Plain plain;
  plain.story.begin({"1"}, {"0"});
  plain.story.start(1, 0);
  plain.story.report(1, 1, kNan);
  plain.story.complete(1, 1000);
  plain.end();
  EXPECT_TRUE(has(plain.take(), "best     none: no completed trial has a finite val_acc\n"));
}

TEST(PlainReporter, CaseC12_EveryConsoleLineCarriesTheTrialAndIsNotCut) {
  const std::string long_line(500, 'z');
  Plain plain(fixed_tail({"first", long_line, "last"}));
  plain.output.columns = 40;
  plain.story.begin({"0.1"}, {"0"});
  plain.take();
  plain.story.start(1, 0);
  plain.story.fail(1, 3, 1000);
  const std::string text = plain.take();
  EXPECT_TRUE(has(text, long_line));
  for (const auto line : split(trim(text), '\n')) {
    EXPECT_TRUE(has(std::string(line), "00001-lr0.1-s0")) << line;
  }
}

TEST(PlainReporter, CaseC5_BytesOfALogCannotHarmTheTerminal) {
  Plain plain(
      fixed_tail({"caf\xe9 \xff\xfe", "\x1b[2J\x1b]0;title\x07", std::string("nul\0nul", 7)}));
  plain.story.begin({"0.1"}, {"0"});
  plain.story.start(1, 0);
  plain.story.fail(1, 3, 1000);
  const std::string text = plain.take();
  EXPECT_TRUE(is_valid_utf8(text));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\x07'), std::string::npos);
  EXPECT_EQ(text.find('\0'), std::string::npos);
}

TEST(PlainReporter, CaseC10_AMissingMetricIsSaidAtTheTrialAndAtTheEnd) {
  Plain plain;
  plain.story.begin({"0.1"}, {"0"});
  plain.story.start(1, 0);
  TrialFinished finished = Story::fate(1, TrialState::completed, "no val_acc; seen: val_loss");
  finished.metric_missing = true;
  plain.story.commit({Story::ended(1, {}, 1000), finished});
  plain.story.commit({AllocationReleased{{1, 1}}});
  plain.end(1);
  const std::string text = plain.take();
  EXPECT_TRUE(has(text, "completed in 1.0s: no val_acc; seen: val_loss\n")) << text;
  EXPECT_TRUE(has(text, "warning  1 completed trial never reported val_acc\n"));
}

TEST(PlainReporter, CaseI11_ARetryIsSaidAndTheSuccessAfterItIsASuccess) {
  Plain plain(fixed_tail({"boom"}));
  Story& story = plain.story;
  story.begin({"0.1"}, {"0"});
  plain.take();
  story.start(1, 0);
  Outcome outcome;
  outcome.kind = OutcomeKind::signalled;
  outcome.code = 11;
  story.commit({Story::ended(1, outcome, 2100),
                TrialRequeued{1, RequeueCause::retry, story.now + Milliseconds(30'000)}});
  story.commit({AllocationReleased{{1, 1}}});
  std::string text = plain.take();
  EXPECT_TRUE(has(text, "[0/1] 00001-lr0.1-s0 attempt 1 failed after 2.1s: " + describe(outcome) +
                            "; retry 1 in 30.0s\n"))
      << text;
  EXPECT_TRUE(has(text, "  00001-lr0.1-s0 | boom\n"));
  story.wait(Milliseconds(30'000));
  story.start(1, 0, 2);
  story.complete(1, 1000, 2);
  text = plain.take();
  EXPECT_TRUE(has(text, "[1/1] 00001-lr0.1-s0 completed in 1.0s (attempt 2)\n")) << text;
  plain.end();
  EXPECT_FALSE(has(plain.take(), "failed"));
}

TEST(PlainReporter, TrialsThatEndInOneCommitAreCountedOneByOne) {
  Plain plain;
  Story& story = plain.story;
  story.begin({"1", "2", "3"}, {"0"}, 3);
  for (TrialNumber number = 1; number <= 3; ++number)
    story.start(number, static_cast<SlotNumber>(number - 1));
  plain.take();
  story.commit({Story::ended(1, {}, 1), Story::fate(1, TrialState::completed),
                Story::ended(2, {}, 1), Story::fate(2, TrialState::completed),
                Story::ended(3, {}, 1), Story::fate(3, TrialState::completed)});
  const std::string text = plain.take();
  EXPECT_TRUE(has(text, "[1/3] 00001"));
  EXPECT_TRUE(has(text, "[2/3] 00002"));
  EXPECT_TRUE(has(text, "[3/3] 00003"));
}

TEST(PlainReporter, TheTotalIsKnownBoundedOrUnknownAndSaidSo) {
  {
    Plain plain({}, facts(240));
    plain.story.commit({Story::run(), Story::space()});
    plain.story.commit({plain.story.trial(1, "1")});
    plain.story.start(1, 0);
    plain.story.complete(1, 5);
    const std::string text = plain.take();
    EXPECT_TRUE(has(text, "digits: 240 trials, 2 slots\n")) << text;
    EXPECT_TRUE(has(text, "[  1/240] 00001"));
  }
  {
    ReportFacts told = facts(240);
    told.total_is_bound = true;
    Plain plain({}, told);
    plain.story.commit({Story::run(), Story::space()});
    plain.story.commit({plain.story.trial(1, "1")});
    plain.story.start(1, 0);
    plain.story.complete(1, 5);
    EXPECT_TRUE(has(plain.output.all(), "digits: at most 240 trials"));
    EXPECT_TRUE(has(plain.take(), "[  1/≤240] 00001"));
  }
  {
    Plain plain;
    plain.story.commit({Story::run(), Story::space()});
    plain.story.commit({plain.story.trial(1, "1")});
    plain.story.start(1, 0);
    plain.story.complete(1, 5);
    const std::string text = plain.take();
    EXPECT_TRUE(has(text, "digits: trials not counted"));
    EXPECT_TRUE(has(text, "[  1/?] 00001"));
  }
}

TEST(PlainReporter, ProgressComesAtMostEveryHalfMinuteAndOnlyWhileSomethingRuns) {
  Plain plain;
  Story& story = plain.story;
  story.begin({"1", "2"}, {"0"});
  plain.take();
  for (int i = 0; i < 1000; ++i) {
    story.wait(Milliseconds(200));
    story.tick();
  }
  EXPECT_EQ(plain.take(), "") << "nothing runs";
  story.start(1, 0);
  for (int i = 0; i < 600; ++i) {  // two minutes
    story.wait(Milliseconds(200));
    story.tick();
  }
  const std::string text = plain.take();
  const auto lines = std::count(text.begin(), text.end(), '\n');
  EXPECT_GE(lines, 3);
  EXPECT_LE(lines, 4);
  EXPECT_TRUE(has(text, "now 00001-lr1-s0"));
}

TEST(PlainReporter, AClockSetBackDoesNotSilenceTheProgress) {
  Plain plain;
  plain.story.begin({"1"}, {"0"});
  plain.story.start(1, 0);
  plain.story.tick();
  plain.take();
  plain.story.now.ms -= 86'400'000;
  plain.story.tick();
  plain.story.wait(Milliseconds(31'000));
  plain.story.tick();
  const std::string text = plain.take();
  EXPECT_TRUE(has(text, "now 00001-lr1-s0")) << text;
  EXPECT_FALSE(has(text, "-1d")) << "no negative durations: " << text;
}

TEST(PlainReporter, CaseI9_AHaltSpeaksOfRunningTrialsOnlyWhileSomeRun) {
  Plain plain;
  Story& story = plain.story;
  story.begin({"1", "2"}, {"0"});
  const RunStopping halt{1, StopMode::drain, 6, "1 trial failed (halt rule)"};
  Outcome failed;
  failed.code = 1;
  story.start(1, 0);
  plain.take();
  story.commit({Story::ended(1, failed, 1000), Story::fate(1, TrialState::failed, "exit code 1"),
                AllocationReleased{{1, 1}}, halt});
  std::string text = plain.take();
  EXPECT_TRUE(has(text, "no new starts (1 trial failed (halt rule))\n")) << text;
  EXPECT_FALSE(has(text, "running trial")) << text;
}

TEST(PlainReporter, CaseI9_AHaltAfterTheVeryLastTrialIsNoNews) {
  Plain plain;
  Story& story = plain.story;
  story.begin({"1"}, {"0"});
  Outcome failed;
  failed.code = 1;
  story.start(1, 0);
  plain.take();
  story.commit({Story::ended(1, failed, 1000), Story::fate(1, TrialState::failed, "exit code 1"),
                AllocationReleased{{1, 1}},
                RunStopping{1, StopMode::drain, 6, "1 trial failed (halt rule)"}});
  const std::string text = plain.take();
  EXPECT_FALSE(has(text, "halt rule")) << text;
}

TEST(PlainReporter, CaseD13_EachStepOfTheLadderIsSaidWithWhatTheNextDoes) {
  Plain plain;
  Story& story = plain.story;
  story.begin({"1", "2", "3"}, {"0"});
  story.start(1, 0);
  story.start(2, 1);
  plain.take();
  story.commit({RunStopping{1, StopMode::stop, 130, "interrupted (INT)"},
                AttemptStopping{{1, 1}, StopCause::interrupted, ""},
                AttemptStopping{{2, 1}, StopCause::interrupted, ""}});
  EXPECT_EQ(plain.take(),
            "stopping: 2 running trials asked to end, killed in 10s; Ctrl-C again kills now "
            "(interrupted (INT))\n");
  story.commit({RunStopping{1, StopMode::kill, 130, "interrupted (INT)"}});
  EXPECT_TRUE(has(plain.take(), "killing 2 running trials now; Ctrl-C again leaves at once"));
  Outcome stopped;
  stopped.kind = OutcomeKind::stopped;
  for (const TrialNumber number : {1, 2}) {
    story.commit({Story::ended(number, stopped, 3000),
                  TrialRequeued{number, RequeueCause::interrupted, {}},
                  AllocationReleased{{number, 1}}});
  }
  EXPECT_TRUE(has(plain.take(), "[0/3] 00001-lr1-s0 interrupted after 3.0s; waits again\n"));
  plain.end(130, "interrupted (INT)");
  const std::string text = plain.take();
  EXPECT_TRUE(has(text, "end      interrupted (INT) (exit code 130)\n")) << text;
  EXPECT_TRUE(has(text, "0 completed, 3 waiting\n"));
  EXPECT_TRUE(has(text, "continue seedbed run --study digits\n"));
}

TEST(PlainReporter, DrainAndPauseAndWidthAreSaid) {
  Plain plain;
  Story& story = plain.story;
  story.begin({"1", "2"}, {"0"});
  story.start(1, 0);
  plain.take();
  story.commit({PauseSet{true}});
  story.commit({PauseSet{false}});
  story.commit({WidthSet{7}});
  story.commit({RunStopping{1, StopMode::drain, 6, "stop --drain"}});
  EXPECT_EQ(plain.take(),
            "paused: no new starts\n"
            "resumed: new starts again\n"
            "now 7 slots\n"
            "draining: 1 running trial may finish, no new starts; Ctrl-C asks them to stop "
            "(stop --drain)\n");
}

TEST(PlainReporter, AContinuedStudySaysWhatWasDoneAndAFinishedOneThatNothingIsLeft) {
  Plain first;
  first.story.begin({"1", "2"}, {"0"});
  for (const TrialNumber number : {1, 2}) {
    first.story.start(number, 0);
    first.story.complete(number, 1000);
  }
  first.end();

  MemoryOutput output;
  const auto reporter = make_plain_reporter(output, facts(), {});
  first.story.reporter = reporter.get();
  RunStarted again = Story::run();
  again.run = 2;
  first.story.commit({again});
  first.story.commit({RunEnded{2, 0, ""}});
  reporter->ended(first.story.state);
  EXPECT_TRUE(has(output.all(), "study    digits: 2 trials, 2 done before, 2 slots\n"))
      << output.all();
  EXPECT_TRUE(has(output.all(), "study    digits: nothing was left to run: 2 completed\n"))
      << output.all();
}

TEST(PlainReporter, AThousandFailuresDoNotDrownTheScreenInTails) {
  Plain plain(fixed_tail({"same", "old", "error"}));
  Story& story = plain.story;
  std::vector<std::string> rates;
  for (int i = 1; i <= 1000; ++i) rates.push_back(std::to_string(i));
  story.begin(rates, {"0"});
  for (TrialNumber number = 1; number <= 1000; ++number) {
    story.start(number, 0);
    story.fail(number, 1, 10);
  }
  plain.end(1);
  const std::string text = plain.take();
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 2300);
  EXPECT_TRUE(has(text, "         and 980 more: seedbed status digits\n"));
  EXPECT_TRUE(has(text, "[1000/1000] 01000-lr1000-s0 failed"));
}

TEST(PlainReporter, AClosedOutputIsSilence) {
  Plain plain;
  plain.output.gone = true;
  plain.story.begin({"1"}, {"0"});
  plain.output.gone = false;
  plain.story.start(1, 0);
  plain.story.complete(1, 10);
  plain.end();
  EXPECT_EQ(plain.take(), "") << "a reader that was gone does not come back in the middle";
}

TEST(PlainReporter, LostMessagesAreOwnedUpTo) {
  Plain plain;
  plain.story.begin({"1"}, {"0"});
  plain.take();
  plain.output.dropped_writes = 3;
  plain.story.start(1, 0);
  plain.story.complete(1, 10);
  EXPECT_TRUE(has(plain.output.all(),
                  "(3 messages were lost: the reader was too slow or the disk full)\n"));
}

TEST(PlainReporter, ATroubleIsAWarningAndAColourOnlyOnATerminal) {
  MemoryOutput output;
  output.colours = true;
  const auto reporter = make_plain_reporter(output, facts(), {});
  reporter->trouble("disk\nfull");
  EXPECT_EQ(output.all(), "\x1b[33mwarning  \x1b[0mdisk\\nfull\n");
}

TEST(PlainReporter, AnAttachedLookStartsWithTheStudyAsItIs) {
  ReportFacts told = facts();
  told.attached = true;
  MemoryOutput output;
  const auto reporter = make_plain_reporter(output, told, {});
  Story story;
  story.begin({"1", "2"}, {"0"});
  story.start(1, 0);
  story.complete(1, 10);
  reporter->tick(story.now, story.state);
  EXPECT_TRUE(has(output.all(), "study    digits: 2 trials, 1 done before, 2 slots\n"));
  EXPECT_TRUE(has(output.all(), "machine  box (pid 4242): 64 cores seen"));
  reporter->left(story.state);
  EXPECT_TRUE(has(output.all(), "seedbed attach digits\n"));
}

TEST(PlainReporter, AViewThatReadsOldRecordsSaysOnlyWhatIsNews) {
  std::vector<Entry> all;
  Story story;
  const auto keep = [&](Record record) {
    all.push_back({story.now, std::move(record)});
    story.state.apply(all.back());
  };
  keep(Story::run());
  keep(Story::space());
  keep(story.trial(1, "1"));
  keep(story.trial(2, "2"));
  keep(SpaceWalked{1, 2});
  AttemptPlanned planned;
  planned.attempt = {1, 1};
  keep(planned);
  Outcome outcome;
  outcome.code = 3;
  keep(Story::ended(1, outcome, 10));
  keep(Story::fate(1, TrialState::failed, "exit code 3"));
  keep(AllocationReleased{{1, 1}});
  keep(RunEnded{1, 6, "stopped"});
  RunStarted again = Story::run();
  again.run = 2;
  keep(again);
  keep(NoteAdded{0, "cores", "shared"});
  Plain plain(fixed_tail({"old error"}));
  plain.reporter->committed(all, story.state);
  const std::string text = plain.take();
  EXPECT_FALSE(has(text, "old error")) << text;
  EXPECT_FALSE(has(text, "failed after"));
  EXPECT_EQ(text.find("study    "), text.rfind("study    ")) << "one start: " << text;
  EXPECT_TRUE(has(text, "2 trials, 1 done before"));
  EXPECT_TRUE(has(text, "warning  shared\n"));
}

TEST(PlainReporter, TrialsOutsideThePresentSpaceAreNotCountedAndSaid) {
  Plain plain;
  Story& story = plain.story;
  story.begin({"1", "2", "3"}, {"0"});
  story.start(1, 0);
  story.complete(1, 10);
  story.commit({RunEnded{1, 6, ""}});
  plain.take();
  SpaceSet narrower = Story::space();
  narrower.revision = 2;
  RunStarted again = Story::run();
  again.run = 2;
  story.commit({again, narrower});
  TrialKept kept;
  kept.trial = 2;
  kept.revision = 2;
  story.commit({kept, SpaceWalked{2, 1}});
  EXPECT_TRUE(has(plain.take(),
                  "note     2 trials of earlier runs outside the present space, "
                  "1 of them never run\n"));
}

}  // namespace
}  // namespace seedbed
