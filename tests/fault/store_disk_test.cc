// The store against disks that are full, read-only, or of another kind; and its readers.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "results/study_reader.h"
#include "store/file_system.h"
#include "store/sqlite_store.h"
#include "store/testing.h"

namespace seedbed {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;
using testing::sample_life;
using testing::TempFolder;

std::unique_ptr<Store> open_at(const std::string& dir, Journal journal = Journal::wal) {
  auto opened = open_store_as(dir, true, journal);
  EXPECT_TRUE(opened) << opened.error().message;
  return opened ? std::move(opened->store) : nullptr;
}

std::size_t count_entries(const Store& store) {
  std::size_t count = 0;
  EXPECT_TRUE(store.load("loss", [&](const Entry&) { ++count; }));
  return count;
}

// Runs `work` in a process of its own, as another user when asked; its result is the exit code.
template <typename Work>
int in_child(Work work, uid_t user = 0) {
  const pid_t child = fork();
  if (child == 0) {
    if (user != 0 && (setgid(user) != 0 || setuid(user) != 0)) _exit(99);
    _exit(work());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// A file system in memory of one megabyte, while it lives.
class SmallDisk {
 public:
  SmallDisk() { mounted_ = mount("seedbed", folder_.path().c_str(), "tmpfs", 0, "size=1m") == 0; }
  ~SmallDisk() {
    if (mounted_) umount2(folder_.path().c_str(), MNT_DETACH);
  }
  [[nodiscard]] bool mounted() const { return mounted_; }
  [[nodiscard]] const std::string& path() const { return folder_.path(); }

 private:
  TempFolder folder_;
  bool mounted_ = false;
};

TEST(StoreDisk, AFullDiskAppliesNothingAndGoesOnWhenThereIsRoom) {
  const SmallDisk disk;
  if (!disk.mounted()) GTEST_SKIP() << "no permission to mount a tmpfs";
  for (const Journal journal : {Journal::wal, Journal::rollback}) {
    const std::string dir = disk.path() + (journal == Journal::wal ? "/wal" : "/rollback");
    fs::create_directory(dir);
    auto store = open_at(dir, journal);
    ASSERT_TRUE(store->commit(sample_life(1, 0, 5)));
    {
      std::ofstream ballast(disk.path() + "/ballast", std::ios::binary);
      while (ballast << std::string(512, 'x') << std::flush) {
      }
    }
    TrialNumber trial = 2;
    Status committed;
    while (trial < 1000) {
      committed = store->commit(sample_life(trial, 1000, 5));
      if (!committed) break;
      ++trial;
    }
    ASSERT_FALSE(committed) << "the disk never filled";
    EXPECT_EQ(committed.error().code, ErrorCode::machine);
    EXPECT_THAT(committed.error().message, HasSubstr("room"));
    const std::size_t before = count_entries(*store);
    EXPECT_EQ(before, 6 * (trial - 1) + (trial - 1));
    EXPECT_FALSE(store->commit(sample_life(trial, 1000, 5)));
    EXPECT_EQ(count_entries(*store), before);
    fs::remove(disk.path() + "/ballast");
    ASSERT_TRUE(store->commit(sample_life(trial, 1000, 5)));
    ASSERT_TRUE(store->close());
    store = open_at(dir, journal);
    EXPECT_EQ(count_entries(*store), before + 7);
    store.reset();
    fs::remove_all(dir);
  }
}

TEST(StoreDisk, AFolderThatCannotBeWrittenIsRefusedWithItsName) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  const TempFolder folder;
  chmod(folder.path().c_str(), 0555);
  const int code = in_child(
      [&] {
        const auto opened = open_store(folder.path(), true);
        if (opened || opened.error().code != ErrorCode::machine) return 1;
        return opened.error().message.find(folder.path()) == std::string::npos ? 2 : 0;
      },
      65534);
  EXPECT_EQ(code, 0);
}

TEST(StoreDisk, AMissingStudyIsNotMadeUnlessAsked) {
  const TempFolder folder;
  const auto opened = open_store(folder.path(), false);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::usage);
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(StoreDisk, CaseD5_AStudyWhoseMakerDiedBeforeItsFirstCommitIsMadeAnew) {
  const TempFolder folder;
  // What SQLite leaves when it has rolled the first transaction back: a file without tables.
  {
    auto empty = sqlite::Database::open(folder.path() + "/study.db", sqlite::OpenMode::create);
    ASSERT_TRUE(empty->execute("CREATE TABLE t(x); DROP TABLE t"));
  }
  ASSERT_GT(fs::file_size(folder.path() + "/study.db"), 0U);
  const auto asked = open_store(folder.path(), false);
  ASSERT_FALSE(asked);
  EXPECT_EQ(asked.error().code, ErrorCode::usage);
  const auto store = open_at(folder.path());
  ASSERT_NE(store, nullptr);
  EXPECT_TRUE(store->commit(sample_life(1, 1000)));
  EXPECT_GT(count_entries(*store), 0U);
}

TEST(StoreDisk, CaseD5_AMakerThatIsKilledAtAnyMomentLeavesAStudyThatOpens) {
  for (int trial = 0; trial < 40; ++trial) {
    const TempFolder folder;
    const pid_t child = fork();
    if (child == 0) {
      for (;;) {
        static_cast<void>(open_store(folder.path(), true));
        fs::remove(folder.path() + "/study.db");
      }
    }
    usleep(500 + 150 * static_cast<useconds_t>(trial));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const auto opened = open_store(folder.path(), true);
    EXPECT_TRUE(opened) << opened.error().message;
  }
}

TEST(StoreDisk, ADatabaseOfAnotherProgramOrANewerVersionIsRefused) {
  const TempFolder folder;
  {
    auto other = sqlite::Database::open(folder.path() + "/study.db", sqlite::OpenMode::create);
    ASSERT_TRUE(other->execute("CREATE TABLE songs(id)"));
  }
  auto opened = open_store(folder.path(), true);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::usage);
  EXPECT_THAT(opened.error().message, HasSubstr("another program"));

  fs::remove(folder.path() + "/study.db");
  open_at(folder.path()).reset();
  {
    auto newer = sqlite::Database::open(folder.path() + "/study.db", sqlite::OpenMode::write);
    ASSERT_TRUE(newer->execute("PRAGMA user_version=999"));
  }
  opened = open_store(folder.path(), true);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::usage);
  EXPECT_THAT(opened.error().message, HasSubstr("newer"));
  const auto reader = StudyReader::open(folder.path());
  ASSERT_FALSE(reader);
  EXPECT_THAT(reader.error().message, HasSubstr("newer"));
}

TEST(StoreDisk, CaseI5_DisksWithoutLocksAreRefusedInWords) {
  EXPECT_TRUE(judge_locks("/net", 0, EAGAIN));
  for (const auto& [first, second] : {std::pair{ENOLCK, ENOLCK}, {EOPNOTSUPP, 0}, {0, 0}}) {
    const Status verdict = judge_locks("/net", first, second);
    ASSERT_FALSE(verdict);
    EXPECT_EQ(verdict.error().code, ErrorCode::machine);
    EXPECT_THAT(verdict.error().message, HasSubstr("/net"));
    EXPECT_THAT(verdict.error().message, HasSubstr("--dir"));
  }
  const TempFolder folder;
  EXPECT_TRUE(check_locks(folder.path()));
  EXPECT_TRUE(fs::is_empty(folder.path())) << "the probe is taken away";
}

TEST(StoreDisk, CaseI5_AReaderThatHoldsOnDoesNotStopTheWriter) {
  const TempFolder folder;
  auto store = open_at(folder.path());
  ASSERT_TRUE(store->commit(sample_life(1, 0, 3)));
  int ready[2], leave[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(leave), 0);
  const pid_t reader = fork();
  if (reader == 0) {
    close(leave[1]);
    auto database = sqlite::Database::open(folder.path() + "/study.db", sqlite::OpenMode::read);
    if (!database || !database->execute("BEGIN")) _exit(1);
    const auto before = database->integer("SELECT count(*) FROM records");
    char byte = 'r';
    if (!before || write(ready[1], &byte, 1) != 1 || read(leave[0], &byte, 1) != 0) _exit(2);
    const auto after = database->integer("SELECT count(*) FROM records");
    _exit(after && *after == *before ? 0 : 3);
  }
  close(leave[0]);
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  for (TrialNumber trial = 2; trial <= 200; ++trial) {
    ASSERT_TRUE(store->commit(sample_life(trial, 1000, 3)));
  }
  ASSERT_TRUE(store->sync());
  // With the reader still there the WAL stays, and so does every record.
  ASSERT_TRUE(store->close());
  close(leave[1]);
  int status = 0;
  waitpid(reader, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  store = open_at(folder.path());
  EXPECT_EQ(count_entries(*store), 200U * 7U);
  ASSERT_TRUE(store->close());
  EXPECT_FALSE(fs::exists(folder.path() + "/study.db-wal"));
}

TEST(StoreDisk, CaseL5_LookingAtARunningStudyDisturbsNothing) {
  for (const Journal journal : {Journal::wal, Journal::rollback}) {
    const TempFolder folder;
    auto store = open_at(folder.path(), journal);
    ASSERT_TRUE(store->commit({{{0}, testing::sample_space()}}));
    std::vector<pid_t> readers;
    for (int i = 0; i < 3; ++i) {
      const pid_t reader = fork();
      if (reader == 0) {
        // Looks until the study is complete; every look must find whole commits.
        for (std::uint64_t seen = 0; seen < 100;) {
          const auto study = StudyReader::open(folder.path());
          if (!study) _exit(1);
          const auto snapshot = study->snapshot();
          if (!snapshot || snapshot->trials.size() < seen) _exit(2);
          for (const TrialRow& trial : snapshot->trials) {
            if (trial.state != TrialState::completed || trial.metrics.size() != 1) _exit(3);
          }
          seen = snapshot->trials.size();
        }
        _exit(0);
      }
      readers.push_back(reader);
    }
    for (TrialNumber trial = 1; trial <= 100; ++trial) {
      ASSERT_TRUE(store->commit(sample_life(trial, 1000, 3)));
      if (trial == 50) kill(readers[0], SIGKILL);
    }
    for (std::size_t i = 0; i < readers.size(); ++i) {
      int status = 0;
      waitpid(readers[i], &status, 0);
      if (i > 0) {
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
      }
    }
    ASSERT_TRUE(store->close());
    EXPECT_EQ(fs::file_size(folder.path() + "/study.db") % 4096, 0U);
    EXPECT_FALSE(fs::exists(folder.path() + "/study.db-wal"));
  }
}

TEST(StoreDisk, AReadOnlyCopyOfAFinishedStudyIsRead) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  const TempFolder folder;
  auto store = open_at(folder.path());
  ASSERT_TRUE(store->commit(sample_life(1, 0, 3)));
  ASSERT_TRUE(store->close());
  chmod(folder.path().c_str(), 0555);
  const int code = in_child(
      [&] {
        const auto reader = StudyReader::open(folder.path());
        if (!reader) return 1;
        const auto status = reader->status();
        return status && status->outside + status->count(TrialState::completed) == 1 ? 0 : 2;
      },
      65534);
  EXPECT_EQ(code, 0);
}

TEST(StoreDisk, AnotherUserReadsARunningStudyInACopy) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  const TempFolder folder;
  auto store = open_at(folder.path());
  ASSERT_TRUE(store->commit(sample_life(1, 0, 3)));
  chmod(folder.path().c_str(), 0755);
  for (const auto& file : fs::directory_iterator(folder.path())) {
    chmod(file.path().c_str(), 0644);
  }
  const int code = in_child(
      [&] {
        const auto reader = StudyReader::open(folder.path());
        if (!reader) return 1;
        const auto snapshot = reader->snapshot();
        return snapshot && snapshot->trials.size() == 1 ? 0 : 2;
      },
      65534);
  EXPECT_EQ(code, 0);
  ASSERT_TRUE(store->commit(sample_life(2, 0, 3)));
}

TEST(StoreDisk, AJournalThatMustBeRolledBackIsLookedAtInACopy) {
  const TempFolder folder;
  const std::string live = folder.path() + "/live";
  const std::string copy = folder.path() + "/copy";
  fs::create_directory(live);
  fs::create_directory(copy);
  auto store = open_at(live, Journal::rollback);
  ASSERT_TRUE(store->commit(sample_life(1, 0, 3)));
  ASSERT_TRUE(store->close());
  store.reset();
  // In the middle of a transaction that has spilled to the file.
  auto writer = sqlite::Database::open(live + "/study.db", sqlite::OpenMode::write);
  ASSERT_TRUE(
      writer->execute("PRAGMA cache_size=1; PRAGMA cache_spill=1; BEGIN IMMEDIATE;"
                      "UPDATE trials SET state='failed';"
                      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n LIMIT "
                      "5000) INSERT INTO notes(at_ms,trial,kind,text) SELECT i,0,'x',"
                      "hex(zeroblob(100)) FROM n"));
  for (const char* name : {"study.db", "study.db-journal"}) {
    fs::copy(live + "/" + name, copy + "/" + name);
  }
  ASSERT_GT(fs::file_size(copy + "/study.db-journal"), 0U);
  const auto size = fs::file_size(copy + "/study.db-journal");
  const auto reader = StudyReader::open(copy);
  ASSERT_TRUE(reader) << reader.error().message;
  const auto snapshot = reader->snapshot();
  ASSERT_TRUE(snapshot) << snapshot.error().message;
  EXPECT_EQ(snapshot->trials.at(0).state, TrialState::completed);
  EXPECT_EQ(fs::file_size(copy + "/study.db-journal"), size) << "looking wrote";
  // The next controller rolls it back for good.
  store = open_at(copy, Journal::rollback);
  EXPECT_EQ(count_entries(*store), 7U);
}

}  // namespace
}  // namespace seedbed
