#include "metrics/attempt_metrics.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "metrics/explain.h"
#include "metrics/test_support.h"

namespace seedbed {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

namespace fs = std::filesystem;

class Folder : public testing::Test {
 protected:
  Folder() {
    std::string name = (fs::temp_directory_path() / "seedbed-metrics-XXXXXX").string();
    root_ = ::mkdtemp(name.data());
  }
  ~Folder() override { fs::remove_all(root_); }

  [[nodiscard]] std::string path(const std::string& name) const { return root_ + "/" + name; }

  void append(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::app | std::ios::binary) << text;
  }
  /// In place: the same inode.
  void rewrite(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::trunc | std::ios::binary) << text;
  }
  void replace(const std::string& name, const std::string& text) const {
    rewrite(name + ".tmp", text);
    fs::rename(path(name + ".tmp"), path(name));
  }

  std::string root_;
};

// ---- one file

class Follower : public Folder {
 protected:
  void follow(const std::string& name) {
    follower_ = std::make_unique<FileFollower>(path(name), parser_of(format_of(name)));
  }
  std::vector<std::string> step(std::size_t limit = 1 << 20) {
    std::vector<ParsedPoint> points;
    FileFollower::Step made;
    do {
      made = follower_->step(points, limit);
    } while (made.more);
    return show(points);
  }
  std::unique_ptr<FileFollower> follower_;
};

TEST_F(Follower, CaseC14_AFileInAFolderThatIsCreatedLaterIsFollowed) {
  follow("out/progress.csv");
  EXPECT_THAT(step(), IsEmpty());
  fs::create_directory(path("out"));
  EXPECT_THAT(step(), IsEmpty());
  append("out/progress.csv", "step,a\n1,1");
  EXPECT_THAT(step(), IsEmpty()) << "the row may go on";
  append("out/progress.csv", "0\n2,20\n");
  EXPECT_THAT(step(), ElementsAre("a@1=10", "a@2=20"));
  EXPECT_THAT(step(), IsEmpty());
  EXPECT_THAT(follower_->take_notes(), IsEmpty());
}

TEST_F(Follower, CaseC14_RenamedOverThenTruncatedAllPointsAreSeenOnce) {
  follow("progress.csv");
  append("progress.csv", "step,a\n1,10\n");
  EXPECT_THAT(step(), ElementsAre("a@1=10"));
  replace("progress.csv", "step,a\n1,10\n2,20\n");
  EXPECT_THAT(step(), ElementsAre("a@2=20"));
  EXPECT_THAT(follower_->take_notes(), IsEmpty()) << "it only grew";
  replace("progress.csv", "step,a\n1,10\n");
  EXPECT_THAT(step(), IsEmpty());
  EXPECT_THAT(follower_->take_notes(), ElementsAre(HasSubstr("cut short")));
  replace("progress.csv", "step,a\n1,10\n2,20\n3,30\n");
  EXPECT_THAT(step(), ElementsAre("a@3=30"));
  rewrite("progress.csv", "");
  EXPECT_THAT(step(), IsEmpty());
  append("progress.csv", "step,a\n1,11\n");
  EXPECT_THAT(step(), ElementsAre("a@1=11")) << "another run of it: earlier points stay given";
}

TEST_F(Follower, AFileRewrittenInPlaceToTheSameOrAGreaterSizeIsNoticed) {
  follow("a.jsonl");
  rewrite("a.jsonl", "{\"loss\":0.5}\n");
  EXPECT_THAT(step(), ElementsAre("loss@1=0.5"));
  rewrite("a.jsonl", "{\"loss\":0.4}\n");
  struct timespec times[2] = {{0, UTIME_OMIT}, {1'000'000'000, 0}};  // a clock of coarse ticks
  ASSERT_EQ(::utimensat(AT_FDCWD, path("a.jsonl").c_str(), times, 0), 0);
  EXPECT_THAT(step(), ElementsAre("loss@2=0.4"));
  rewrite("a.jsonl", "{\"loss\":0.25}\n{\"loss\":0.2}\n");
  EXPECT_THAT(step(), ElementsAre("loss@3=0.25", "loss@4=0.2"));
}

TEST_F(Follower, AVanishedFileIsWaitedForAndContinued) {
  follow("a.jsonl");
  append("a.jsonl", "{\"loss\":1}\n");
  EXPECT_THAT(step(), ElementsAre("loss@1=1"));
  fs::remove(path("a.jsonl"));
  EXPECT_THAT(step(), IsEmpty());
  rewrite("a.jsonl", "{\"loss\":1}\n{\"loss\":2}\n");
  EXPECT_THAT(step(), ElementsAre("loss@2=2"));
}

TEST_F(Follower, ReadsInBoundedSteps) {
  follow("a.csv");
  std::string text = "step,a\n";
  for (int i = 0; i < 1000; ++i) text += std::to_string(i) + ",1\n";
  append("a.csv", text);
  std::vector<ParsedPoint> points;
  const FileFollower::Step first = follower_->step(points, 1000);
  EXPECT_TRUE(first.more);
  EXPECT_EQ(follower_->offset(), 1000u);
  EXPECT_EQ(points.size() + step(1000).size(), 1000u);
  points.clear();
  const FileFollower::Step last = follower_->step(points);
  EXPECT_FALSE(last.more);
}

TEST_F(Follower, OtherThingsThanFilesAreNotedAndHarmless) {
  ASSERT_EQ(::mkfifo(path("pipe.csv").c_str(), 0600), 0);
  follow("pipe.csv");
  EXPECT_THAT(step(), IsEmpty());
  EXPECT_THAT(follower_->take_notes(), ElementsAre(HasSubstr("no regular file")));
  fs::create_directory(path("d.csv"));
  follow("d.csv");
  EXPECT_THAT(step(), IsEmpty());
}

TEST_F(Follower, APunchedHoleInALogIsPassedOver) {
  follow("a.log");
  append("a.log", "loss=1\n");
  EXPECT_THAT(step(), ElementsAre("loss@1=1"));
  append("a.log", std::string(8'000'000, 'x') + "\nloss=2\n");
  const int fd = ::open(path("a.log").c_str(), O_WRONLY);
  const int punched = ::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 8'000'000);
  ::close(fd);
  if (punched != 0) GTEST_SKIP() << "this file system cannot punch holes";
  EXPECT_THAT(step(), ElementsAre("loss@2=2"));
  append("a.log", "loss=3\n");
  EXPECT_THAT(step(), ElementsAre("loss@3=3"));
  EXPECT_THAT(follower_->take_notes(), Not(Contains(HasSubstr("replaced"))));
}

TEST_F(Follower, WhatAHoleCutsOffIsNoValueAndNoLongLine) {
  const std::string head = "loss=5\n" + std::string(8192 - 14, 'x') + "\nloss=1";
  append("a.log", head + std::string(24 * 8192, 'y') + "ss=3\nloss=2\n");
  const int fd = ::open(path("a.log").c_str(), O_WRONLY);
  const int punched = ::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 8192, 24 * 8192);
  ::close(fd);
  if (punched != 0) GTEST_SKIP() << "this file system cannot punch holes";
  for (const std::size_t limit : {std::size_t{5000}, std::size_t{9000}, std::size_t{1} << 20}) {
    std::vector<ParsedPoint> points;
    FileFollower follower(path("a.log"), parser_of(SourceFormat::output_lines));
    while (follower.step(points, limit).more) {
    }
    EXPECT_THAT(show(points), ElementsAre("loss@1=5", "loss@2=2")) << limit;
    EXPECT_THAT(follower.take_notes(), IsEmpty()) << limit;
  }
}

TEST_F(Follower, GoesOnExactlyFromAnyStoredPosition) {
  const std::string text = "step,a\n1,10\n2,20\n3,30\n4,40\n";
  append("a.csv", text);
  for (std::size_t limit = 1; limit < text.size(); ++limit) {
    std::vector<ParsedPoint> points;
    FileFollower first(path("a.csv"), parser_of(SourceFormat::csv));
    first.step(points, limit);
    FileFollower second(path("a.csv"), parser_of(SourceFormat::csv));
    ASSERT_TRUE(second.resume(first.offset(), first.state()).has_value());
    second.step(points);
    EXPECT_THAT(show(points), ElementsAre("a@1=10", "a@2=20", "a@3=30", "a@4=40")) << limit;
    EXPECT_THAT(second.take_notes(), IsEmpty());
  }
}

TEST_F(Follower, ACopyOfTheStudyIsContinuedToo) {
  append("a.csv", "step,a\n1,10\n");
  follow("a.csv");
  step();
  fs::copy_file(path("a.csv"), path("b.csv"));
  append("b.csv", "2,20\n");
  FileFollower other(path("b.csv"), parser_of(SourceFormat::csv));
  ASSERT_TRUE(other.resume(follower_->offset(), follower_->state()).has_value());
  std::vector<ParsedPoint> points;
  other.step(points);
  EXPECT_THAT(show(points), ElementsAre("a@2=20"));
}

TEST_F(Follower, DamagedPositionsAreRefused) {
  follow("a.csv");
  EXPECT_EQ(follower_->resume(5, "").error().code, ErrorCode::damaged);
  EXPECT_EQ(follower_->resume(5, "file1 9 1 table1").error().code, ErrorCode::damaged);
}

// ---- all sources of an attempt

class Attempt : public Folder {
 protected:
  void SetUp() override {
    sources_ = {path("attempt-1.log"),
                path("metrics.jsonl"),
                {{"out/progress.csv", path("progress.csv")}},
                {},
                1};
    make({});
  }
  void make(const std::vector<ReadPosition>& positions) {
    auto made = AttemptMetrics::make(sources_, positions);
    ASSERT_TRUE(made.has_value()) << made.error().message;
    metrics_ = std::move(*made);
  }
  std::vector<std::string> take(const std::optional<MetricsRead>& read) {
    std::vector<std::string> list;
    if (!read) return list;
    for (const MetricSample& s : read->samples) {
      EXPECT_EQ(s.at, Timestamp{77});
      list.push_back(show(ParsedPoint{s.name, s.step, s.value}));
    }
    for (const ReadPosition& position : read->positions) {
      std::erase_if(positions_, [&](const auto& p) { return p.source == position.source; });
      positions_.push_back(position);
    }
    return list;
  }
  std::vector<std::string> poll() { return take(metrics_->poll(Timestamp{77})); }
  std::vector<std::string> finish() {
    std::vector<std::string> all;
    while (!metrics_->done()) {
      for (std::string& one : take(metrics_->finish(Timestamp{77}))) all.push_back(std::move(one));
    }
    return all;
  }

  AttemptSources sources_;
  std::unique_ptr<AttemptMetrics> metrics_;
  std::vector<ReadPosition> positions_;
};

TEST_F(Attempt, ReadsAllSourcesAndSaysNothingWhenNothingIsNew) {
  EXPECT_EQ(metrics_->poll(Timestamp{77}), std::nullopt);
  append("attempt-1.log", "loss=0.5\nhello");
  append("metrics.jsonl", "{\"step\":1,\"acc\":0.9}\n");
  append("progress.csv", "step,ret\n3,7\n");
  EXPECT_THAT(poll(), ElementsAre("acc@1=0.9", "ret@3=7", "loss@1=0.5"));
  EXPECT_EQ(positions_.size(), 3u);
  EXPECT_EQ(metrics_->poll(Timestamp{77}), std::nullopt);
  append("attempt-1.log", " world\nnothing here\n");
  EXPECT_EQ(metrics_->poll(Timestamp{77}), std::nullopt) << "no points: nothing to commit";
  EXPECT_THAT(metrics_->names_seen(), ElementsAre("acc", "loss", "ret"));
  EXPECT_FALSE(metrics_->behind());
}

TEST_F(Attempt, CaseC2_TheLastLineNeedsNoEnd) {
  append("attempt-1.log", "\r1%|# loss=0.9\rdone loss=0.123");
  EXPECT_THAT(poll(), ElementsAre("loss@1=0.9"));
  EXPECT_THAT(finish(), ElementsAre("loss@2=0.123"));
  EXPECT_TRUE(metrics_->done());
}

TEST_F(Attempt, ANameBelongsToTheHighestSourceThatGivesIt) {
  append("attempt-1.log", "loss=9 only_log=1\n");
  EXPECT_THAT(poll(), ElementsAre("loss@1=9", "only_log@1=1"));
  append("progress.csv", "step,loss,acc\n5,8,0.5\n");
  append("attempt-1.log", "loss=7\n");
  EXPECT_THAT(poll(), ElementsAre("loss@5=8", "acc@5=0.5"));
  append("metrics.jsonl", "{\"step\":6,\"loss\":6}\n");
  append("progress.csv", "6,5,0.6\n");
  append("attempt-1.log", "loss=4 only_log=2\n");
  EXPECT_THAT(poll(), ElementsAre("loss@6=6", "acc@6=0.6", "only_log@2=2"));
}

TEST_F(Attempt, ACapturedFileMayBeCalledLikeASourceOfOurs) {
  for (const char* name : {"client", "log"}) {
    const std::string file = std::string(name) + ".captured";
    sources_.files = {{name, path(file)}};
    make({});
    positions_.clear();
    append("attempt-1.log", "a=1\n");
    append("metrics.jsonl", "{\"b\":1}\n");
    append(file, "cc=1\n");
    poll();
    EXPECT_EQ(positions_.size(), 3u);
    make(positions_);
    append(file, "cc=2\n");
    EXPECT_THAT(poll(), ElementsAre("cc@2=2")) << name;
    // What the next attempt begins with: all but the log.
    EXPECT_EQ(AttemptMetrics::for_next_attempt(positions_).size(), 2u);
  }
}

TEST_F(Attempt, PositionsOfEarlierVersionsAreUnderstood) {
  append("progress.csv", "step,ret\n3,7\n");
  poll();
  for (ReadPosition& position : positions_) {
    if (position.source.starts_with("file:")) position.source.erase(0, 5);
  }
  make(positions_);
  append("progress.csv", "4,8\n");
  EXPECT_THAT(poll(), ElementsAre("ret@4=8"));
}

TEST_F(Attempt, ASuccessorGoesOnExactlyIncludingTheOwnersOfNames) {
  append("metrics.jsonl", "{\"step\":1,\"loss\":0.5}\n{\"step\":2,");
  append("attempt-1.log", "Epoch 4\nother=1\n");
  EXPECT_THAT(poll(), ElementsAre("loss@1=0.5", "other@4=1"));
  make(positions_);
  append("metrics.jsonl", "\"loss\":0.25}\n");
  append("attempt-1.log", "loss=9 other=2\n");
  EXPECT_THAT(poll(), ElementsAre("loss@2=0.25", "other@4=2"));
  make(positions_);
  EXPECT_THAT(poll(), IsEmpty());
  EXPECT_THAT(metrics_->names_seen(), ElementsAre("loss", "other"));
}

TEST_F(Attempt, ALostPollIsReadAgain) {
  append("attempt-1.log", "loss=1\n");
  poll();
  append("attempt-1.log", "loss=2\n");
  ASSERT_TRUE(metrics_->poll(Timestamp{77}).has_value());  // never committed
  make(positions_);
  EXPECT_THAT(poll(), ElementsAre("loss@2=2"));
}

TEST_F(Attempt, TheNextAttemptDoesNotTakeTheSharedFilesOfTheLast) {
  append("progress.csv", "step,ret\n1,7\n");
  append("attempt-1.log", "loss=1\n");
  poll();
  const auto next = AttemptMetrics::for_next_attempt(positions_);
  EXPECT_EQ(next.size(), 1u) << "the log is its own";
  sources_.log_path = path("attempt-2.log");
  make(AttemptMetrics::for_next_attempt(next));  // an attempt that read nothing passes them on
  positions_.clear();
  EXPECT_THAT(poll(), IsEmpty());
  ASSERT_EQ(positions_.size(), 1u) << "what it inherits has to be kept as its own";
  EXPECT_EQ(metrics_->poll(Timestamp{77}), std::nullopt);
  append("attempt-2.log", "loss=2\n");
  EXPECT_THAT(poll(), ElementsAre("loss@1=2"));
  make(positions_);  // a new controller
  append("progress.csv", "2,8\n");
  EXPECT_THAT(poll(), ElementsAre("ret@2=8"));
  sources_.log_path = path("attempt-3.log");
  make(AttemptMetrics::for_next_attempt(positions_));
  rewrite("progress.csv", "step,ret\n1,7\n");
  EXPECT_THAT(poll(), ElementsAre("ret@1=7")) << "started again: its own points";
}

TEST_F(Attempt, ABigLogIsReadInBoundedPollsAndDrainedAtTheEnd) {
  std::string text;
  for (int i = 0; i < 40'000; ++i)
    text += "some text in front of it, then step=" + std::to_string(i) + " loss=1\n";
  ASSERT_GT(text.size(), 3u << 19);
  append("attempt-1.log", text);
  const std::size_t first = poll().size();
  EXPECT_TRUE(metrics_->behind());
  EXPECT_LT(first, 40'000u);
  EXPECT_EQ(first + finish().size(), 40'000u);
  EXPECT_FALSE(metrics_->behind());
}

TEST_F(Attempt, CaseD7_SeesTheTracebackOfItsLog) {
  append("attempt-1.log", "loss=1\nTraceback (most recent call last):\n");
  EXPECT_FALSE(metrics_->traceback_seen());
  poll();
  EXPECT_TRUE(metrics_->traceback_seen());
}

TEST_F(Attempt, NotesNameTheirSource) {
  append("progress.csv", "step,a\n1,2,3\n");
  poll();
  EXPECT_THAT(metrics_->take_notes(),
              ElementsAre(AllOf(HasSubstr("out/progress.csv: "), HasSubstr("more fields"))));
  EXPECT_THAT(metrics_->take_notes(), IsEmpty());
}

TEST_F(Attempt, CaseG7_AFileThatAllRanksWriteIsReportedAndNotRead) {
  append("progress.csv", "step,loss\n1,0.5\n1,9\n2,0.4\n");
  EXPECT_THAT(poll(), ElementsAre("loss@1=0.5", "loss@1=9", "loss@2=0.4"));  // one process may
  sources_.ranks = 2;
  make({});
  EXPECT_THAT(poll(), IsEmpty());
  append("progress.csv", "3,0.3\n");
  append("attempt-1.log", "acc=1\n");
  EXPECT_THAT(poll(), ElementsAre("acc@1=1"));
  EXPECT_THAT(metrics_->take_notes(), Contains(HasSubstr("let rank 0 alone write it")));
  rewrite("progress.csv", "step,loss\n1,0.5\n2,0.4\n");
  make({});
  EXPECT_THAT(poll(), ElementsAre("loss@1=0.5", "loss@2=0.4", "acc@1=1"));
  EXPECT_THAT(metrics_->take_notes(), IsEmpty());
}

TEST_F(Attempt, BadPatternsAndPositionsAreErrors) {
  sources_.capture = {{"", "(?P<x", ""}};
  EXPECT_EQ(AttemptMetrics::make(sources_, {}).error().code, ErrorCode::usage);
  sources_.capture = {};
  EXPECT_EQ(AttemptMetrics::make(sources_, {{"log", 3, "nonsense"}}).error().code,
            ErrorCode::damaged);
}

TEST_F(Attempt, HoldsNoDescriptorBetweenCalls) {
  append("attempt-1.log", "loss=1\n");
  append("metrics.jsonl", "{\"a\":1}\n");
  const auto count = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  const auto before = count();
  poll();
  EXPECT_EQ(count(), before);
}

// ---- capture-test

TEST(Explain, SaysWhichLineGaveWhatByWhichRule) {
  const auto made = explain_lines(
      "hello\nstep=3 loss=0.5 acc is 0.9\n| ret | 7 |\n----\nEpoch 4\nval loss: 1\r{\"a\": 2}\nend",
      {{"", R"(acc is (?P<acc>\S+))", ""},
       {"", R"(never (?P<never>\d))", ""},
       {"file.csv", "", ""}});
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(made->lines_read, 7u);
  EXPECT_EQ(made->lines_matched, 3u);
  EXPECT_THAT(made->pattern_matches, ElementsAre(1u, 0u));
  EXPECT_THAT(made->names, ElementsAre("a", "acc", "loss", "ret", "val loss"));
  std::vector<std::string> seen;
  for (const ExplainedLine& line : made->lines) {
    for (const ExplainedPoint& one : line.points) {
      seen.push_back(std::to_string(line.number) + " " + one.rule + " " + show(one.point));
    }
  }
  EXPECT_THAT(seen, ElementsAre("2 pattern 1 acc@3=0.9", "2 name=value loss@3=0.5",
                                "4 table ret@1=7", "6 name: value val loss@4=1", "6 object a@4=2"));
  EXPECT_EQ(made->lines[0].text, "step=3 loss=0.5 acc is 0.9");
}

TEST(Explain, APatternThatOnlySetsTheStepHasMatchedToo) {
  const auto made =
      explain_lines("round 3\nloss=1\nround x\n", {{"", R"(round (?P<step>\w+))", ""}});
  EXPECT_THAT(made->pattern_matches, ElementsAre(2u));
  ASSERT_EQ(made->lines.size(), 1u);
  EXPECT_EQ(show(made->lines[0].points[0].point), "loss@3=1");
}

TEST(Explain, KeepsTheFirstLinesOnly) {
  std::string text;
  for (int i = 0; i < 50; ++i) text += "a=1\n";
  const auto made = explain_lines(text, {}, 10);
  EXPECT_EQ(made->lines.size(), 10u);
  EXPECT_EQ(made->lines_matched, 50u);
  EXPECT_FALSE(explain_lines("", {{"", "(", ""}}).has_value());
  EXPECT_EQ(explain_lines("", {})->lines_read, 0u);
}

}  // namespace
}  // namespace seedbed
