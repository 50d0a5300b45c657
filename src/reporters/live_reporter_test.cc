#include <gtest/gtest.h>

#include <algorithm>

#include "reporters/reporters_test_support.h"

namespace seedbed {
namespace {

using testing::expect_golden;
using testing::fixed_tail;
using testing::MemoryOutput;
using testing::Screen;
using testing::Story;

struct Live {
  explicit Live(std::size_t width = 80, std::size_t height = 24, LogTail tail = {})
      : screen(width, height) {
    output.columns = width;
    output.lines = height;
    output.terminal = true;
    ReportFacts facts;
    facts.study = "digits";
    facts.study_dir = "studies/digits";
    facts.total = 6;
    reporter = make_live_reporter(output, facts, std::move(tail));
    story.reporter = reporter.get();
  }

  /// What a person sees now.
  std::string look() {
    for (; seen < output.writes.size(); ++seen) screen.feed(output.writes[seen]);
    EXPECT_FALSE(screen.unknown_escape);
    return screen.text();
  }
  void tick(int ms = 200) {
    story.wait(Milliseconds(ms));
    story.tick();
  }

  MemoryOutput output;
  Screen screen;
  std::unique_ptr<Reporter> reporter;
  Story story;
  std::size_t seen = 0;
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void run_a_while(Live& live) {
  Story& story = live.story;
  story.begin({"0.1", "0.01", "0.001"}, {"0", "1"}, 3);
  story.start(1, 0);
  story.start(2, 1);
  story.report(1, 1, 0.5);
  live.tick(12'000);
  story.report(1, 2, 0.91);
  story.complete(1, 12'000);
  story.fail(2, 3, 12'200);
  story.start(3, 0);
  story.start(4, 2);
  live.tick(1500);
  story.report(4, 12, 0.957);
  live.tick();
}

TEST(LiveReporter, ShowsSlotsProgressCountsBestAndTheEnd) {
  Live live(80, 24, fixed_tail({"Traceback (most recent call last):", "ValueError: bad"}));
  run_a_while(live);
  EXPECT_FALSE(live.screen.cursor_shown = false);
  const std::string text = live.look();
  expect_golden("live_frame.txt", text);
  EXPECT_FALSE(live.screen.cursor_shown);
  EXPECT_TRUE(has(text, "(maximize last val_acc)")) << "K5: the goal beside the best";
}

TEST(LiveReporter, TheWholeStoryEndsWithARestoredTerminal) {
  Live live(80, 24, fixed_tail({"boom"}));
  run_a_while(live);
  live.story.complete(3, 3000);
  live.story.complete(4, 3000);
  live.tick();
  live.story.commit({RunEnded{1, 6, "halt rule: 1 trial failed"}});
  live.reporter->ended(live.story.state);
  const std::string text = live.look();
  EXPECT_TRUE(live.screen.cursor_shown);
  EXPECT_TRUE(live.screen.wraps);
  EXPECT_FALSE(has(text, "q leave")) << "the live area is gone";
  expect_golden("live_end.txt", text);
}

TEST(LiveReporter, OneFrameIsOneWriteAndNothingIsClearedBeforeItsReplacement) {
  Live live;
  live.story.begin({"1", "2"}, {"0"});
  live.story.start(1, 0);
  live.tick();
  live.tick(1000);
  ASSERT_EQ(live.output.writes.size(), 2U);
  const std::string& frame = live.output.writes[1];
  EXPECT_EQ(frame.find("\x1b[2J"), std::string::npos);
  // No scrolled lines: below is cleared only after the area has been written.
  EXPECT_GT(frame.find("\x1b[J"), frame.find("Ctrl-C"));
}

TEST(LiveReporter, NothingNewWritesNothing) {
  Live live;
  live.story.begin({"1"}, {"0"});
  live.tick();
  const std::size_t writes = live.output.writes.size();
  for (int i = 0; i < 10; ++i) live.tick();  // nothing runs, so no time passes on the screen
  EXPECT_EQ(live.output.writes.size(), writes);
}

TEST(LiveReporter, FailuresScrollAboveTheAreaAtOnceWithTheirLastLines) {
  Live live(80, 24, fixed_tail({"ValueError: bad"}));
  live.story.begin({"1", "2"}, {"0"});
  live.story.start(1, 0);
  live.story.start(2, 1);
  live.tick();
  live.story.fail(1, 3, 2100);
  live.tick();
  live.tick(1000);
  const std::string text = live.look();
  const auto failure = text.find("00001-lr1-s0 failed after 2.1s");
  const auto area = text.find("digits  0 completed, 1 failed");
  ASSERT_NE(failure, std::string::npos) << text;
  ASSERT_NE(area, std::string::npos) << text;
  EXPECT_LT(failure, area);
  EXPECT_TRUE(has(text, "00001-lr1-s0 | ValueError: bad"));
  EXPECT_EQ(text.find("digits  0 completed"), text.rfind("digits  0 completed"))
      << "one live area: " << text;
}

TEST(LiveReporter, CaseC12_ScrolledLinesAreNotCutWhereTheTerminalIsNarrow) {
  const std::string line(150, '#');
  Live live(40, 20, fixed_tail({line, "last line"}));
  live.story.begin({"1", "2"}, {"0"});
  live.story.start(1, 0);
  live.tick();
  live.story.fail(1, 3, 2100);
  live.tick();
  const std::string text = live.look();
  EXPECT_EQ(std::count(text.begin(), text.end(), '#'), 150);
  EXPECT_TRUE(has(text, "last line"));
}

TEST(LiveReporter, EveryFrameFitsTheTerminalWhateverItsSize) {
  for (std::size_t width = 1; width <= 120; width += 7) {
    for (std::size_t height = 1; height <= 30; height += 3) {
      Live live(width, height);
      Story& story = live.story;
      story.begin({"0.1", "0.01", "0.001", "0.0001"}, {"0", "1", "2"}, 9);
      for (TrialNumber number = 1; number <= 9; ++number) {
        story.start(number, static_cast<SlotNumber>(number - 1));
        story.report(number, 3, 0.123456789);
      }
      live.tick();
      live.output.writes.clear();
      live.tick(1000);
      if (live.output.writes.empty()) continue;  // too small for anything that changes
      const std::string& frame = live.output.writes.back();
      EXPECT_LT(std::count(frame.begin(), frame.end(), '\n'),
                static_cast<std::ptrdiff_t>(std::max<std::size_t>(height, 2)));
      for (auto piece : split(frame, '\n')) {
        std::string line(piece);
        for (std::size_t at; (at = line.find('\x1b')) != std::string::npos;) {
          line.erase(at, line.find_first_of("ABCDEFGHJKmhl", at) - at + 1);
        }
        line.erase(0, line.find_first_not_of('\r'));
        EXPECT_LE(display_width(line), std::max<std::size_t>(width, 2) - 1)
            << width << "x" << height << ": " << line;
      }
    }
  }
}

TEST(LiveReporter, AFrameIsBoundedHoweverManySlotsAndFailures) {
  Live live(100, 50, fixed_tail(std::vector<std::string>(50, std::string(5000, 'e'))));
  Story& story = live.story;
  std::vector<std::string> rates;
  for (int i = 1; i <= 900; ++i) rates.push_back(std::to_string(i));
  story.begin(rates, {"0"}, 300);
  for (TrialNumber number = 1; number <= 600; ++number) {
    story.start(number, static_cast<SlotNumber>((number - 1) % 300));
    if (number <= 300) story.fail(number, 1, 5);
  }
  live.tick();
  ASSERT_EQ(live.output.writes.size(), 1U);
  EXPECT_LT(live.output.writes[0].size(), 1'000'000U);
  const std::string text = live.look();
  EXPECT_TRUE(has(text, "lines more; seedbed status has all)")) << text.substr(0, 2000);
  EXPECT_TRUE(has(text, "and 255 more")) << text.substr(text.size() - 3000);
}

TEST(LiveReporter, ASlowTerminalGetsTheNextFrameNotAllOfThem) {
  Live live;
  live.story.begin({"1"}, {"0"});
  live.story.start(1, 0);
  live.tick();
  live.output.is_busy = true;
  const std::size_t writes = live.output.writes.size();
  for (int i = 0; i < 50; ++i) live.tick(1000);
  EXPECT_EQ(live.output.writes.size(), writes);
  live.output.is_busy = false;
  live.tick();
  EXPECT_EQ(live.output.writes.size(), writes + 1);
  EXPECT_TRUE(has(live.look(), "50.4s"));
}

TEST(LiveReporter, AfterNarrowingTheAreaIsFoundAgainAboveItsBrokenLines) {
  Live live(80, 24);
  live.story.begin({"1"}, {"0"});
  live.story.start(1, 0);
  live.tick();
  live.output.columns = 40;
  live.output.writes.clear();
  live.tick(1000);
  // Head, one slot each idle or busy, estimate and hint: the ones wider than 40 take two lines now.
  const std::string& frame = live.output.writes.at(0);
  const auto up = frame.find("\x1b[");
  EXPECT_EQ(frame.substr(up, 4), "\x1b[7A") << frame.substr(0, 30);
}

TEST(LiveReporter, CaseD13_StoppingCountsDownAndSaysWhatASecondCtrlCDoes) {
  Live live(100);
  live.story.begin({"1", "2"}, {"0"});
  live.story.start(1, 0);
  live.tick();
  live.story.commit({RunStopping{1, StopMode::stop, 130, "interrupted (INT)"},
                     AttemptStopping{{1, 1}, StopCause::interrupted, ""}});
  live.tick();
  EXPECT_TRUE(has(live.look(), "asked to end, killed in 10s; Ctrl-C again kills now"));
  live.tick(4000);
  std::string text = live.look();
  EXPECT_TRUE(has(text, "asked to end, killed in 6s; Ctrl-C again kills now")) << text;
  EXPECT_TRUE(has(text, "stopping (interrupted)"));
  live.tick(60'000);
  EXPECT_TRUE(has(live.look(), "killed in 0s")) << "never negative";
  live.story.commit({RunStopping{1, StopMode::kill, 130, "interrupted (INT)"}});
  live.tick();
  EXPECT_TRUE(has(live.look(), "killing 1 running trial now; Ctrl-C again leaves at once"));
}

TEST(LiveReporter, KeysAreShownAndPauseIsSeen) {
  Live live(100);
  live.story.begin({"1", "2"}, {"0"});
  live.tick();
  EXPECT_TRUE(has(live.look(), "q leave the view, d drain, p pause, Ctrl-C stop"));
  live.story.commit({PauseSet{true}});
  live.tick();
  const std::string text = live.look();
  EXPECT_TRUE(has(text, "paused: no new starts; p resumes, q leaves the view")) << text;
  EXPECT_TRUE(has(text, "end not known: paused"));
}

TEST(LiveReporter, TheCursorComesBackWhateverWayTheViewGoes) {
  {
    Live live;
    live.story.begin({"1"}, {"0"});
    live.tick();
    live.look();
    EXPECT_FALSE(live.screen.cursor_shown);
    live.reporter->left(live.story.state);
    EXPECT_TRUE(has(live.look(), "the study goes on without this view: seedbed attach digits"));
    EXPECT_TRUE(live.screen.cursor_shown);
  }
  {
    Live live;
    live.story.begin({"1"}, {"0"});
    live.tick();
    live.reporter.reset();
    live.look();
    EXPECT_TRUE(live.screen.cursor_shown);
    EXPECT_TRUE(live.screen.wraps);
  }
}

TEST(LiveReporter, AClosedTerminalIsSilence) {
  Live live;
  live.story.begin({"1"}, {"0"});
  live.output.gone = true;
  live.tick();
  live.output.gone = false;
  live.tick(1000);
  live.reporter->ended(live.story.state);
  live.reporter.reset();
  EXPECT_TRUE(live.output.writes.empty());
}

TEST(LiveReporter, NoColourMeansNoColour) {
  for (const bool colour : {false, true}) {
    Live live(80, 24, fixed_tail({"x"}));
    live.reporter.reset();
    live.output.colours = colour;
    ReportFacts facts;
    facts.study = "digits";
    live.reporter = make_live_reporter(live.output, facts, fixed_tail({"x"}));
    live.story.reporter = live.reporter.get();
    run_a_while(live);
    EXPECT_EQ(live.output.all().find("\x1b[32m") != std::string::npos, colour);
    EXPECT_EQ(live.output.all().find("\x1b[31m") != std::string::npos, colour);
  }
}

TEST(LiveReporter, HostileNamesCannotMoveTheCursor) {
  Live live;
  live.reporter.reset();
  ReportFacts facts;
  facts.study = "di\x1b[2Jgits\n";
  live.reporter = make_live_reporter(live.output, facts, {});
  live.story.reporter = live.reporter.get();
  RunStarted run = Story::run();
  run.machine = "four\x1b[10Acores";
  live.story.commit({run, Story::space("val\x1b[3Aacc")});
  live.story.commit({live.story.trial(1, "1")});
  live.story.start(1, 0);
  live.story.report(1, 1, 1);
  live.tick();
  const std::string text = live.output.all();
  EXPECT_EQ(text.find("\x1b[2J"), std::string::npos);
  EXPECT_EQ(text.find("\x1b[10A"), std::string::npos);
  EXPECT_EQ(text.find("\x1b[3A"), std::string::npos);
}

}  // namespace
}  // namespace seedbed
