// Torn and damaged study.db: what a start makes of it (case I7).

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/random.h"
#include "engine/state.h"
#include "store/sqlite_store.h"
#include "store/testing.h"

namespace seedbed {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;
using testing::sample_life;
using testing::TempFolder;

constexpr int kPoints = 3;

std::vector<Entry> first_commit() {
  return {{{0}, testing::sample_space()}, {{0}, testing::sample_run()}};
}

std::vector<Entry> commit_number(TrialNumber trial) {
  return sample_life(trial, 1000 * static_cast<std::int64_t>(trial), kPoints);
}

struct Loaded {
  std::vector<Entry> records, points;
  std::vector<std::string> notes;
};

Loaded open_and_load(const std::string& dir, Journal journal = Journal::wal) {
  Loaded loaded;
  auto opened = open_store_as(dir, false, journal);
  EXPECT_TRUE(opened) << opened.error().message;
  if (!opened) return loaded;
  loaded.notes = opened->notes;
  const Status read = opened->store->load("loss", [&](const Entry& entry) {
    const bool point = std::holds_alternative<MetricsReported>(entry.record);
    (point ? loaded.points : loaded.records).push_back(entry);
  });
  EXPECT_TRUE(read) << read.error().message;
  // It can be gone on with.
  const Status written = opened->store->commit({{{1}, NoteAdded{0, "test", "on"}}});
  EXPECT_TRUE(written) << written.error().message;
  return loaded;
}

// How many commits the records are; fails unless they are whole ones, in order, with their points.
TrialNumber whole_commits(const Loaded& loaded) {
  std::vector<Entry> records = first_commit();
  TrialNumber trials = 0;
  while (records.size() < loaded.records.size()) {
    for (Entry& entry : commit_number(++trials)) {
      if (!std::holds_alternative<MetricsReported>(entry.record)) {
        records.push_back(std::move(entry));
      }
    }
  }
  EXPECT_TRUE(records == loaded.records) << "half a commit, or another one";
  std::size_t points = 0;
  for (const Entry& entry : loaded.points) {
    points += std::get<MetricsReported>(entry.record).points.size();
  }
  EXPECT_EQ(points, trials * kPoints);
  return trials;
}

void copy_study(const std::string& from, const std::string& to) {
  fs::remove_all(to);
  fs::create_directory(to);
  for (const auto& file : fs::directory_iterator(from)) {
    fs::copy(file.path(), to + "/" + file.path().filename().string());
  }
}

// A process that commits one trial after another and is killed when it has committed `trials`,
// wherever it then is. Gives how many it had said were committed.
TrialNumber killed_writer(const std::string& dir, TrialNumber trials, Journal journal) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    auto opened = open_store_as(dir, true, journal);
    if (!opened || !opened->store->commit(first_commit())) _exit(1);
    for (TrialNumber trial = 1;; ++trial) {
      if (!opened->store->commit(commit_number(trial))) _exit(2);
      if (write(ends[1], &trial, sizeof(trial)) != sizeof(trial)) _exit(3);
    }
  }
  close(ends[1]);
  TrialNumber said = 0;
  while (said < trials && read(ends[0], &said, sizeof(said)) == sizeof(said)) {
  }
  kill(child, SIGKILL);
  TrialNumber more = 0;
  while (read(ends[0], &more, sizeof(more)) == sizeof(more)) said = more;
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << "exit code " << WEXITSTATUS(status);
  return said;
}

TEST(TornStore, CaseI7_NothingThatWasCommittedIsLostByAKill) {
  for (const Journal journal : {Journal::wal, Journal::rollback}) {
    const TempFolder folder;
    const TrialNumber said = killed_writer(folder.path(), 20, journal);
    const Loaded loaded = open_and_load(folder.path(), journal);
    const TrialNumber trials = whole_commits(loaded);
    EXPECT_GE(trials, said);
    EXPECT_LE(trials, said + 1) << "one may have been committed and not yet said";
  }
}

TEST(TornStore, CaseI7_TheWalCutAtEachOfItsLast300Bytes) {
  const TempFolder folder;
  killed_writer(folder.path(), 10, Journal::wal);
  const TempFolder place;
  const std::string copy = place.path() + "/copy";
  copy_study(folder.path(), copy);
  const TrialNumber all = whole_commits(open_and_load(copy));
  const auto size = fs::file_size(folder.path() + "/study.db-wal");
  int noted = 0;
  for (std::uintmax_t cut = 1; cut <= 300; ++cut) {
    SCOPED_TRACE(cut);
    copy_study(folder.path(), copy);
    fs::remove(copy + "/study.db-shm");
    fs::resize_file(copy + "/study.db-wal", size - cut);
    const Loaded loaded = open_and_load(copy);
    const TrialNumber trials = whole_commits(loaded);
    EXPECT_GE(trials + 1, all) << "more than the last commit was lost";
    if (!loaded.notes.empty()) {
      ++noted;
      EXPECT_THAT(loaded.notes[0], HasSubstr("dropped"));
    }
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_EQ(noted, 300) << "what was dropped must be said";
}

TEST(TornStore, CaseI7_TheWalCutAnywhere) {
  const TempFolder folder;
  killed_writer(folder.path(), 5, Journal::wal);
  const TempFolder place;
  const std::string copy = place.path() + "/copy";
  const auto size = fs::file_size(folder.path() + "/study.db-wal");
  Random random(1, 0);
  TrialNumber most = 0;
  for (int i = 0; i < 60; ++i) {
    copy_study(folder.path(), copy);
    fs::remove(copy + "/study.db-shm");
    fs::resize_file(copy + "/study.db-wal", random.below(size + 1));
    auto opened = open_store_as(copy, false, Journal::wal);
    ASSERT_TRUE(opened) << opened.error().message;
    opened->store.reset();
    const Loaded loaded = open_and_load(copy);
    if (loaded.records.empty()) continue;  // cut before the first commit
    most = std::max(most, whole_commits(loaded));
    if (HasFailure()) return;
  }
  EXPECT_GT(most, 0U);
}

TEST(TornStore, CaseI7_ZerosBehindTheWalAreNoRecord) {
  const TempFolder folder;
  killed_writer(folder.path(), 5, Journal::wal);
  const TempFolder place;
  const std::string copy = place.path() + "/copy";
  copy_study(folder.path(), copy);
  const TrialNumber all = whole_commits(open_and_load(copy));
  copy_study(folder.path(), copy);
  std::ofstream(copy + "/study.db-wal", std::ios::app) << std::string(4096, '\0');
  const Loaded loaded = open_and_load(copy);
  EXPECT_EQ(whole_commits(loaded), all);
}

// A study that ended cleanly, as one plain file.
void write_clean(const std::string& dir, TrialNumber trials) {
  auto opened = open_store_as(dir, true, Journal::wal);
  ASSERT_TRUE(opened) << opened.error().message;
  ASSERT_TRUE(opened->store->commit(first_commit()));
  for (TrialNumber trial = 1; trial <= trials; ++trial) {
    ASSERT_TRUE(opened->store->commit(commit_number(trial)));
  }
  ASSERT_TRUE(opened->store->close());
  ASSERT_FALSE(fs::exists(dir + "/study.db-wal"));
}

// Folds what was saved; every trial in it that has completed had completed before, and every point
// is one that was reported. Gives the number of completed trials.
std::uint64_t check_saved(const Loaded& loaded) {
  StudyState state;
  state.follow("loss");
  for (const Entry& entry : loaded.records) state.apply(entry);
  for (const Entry& entry : loaded.points) {
    state.apply(entry);
    for (const MetricPoint& point : std::get<MetricsReported>(entry.record).points) {
      EXPECT_GE(point.step, 1);
      EXPECT_LE(point.step, kPoints);
      EXPECT_DOUBLE_EQ(point.value, 1.0 / point.step);
    }
  }
  std::uint64_t completed = 0;
  for (const auto& [number, trial] : state.trials()) {
    EXPECT_TRUE(trial.point == testing::sample_point(number));
    if (trial.state == TrialState::completed) ++completed;
  }
  return completed;
}

TEST(TornStore, CaseI7_AFinishedStudyCutAtEachOfItsLast300Bytes) {
  const TempFolder folder;
  const std::string original = folder.path() + "/original";
  fs::create_directory(original);
  write_clean(original, 40);
  const std::string copy = folder.path() + "/copy";
  const auto size = fs::file_size(original + "/study.db");
  for (std::uintmax_t cut = 1; cut <= 300; cut += cut < 20 ? 1 : 7) {
    SCOPED_TRACE(cut);
    copy_study(original, copy);
    fs::resize_file(copy + "/study.db", size - cut);
    const Loaded loaded = open_and_load(copy);
    check_saved(loaded);
    ASSERT_FALSE(loaded.notes.empty());
    EXPECT_THAT(loaded.notes[0], HasSubstr("damaged"));
    EXPECT_TRUE(fs::exists(copy + "/study.db.damaged-1"));
    EXPECT_EQ(fs::file_size(copy + "/study.db.damaged-1"), size - cut);
    // The next start finds nothing to repair.
    EXPECT_TRUE(open_and_load(copy).notes.empty());
    if (HasFailure()) return;
  }
}

TEST(TornStore, CaseI7_BytesBehindTheEndAreNoRecord) {
  const TempFolder folder;
  for (const std::size_t more : {1U, 100U, 4096U, 10'000U}) {
    const std::string dir = folder.path() + "/" + std::to_string(more);
    fs::create_directory(dir);
    write_clean(dir, 10);
    std::ofstream(dir + "/study.db", std::ios::app) << std::string(more, '\0');
    const Loaded loaded = open_and_load(dir);
    EXPECT_EQ(whole_commits(loaded), 10U);
    ASSERT_EQ(loaded.notes.size(), 1U);
    EXPECT_THAT(loaded.notes[0], HasSubstr(std::to_string(more) + " bytes behind the end"));
  }
}

std::uintmax_t root_page_of_records(const std::string& path) {
  auto database = sqlite::Database::open(path, sqlite::OpenMode::read);
  EXPECT_TRUE(database);
  const auto root = database->integer("SELECT rootpage FROM sqlite_master WHERE name='records'");
  EXPECT_TRUE(root);
  return static_cast<std::uintmax_t>(*root);
}

TEST(TornStore, CaseI7_AnyPageOverwritten) {
  const TempFolder folder;
  const std::string original = folder.path() + "/original";
  fs::create_directory(original);
  constexpr TrialNumber kTrials = 60;
  write_clean(original, kTrials);
  const std::string copy = folder.path() + "/copy";
  const auto pages = fs::file_size(original + "/study.db") / 4096;
  ASSERT_GT(pages, 20U);
  Random random(2, 0);
  const auto root = root_page_of_records(original + "/study.db");
  std::uint64_t least = kTrials, most = 0;
  for (std::uintmax_t page = 1; page < pages; ++page) {
    if (page + 1 == root) continue;  // the one that leads to all others
    for (const bool zeros : {true, false}) {
      SCOPED_TRACE(std::to_string(page) + (zeros ? " zeros" : " noise"));
      copy_study(original, copy);
      std::string noise(4096, '\0');
      if (!zeros) {
        for (char& byte : noise) byte = static_cast<char>(random.below(256));
      }
      std::fstream file(copy + "/study.db", std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(static_cast<std::streamoff>(page * 4096));
      file.write(noise.data(), static_cast<std::streamsize>(noise.size()));
      file.close();
      const std::uint64_t completed = check_saved(open_and_load(copy));
      least = std::min(least, completed);
      most = std::max(most, completed);
      if (HasFailure()) return;
    }
  }
  EXPECT_EQ(most, kTrials);
  EXPECT_GE(least, kTrials - 10) << "one page holds the records of a few trials";
}

TEST(TornStore, CaseI7_WithoutAFirstPageItIsRefusedAndLeftAlone) {
  const TempFolder folder;
  write_clean(folder.path(), 5);
  const std::string path = folder.path() + "/study.db";
  const auto size = fs::file_size(path);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.write(std::string(4096, 'x').data(), 4096);
  file.close();
  for (int i = 0; i < 2; ++i) {
    const auto opened = open_store_as(folder.path(), true, Journal::wal);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ErrorCode::damaged);
    EXPECT_THAT(opened.error().message, HasSubstr("nothing was changed"));
    EXPECT_EQ(fs::file_size(path), size);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
  }
}

TEST(TornStore, CaseI7_ASalvageThatWasCutShortIsFinished) {
  const TempFolder folder;
  write_clean(folder.path(), 5);
  // Ready, but not yet in its place: the old files are still there, with a WAL that must not be
  // applied to the new one.
  fs::rename(folder.path() + "/study.db", folder.path() + "/study.db.ready");
  std::ofstream(folder.path() + "/study.db") << "damaged";
  std::ofstream(folder.path() + "/study.db-wal") << "damaged too";
  EXPECT_EQ(whole_commits(open_and_load(folder.path())), 5U);
  EXPECT_FALSE(fs::exists(folder.path() + "/study.db.ready"));
}

TEST(TornStore, CaseI7_ATrialWhoseFateCannotBeReadWaitsAgain) {
  const TempFolder folder;
  write_clean(folder.path(), 5);
  {
    auto database = sqlite::Database::open(folder.path() + "/study.db", sqlite::OpenMode::write);
    ASSERT_TRUE(database);
    // A changed byte in the fate of trials 2 and 5, and in how trial 1's attempt has ended.
    ASSERT_TRUE(database->execute(
        "UPDATE records SET body=replace(body, 'completed', 'compLeted') "
        "WHERE kind='trial_finished' AND body LIKE '%\"trial\":2%' OR "
        "kind='trial_finished' AND body LIKE '%\"trial\":5%';"
        "UPDATE records SET body=body||' ' WHERE kind='attempt_ended' AND body LIKE '%1.1%';"));
  }
  const Loaded loaded = open_and_load(folder.path());
  ASSERT_GE(loaded.notes.size(), 3U);
  EXPECT_THAT(loaded.notes[0], HasSubstr("3 records in between could not be read"));
  EXPECT_THAT(loaded.notes, ::testing::Contains(HasSubstr("trials 2, 5 could not be read")));
  EXPECT_EQ(check_saved(loaded), 3U) << "what cannot be read is not counted as completed";
  auto database = sqlite::Database::open(folder.path() + "/study.db", sqlite::OpenMode::read);
  EXPECT_EQ(*database->integer("SELECT count(*) FROM trials WHERE state='waiting'"), 2);
  EXPECT_EQ(*database->integer("SELECT count(*) FROM trials WHERE state='running'"), 0);
  EXPECT_EQ(*database->integer("SELECT count(*) FROM notes WHERE trial IN (2, 5)"), 2);
  // The next start finds nothing to repair.
  EXPECT_TRUE(open_and_load(folder.path()).notes.empty());
}

TEST(TornStore, TablesThatDisagreeAreMadeAgainFromTheRecords) {
  const TempFolder folder;
  write_clean(folder.path(), 5);
  {
    auto database = sqlite::Database::open(folder.path() + "/study.db", sqlite::OpenMode::write);
    ASSERT_TRUE(database);
    ASSERT_TRUE(database->execute("DELETE FROM trials WHERE trial=3; DELETE FROM attempts"));
  }
  const Loaded loaded = open_and_load(folder.path());
  EXPECT_EQ(whole_commits(loaded), 5U);
  ASSERT_EQ(loaded.notes.size(), 1U);
  EXPECT_THAT(loaded.notes[0], HasSubstr("made again"));
  auto database = sqlite::Database::open(folder.path() + "/study.db", sqlite::OpenMode::read);
  EXPECT_EQ(*database->integer("SELECT count(*) FROM trials WHERE state='completed'"), 5);
  EXPECT_EQ(*database->integer("SELECT count(released_ms) FROM attempts"), 5);
}

}  // namespace
}  // namespace seedbed
