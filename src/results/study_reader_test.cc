#include "results/study_reader.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "engine/state.h"
#include "results/results_testing.h"

namespace seedbed {
namespace {

namespace fs = std::filesystem;

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::point_of;
using ::testing::SizeIs;
using ::testing::StartsWith;
using testing::TempFolder;
using testing::WrittenStudy;

// Names, sizes and times of everything in a folder.
std::vector<std::string> state_of(const std::string& folder) {
  std::vector<std::string> lines;
  for (const auto& file : fs::directory_iterator(folder)) {
    struct stat info = {};
    stat(file.path().c_str(), &info);
    lines.push_back(file.path().filename().string() + " " + std::to_string(info.st_size) + " " +
                    std::to_string(info.st_mtim.tv_sec) + "." +
                    std::to_string(info.st_mtim.tv_nsec));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

TEST(StudyReader, AFolderWithoutAStudySaysSo) {
  const TempFolder folder;
  for (const std::string& dir : {folder.path(), folder.path() + "/nosuch"}) {
    const auto reader = StudyReader::open(dir);
    ASSERT_FALSE(reader);
    EXPECT_EQ(reader.error().code, ErrorCode::usage);
    EXPECT_THAT(reader.error().message, HasSubstr("no study"));
  }
}

TEST(StudyReader, ADatabaseOfAnotherProgramIsRefused) {
  const TempFolder folder;
  std::ofstream(folder.path() + "/study.db") << "not a database at all, whatever its name says";
  const auto reader = StudyReader::open(folder.path());
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().code, ErrorCode::damaged);
}

TEST(StudyReader, AnEmptyDatabaseIsDamageOnlyWhereTrialsLieBesideIt) {
  const TempFolder folder;
  std::ofstream(folder.path() + "/study.db").flush();
  EXPECT_EQ(StudyReader::open(folder.path()).error().code, ErrorCode::usage);
  fs::create_directories(folder.path() + "/trials/00001-lr1");
  const auto reader = StudyReader::open(folder.path());
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().code, ErrorCode::damaged);
  EXPECT_THAT(reader.error().message, HasSubstr("seedbed run --study"));
}

TEST(StudyReader, CaseL7_OneScreenOfStatus) {
  WrittenStudy study;
  SpaceSet space = testing::sample_space();
  space.spec_yaml =
      "command: [\"true\", \"${args}\"]\nparameters: {lr: [1, 2, 3, 4, 5, 6, 7, 8]}\n";
  study.write(space);
  study.write(testing::sample_run());
  study.trial(1, point_of("1", 0), {0.5});
  study.trial(2, point_of("2", 0), {0.5}, TrialState::pruned, "worse than the median");
  study.trial(3, point_of("3", 0), {}, TrialState::failed, "exit code 1");
  study.trial(4, point_of("4", 0), {0.1}, TrialState::running);
  study.trial(5, point_of("5", 0), {}, TrialState::waiting);
  study.trial(6, point_of("6", 0), {});
  study.write(NoteAdded{0, "cores", "64 cores seen, 4 usable"});
  study.write(PauseSet{true});
  study.write(WidthSet{7});
  const auto status = study.reader().status();
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(status->count(TrialState::completed), 2U);
  EXPECT_EQ(status->count(TrialState::pruned), 1U);
  EXPECT_EQ(status->count(TrialState::failed), 1U);
  EXPECT_EQ(status->count(TrialState::running), 1U);
  EXPECT_EQ(status->count(TrialState::waiting), 1U);
  EXPECT_EQ(status->metric_missing, 1U);
  EXPECT_EQ(status->unproposed, 2U);
  EXPECT_TRUE(status->unproposed_exact);
  EXPECT_EQ(status->total(), 8U);
  ASSERT_THAT(status->failures, SizeIs(1));
  EXPECT_EQ(status->failures[0].trial, 3U);
  EXPECT_EQ(status->failures[0].reason, "exit code 1");
  ASSERT_THAT(status->running, SizeIs(1));
  EXPECT_EQ(status->running[0].trial, 4U);
  EXPECT_TRUE(status->running[0].started_at);
  EXPECT_EQ(status->finished_attempts, 3U);
  EXPECT_EQ(status->mean_wall, Milliseconds(2000));
  EXPECT_TRUE(status->paused);
  EXPECT_EQ(status->slots, 7U);
  ASSERT_TRUE(status->last_run);
  EXPECT_EQ(status->last_run->pid, 4711);
  EXPECT_FALSE(status->last_run->ended_at);
  ASSERT_THAT(status->notes, SizeIs(1));
  EXPECT_FALSE(status->finished());
  EXPECT_EQ(status->exit_code(), 6);
}

TEST(StudyReader, OnlyTheLatestAttemptsRunAndCount) {
  WrittenStudy study;
  study.write(testing::sample_space());
  study.trial(1, point_of("1", 0), {0.5}, TrialState::failed, "exit code 1");
  study.trial(2, point_of("2", 0), {0.5}, TrialState::failed, "exit code 1");
  study.trial(3, point_of("3", 0), {0.5});
  for (const TrialNumber trial : {1, 2}) {
    study.write(TrialReopened{trial, "retry"});
    study.write(AttemptPlanned{{trial, 2}, testing::sample_allocation(trial)});
    study.write(testing::sample_start({trial, 2}));
  }
  study.write(AttemptEnded{{2, 2}, {OutcomeKind::exited, 0, ""}, {6000, 1500, 4096, 10}});
  study.write(TrialFinished{2, TrialState::completed, "", false});
  const auto status = study.reader().status();
  ASSERT_TRUE(status) << status.error().message;
  ASSERT_THAT(status->running, SizeIs(1));
  EXPECT_EQ(status->running[0].trial, 1U);
  EXPECT_EQ(status->running[0].attempt, 2U);
  EXPECT_EQ(status->finished_attempts, 2U);
  EXPECT_EQ(status->mean_wall, Milliseconds(4000));
}

TEST(StudyReader, ExitCodesOfAFinishedStudy) {
  WrittenStudy study;
  study.write(testing::sample_space());
  study.trial(1, point_of("1", 0), {0.5});
  EXPECT_EQ(study.reader().status()->exit_code(), 6) << "the walk is not over";
  study.write(SpaceWalked{1, 1});
  EXPECT_EQ(study.reader().status()->exit_code(), 0);
  study.trial(2, point_of("2", 0), {}, TrialState::failed, "exit code 1");
  EXPECT_EQ(study.reader().status()->exit_code(), 1);
  study.write(TrialReopened{2, "retry"});
  EXPECT_EQ(study.reader().status()->exit_code(), 6);
  study.write(TrialFinished{2, TrialState::cancelled, "", false});
  EXPECT_EQ(study.reader().status()->exit_code(), 0);
}

TEST(StudyReader, CaseI2_OtherCommandsAndOldRevisionsAreOutside) {
  WrittenStudy study;
  study.write(testing::sample_space(1));
  study.trial(1, point_of("1", 0), {0.5});
  study.trial(2, point_of("2", 0), {0.5});
  SpaceSet other = testing::sample_space(2);
  other.command_identity = "another program";
  study.write(other);
  study.trial(3, point_of("1", 0), {0.5}, TrialState::completed, "", 2);
  auto status = study.reader().status();
  EXPECT_EQ(status->outside, 2U);
  EXPECT_EQ(status->count(TrialState::completed), 1U);
  // Back to the first command: its added trials count again, those of the other do not.
  study.write(testing::sample_space(3));
  study.write(TrialKept{2, 3, 0, true});
  status = study.reader().status();
  EXPECT_EQ(status->outside, 2U);
  EXPECT_EQ(status->outside_never_run, 0U);
  study.trial(4, point_of("4", 0), {}, TrialState::waiting, "", 2);
  status = study.reader().status();
  EXPECT_EQ(status->outside, 3U);
  EXPECT_EQ(status->outside_never_run, 1U);
  EXPECT_FALSE(study.snapshot().trial(1)->in_space);
  EXPECT_TRUE(study.snapshot().trial(2)->in_space);
  EXPECT_FALSE(study.snapshot().trial(3)->in_space);
}

TEST(StudyReader, CaseI13_EverythingAboutATrialAndTheLineThatRepeatsIt) {
  WrittenStudy study;
  study.write(testing::sample_space());
  TrialProposed proposed = testing::sample_trial(1);
  study.write(proposed);
  study.write(AttemptPlanned{{1, 1}, testing::sample_allocation(1)});
  AttemptStarted started = testing::sample_start({1, 1});
  started.details_json =
      R"({"argv":["python3","train.py","--name=it's a test"],"cwd":"/home/me/my exp",)"
      R"("env":{"OMP_NUM_THREADS":"1","SEEDBED_TRIAL":"1","DEBUG":null,"A":"b c"},)"
      R"("program":"/usr/bin/python3","git_commit":"abc","git_dirty":true,)"
      R"("code_file":"/home/me/train.py","code_hash":"0123456789abcdef","new":[1]})";
  study.write(started);
  study.write(AttemptStopping{{1, 1}, StopCause::interrupted, "interrupted (INT)"});
  study.write(AttemptEnded{{1, 1}, {OutcomeKind::stopped, 15, ""}, {10, 9, 8, 7}});
  study.write(AllocationReleased{{1, 1}});
  study.write(TrialRequeued{1, RequeueCause::interrupted, {1'800'000'000'000}});
  study.write(NoteAdded{1, "code_changed", "train.py changed"});
  const auto details = study.reader().trial(1);
  ASSERT_TRUE(details) << details.error().message;
  EXPECT_EQ(details->row.state, TrialState::waiting);
  EXPECT_EQ(details->not_before, (Timestamp{1'800'000'000'000}));
  EXPECT_THAT(details->notes, SizeIs(1));
  ASSERT_THAT(details->attempts, SizeIs(1));
  const AttemptDetails& attempt = details->attempts[0];
  EXPECT_EQ(attempt.phase, "ended");
  EXPECT_TRUE(attempt.allocation == testing::sample_allocation(1));
  EXPECT_EQ(attempt.started->host, "node1");
  EXPECT_EQ(attempt.stopping->reason, "interrupted (INT)");
  EXPECT_EQ(attempt.outcome->kind, OutcomeKind::stopped);
  EXPECT_EQ(attempt.usage->peak_memory, 8U);
  EXPECT_EQ(attempt.git_commit, "abc");
  EXPECT_TRUE(attempt.git_dirty);
  EXPECT_EQ(attempt.code_hash, "0123456789abcdef");
  EXPECT_EQ(attempt.log, study.dir() + "/trials/1-folder/attempt-1.log");
  EXPECT_EQ(details->repeat_line(),
            "d=$(mktemp -d) && cd '/home/me/my exp' && env -u DEBUG 'A=b c' OMP_NUM_THREADS=1 "
            "SEEDBED_STUDY_DIR=" +
                study.dir() + " SEEDBED_TRIAL=1 SEEDBED_ATTEMPT=1 SEEDBED_SLOT=" +
                std::to_string(attempt.allocation.slot) + " SEEDBED_PARAMS=" + study.dir() +
                "/trials/1-folder/params.json SEEDBED_METRICS=/dev/null "
                "SEEDBED_STOP=/dev/null/stop SEEDBED_TRIAL_DIR=\"$d\" python3 train.py " +
                shell_quote("--name=it's a test"));
}

TEST(StudyReader, TheRepeatLineHasAFreshFolderWhereverTheTrialsOwnStood) {
  WrittenStudy study;
  SpaceSet space = testing::sample_space();
  space.spec_yaml = "template: /home/me/cfg.yaml\n";
  study.write(space);
  study.write(testing::sample_trial(1));
  study.write(AttemptPlanned{{1, 1}, testing::sample_allocation(1)});
  AttemptStarted started = testing::sample_start({1, 1});
  const std::string own = study.dir() + "/trials/1-folder";
  started.details_json = R"({"argv":["t","--out=DIR/a b","DIR/cfg.yaml","DIR/args.json","DIR"],)"
                         R"("cwd":"DIR","env":{"LOG":"DIR/log","P":"DIR/wandb-params.yaml"}})";
  for (std::size_t at = 0; (at = started.details_json.find("DIR")) != std::string::npos;) {
    started.details_json.replace(at, 3, own);
  }
  study.write(started);
  const std::string line = study.reader().trial(1)->repeat_line();
  EXPECT_THAT(line, StartsWith("d=$(mktemp -d) && cd \"$d\" && env LOG=\"$d\"/log P=" + own +
                               "/wandb-params.yaml SEEDBED_STUDY_DIR="));
  EXPECT_THAT(line, EndsWith(" SEEDBED_TRIAL_DIR=\"$d\" t --out=\"$d\"'/a b' " + own +
                             "/cfg.yaml " + own + "/args.json \"$d\""));
}

TEST(StudyReader, DetailsThatAreNoJsonDoNoHarm) {
  WrittenStudy study;
  study.write(testing::sample_space());
  study.write(testing::sample_trial(1));
  study.write(AttemptPlanned{{1, 1}, testing::sample_allocation(1)});
  for (const char* text : {"", "null", "[", R"({"argv":"x","env":[1],"git_dirty":"yes"})"}) {
    AttemptStarted started = testing::sample_start({1, 1});
    started.details_json = text;
    study.write(started);
    const auto details = study.reader().trial(1);
    ASSERT_TRUE(details) << text;
    EXPECT_EQ(details->repeat_line(), "");
  }
}

TEST(StudyReader, AnUnknownTrialIsRefusedWithTheLastNumber) {
  WrittenStudy study;
  study.write(testing::sample_space());
  EXPECT_THAT(study.reader().trial(1).error().message, HasSubstr("none yet"));
  study.trial(1, point_of("1", 0), {});
  for (const TrialNumber number : {TrialNumber{0}, TrialNumber{2}}) {
    const auto details = study.reader().trial(number);
    ASSERT_FALSE(details);
    EXPECT_EQ(details.error().code, ErrorCode::usage);
    EXPECT_THAT(details.error().message, HasSubstr("last one is 1"));
  }
}

TEST(StudyReader, CaseL5_FollowingGivesTheSameStateAsTheRecords) {
  WrittenStudy study;
  const StudyReader reader = study.reader();
  StudyState state;
  FollowPosition position;
  const auto follow = [&] {
    std::size_t entries = 0;
    auto next = reader.entries_after(position, [&](const Entry& entry) {
      state.apply(entry);
      ++entries;
    });
    EXPECT_TRUE(next) << next.error().message;
    position = *next;
    return entries;
  };
  EXPECT_EQ(follow(), 0U);
  study.write(testing::sample_space());
  study.write(testing::sample_run());
  EXPECT_EQ(follow(), 2U);
  study.trial(1, point_of("1", 0), {0.5, 0.4}, TrialState::running);
  EXPECT_EQ(follow(), 4U);
  EXPECT_EQ(state.trial(1)->state, TrialState::running);
  EXPECT_EQ(state.trial(1)->last_metrics.at("loss"), 0.4);
  EXPECT_EQ(follow(), 0U) << "nothing twice";
  study.write(MetricsReported{{1, 1}, {{"loss", 3, 0.3, {9}}, {"acc", 3, 0.9, {9}}}, {}});
  EXPECT_EQ(follow(), 1U);
  EXPECT_EQ(state.trial(1)->last_metrics.at("acc"), 0.9);
  study.close();
  EXPECT_EQ(follow(), 0U) << "the same study as one plain file";
}

TEST(StudyReader, FollowingGivesTheLatestOfAThinnedCurve) {
  WrittenStudy study;
  study.write(testing::sample_space());
  study.trial(1, point_of("1", 0), std::vector<double>(2049, 1.0), TrialState::running);
  const StudyReader reader = study.reader();
  StudyState state;
  auto position = reader.entries_after({}, [&](const Entry& entry) { state.apply(entry); });
  ASSERT_TRUE(position);
  study.write(MetricsReported{{1, 1}, {{"loss", 2050, 2, {9}}, {"loss", 2051, 3, {9}}}, {}});
  position = reader.entries_after(*position, [&](const Entry& entry) { state.apply(entry); });
  EXPECT_EQ(state.trial(1)->last_metrics.at("loss"), 3);
}

TEST(StudyReader, CurvesKeepFirstLastExtremesAndTheRecentPoints) {
  WrittenStudy study;
  study.write(testing::sample_space());
  constexpr int kPoints = 100'000;
  std::vector<double> losses(kPoints, 1.0);
  losses[70'000] = -5;
  losses[70'001] = 5;
  study.trial(1, point_of("1", 0), losses);
  const auto curve = study.reader().curve(1, "loss");
  ASSERT_TRUE(curve);
  EXPECT_LT(curve->size(), 9000U);
  EXPECT_EQ(curve->front().step, 1);
  EXPECT_EQ(curve->back().step, kPoints);
  for (int i = 0; i < 128; ++i) {
    EXPECT_EQ((*curve)[curve->size() - 1 - static_cast<std::size_t>(i)].step, kPoints - i);
  }
  int extremes = 0;
  double gap = 0;
  for (std::size_t i = 0; i < curve->size(); ++i) {
    if ((*curve)[i].value != 1.0) ++extremes;
    if (i > 0) {
      EXPECT_GT((*curve)[i].step, (*curve)[i - 1].step);
      gap = std::max(gap, (*curve)[i].step - (*curve)[i - 1].step);
    }
  }
  EXPECT_EQ(extremes, 2);
  EXPECT_LE(gap, 64);
  const Snapshot snapshot = study.snapshot({{{"loss", 100}}});
  EXPECT_EQ(snapshot.trial(1)->metric("loss")->tail.size(), 100U);
  EXPECT_EQ(snapshot.trial(1)->metric("loss")->n, static_cast<std::uint64_t>(kPoints));
  EXPECT_EQ(*snapshot.trial(1)->metric("loss")->min_step, 70'001);
}

TEST(StudyReader, LookingWritesNothing) {
  WrittenStudy study;
  study.write(testing::sample_space());
  study.trial(1, point_of("1", 0), {0.5});
  study.close();
  const auto before = state_of(study.dir());
  EXPECT_THAT(before, SizeIs(1)) << "a clean end leaves one plain file";
  EXPECT_TRUE(study.reader().status());
  EXPECT_TRUE(study.reader().trial(1));
  EXPECT_THAT(study.snapshot().trials, SizeIs(1));
  EXPECT_EQ(state_of(study.dir()), before);
}

TEST(StudyReader, AWalWithoutItsSharedMemoryIsReadInACopy) {
  WrittenStudy study;
  study.write(testing::sample_space());
  study.trial(1, point_of("1", 0), {0.5});
  // As a copy of the folder, or a power cut, leaves it. The copying drops this process's locks,
  // which does no harm here: nobody else uses the study.
  const TempFolder copy;
  for (const char* name : {"study.db", "study.db-wal"}) {
    fs::copy(study.dir() + "/" + name, copy.path() + "/" + name);
  }
  const auto before = state_of(copy.path());
  const auto reader = StudyReader::open(copy.path());
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_THAT(reader->snapshot()->trials, SizeIs(1));
  EXPECT_EQ(reader->status()->count(TrialState::completed), 1U);
  EXPECT_EQ(state_of(copy.path()), before);
}

TEST(StudyReader, ListsStudiesByNameAndNamesTheUnreadable) {
  const TempFolder folder;
  EXPECT_THAT(*list_studies(folder.path() + "/nosuch"), IsEmpty());
  for (const char* name : {"b", "a", "c"}) {
    fs::create_directory(folder.path() + "/" + name);
    auto opened = open_store_as(folder.path() + "/" + name, true, Journal::wal);
    ASSERT_TRUE(opened);
    ASSERT_TRUE(opened->store->close());
  }
  fs::create_directory(folder.path() + "/empty");
  fs::create_directory(folder.path() + "/odd");
  std::ofstream(folder.path() + "/odd/study.db") << std::string(5000, 'x');
  fs::last_write_time(folder.path() + "/a/study.db",
                      fs::file_time_type::clock::now() + std::chrono::hours(1));
  const auto studies = list_studies(folder.path());
  ASSERT_TRUE(studies);
  std::vector<std::string> names;
  for (const ListedStudy& study : *studies) names.push_back(study.name);
  EXPECT_THAT(names, ElementsAre("a", "b", "c", "odd"));
  EXPECT_TRUE(studies->at(0).status);
  EXPECT_THAT(studies->at(3).error, HasSubstr("damaged"));
}

TEST(StudyReader, MetricNamesAndTheSweepFileOfEachRevision) {
  WrittenStudy study;
  EXPECT_FALSE(study.reader().spec_yaml());
  study.write(testing::sample_space(1));
  SpaceSet second = testing::sample_space(2);
  second.spec_yaml = "second";
  study.write(second);
  EXPECT_EQ(*study.reader().spec_yaml(), "second");
  EXPECT_EQ(*study.reader().spec_yaml(1), testing::sample_space(1).spec_yaml);
  EXPECT_FALSE(study.reader().spec_yaml(3));
  study.trial(1, point_of("1", 0), {1});
  study.write(MetricsReported{{1, 1}, {{"acc", 1, 1, {1}}}, {}});
  EXPECT_THAT(*study.reader().metric_names(), ElementsAre("acc", "loss"));
  EXPECT_THAT(*study.reader().curve(1, "nosuch"), IsEmpty());
  EXPECT_THAT(*study.reader().curve(9, "loss"), IsEmpty());
}

}  // namespace
}  // namespace seedbed
