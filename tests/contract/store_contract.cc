#include "store_contract.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <csignal>
#include <limits>
#include <thread>
#include <variant>

#include "store/memory_store.h"
#include "store/sqlite_store.h"
#include "store/testing.h"

namespace seedbed {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<Entry> all_of(const Store& store, const std::string& metric = "") {
  std::vector<Entry> entries;
  const Status loaded = store.load(metric, [&](const Entry& entry) { entries.push_back(entry); });
  EXPECT_TRUE(loaded) << loaded.error().message;
  return entries;
}

std::unique_ptr<Store> open_in(StoreWorld& world) {
  auto opened = world.open();
  EXPECT_TRUE(opened) << opened.error().message;
  if (!opened) return nullptr;
  EXPECT_THAT(opened->notes, IsEmpty());
  return std::move(opened->store);
}

void commit_to(Store& store, const std::vector<Entry>& entries) {
  const Status committed = store.commit(entries);
  ASSERT_TRUE(committed) << committed.error().message;
}

TEST_P(StoreContract, ANewStoreIsEmpty) {
  const auto world = GetParam().make();
  const auto store = open_in(*world);
  EXPECT_THAT(all_of(*store, "loss"), IsEmpty());
  const auto positions = store->positions({1, 1});
  ASSERT_TRUE(positions);
  EXPECT_THAT(*positions, IsEmpty());
}

TEST_P(StoreContract, EveryKindComesBackInOrder) {
  const auto world = GetParam().make();
  std::vector<Entry> entries;
  for (const Record& record : testing::records_of_every_kind()) {
    // Numbers beyond what a database can number are for the codec's own test.
    if (std::holds_alternative<MetricsReported>(record)) continue;
    if (const auto* r = std::get_if<TrialProposed>(&record); r != nullptr) {
      TrialProposed proposed = *r;
      proposed.trial = 1;
      entries.push_back({{7}, proposed});
      continue;
    }
    if (record_word(record).substr(0, 4) == "atte" ||
        record_word(record) == "allocation_released") {
      continue;
    }
    entries.push_back({{static_cast<std::int64_t>(entries.size())}, record});
  }
  const std::vector<Entry> life = testing::sample_life(2, 100);
  entries.insert(entries.end(), life.begin(), life.end());
  {
    const auto store = open_in(*world);
    commit_to(*store, entries);
    EXPECT_TRUE(all_of(*store) == entries);
    ASSERT_TRUE(store->close());
  }
  const auto again = open_in(*world);
  EXPECT_TRUE(all_of(*again) == entries);
}

TEST_P(StoreContract, CommittedRecordsSurviveTheDeathOfTheProcess) {
  const auto world = GetParam().make();
  auto store = open_in(*world);
  const auto life = testing::sample_life(1, 0, 3);
  commit_to(*store, life);
  const auto before = all_of(*store, "loss");
  world->kill(std::move(store));
  store = open_in(*world);
  EXPECT_TRUE(all_of(*store, "loss") == before);
  commit_to(*store, testing::sample_life(2, 1000));
  EXPECT_EQ(all_of(*store).size(), 12U);
}

TEST_P(StoreContract, PointsOfTheAskedMetricComeLastAndOnlyThose) {
  const auto world = GetParam().make();
  const auto store = open_in(*world);
  commit_to(*store, {{{1}, testing::sample_trial(1)}});
  const AttemptId one{1, 1};
  const AttemptId two{2, 1};
  commit_to(*store,
            {{{5}, MetricsReported{one, {{"loss", 1, 0.5, {4}}, {"acc", 1, 0.9, {5}}}, {}}}});
  commit_to(*store, {{{6}, testing::sample_trial(2)}});
  commit_to(*store, {{{7}, MetricsReported{two, {{"loss", 1, 0.7, {7}}}, {}}},
                     {{8}, MetricsReported{one, {{"loss", 2, 0.4, {8}}}, {}}}});
  EXPECT_EQ(all_of(*store).size(), 2U);
  EXPECT_EQ(all_of(*store, "nothing").size(), 2U);
  const auto entries = all_of(*store, "loss");
  ASSERT_EQ(entries.size(), 5U);
  EXPECT_TRUE(entries[2] == (Entry{{4}, MetricsReported{one, {{"loss", 1, 0.5, {4}}}, {}}}));
  EXPECT_TRUE(entries[3] == (Entry{{7}, MetricsReported{two, {{"loss", 1, 0.7, {7}}}, {}}}));
  EXPECT_TRUE(entries[4] == (Entry{{8}, MetricsReported{one, {{"loss", 2, 0.4, {8}}}, {}}}));
}

TEST_P(StoreContract, CaseC7_NanAndInfinitiesAreKept) {
  const auto world = GetParam().make();
  const auto store = open_in(*world);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const MetricsReported report{{1, 1},
                               {{"loss", 1, nan, {1}},
                                {"loss", 2, kInfinity, {2}},
                                {"loss", 3, -kInfinity, {3}},
                                {"loss", nan, 1e-308, {4}}},
                               {}};
  commit_to(*store, {{{0}, testing::sample_trial(1)}, {{4}, report}});
  const auto entries = all_of(*store, "loss");
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_TRUE(entries[1].record == Record(report));
}

TEST_P(StoreContract, NamesOfAnyBytesAreKept) {
  const auto world = GetParam().make();
  const auto store = open_in(*world);
  const std::string odd("va\0l\xff/acc", 9);
  MetricsReported report{{1, 1}, {{odd, 1, 2, {3}}}, {{odd, 17, odd}, {"log", 4, ""}}};
  commit_to(*store, {{{0}, testing::sample_trial(1)}, {{3}, report}});
  ASSERT_EQ(all_of(*store, odd).size(), 2U);
  const auto positions = store->positions({1, 1});
  ASSERT_TRUE(positions);
  EXPECT_THAT(*positions, ::testing::UnorderedElementsAre(SourcePosition{odd, 17, odd},
                                                          SourcePosition{"log", 4, ""}));
}

TEST_P(StoreContract, TheLatestPositionOfEachSourceCounts) {
  const auto world = GetParam().make();
  auto store = open_in(*world);
  commit_to(*store, {{{0}, MetricsReported{{1, 1}, {}, {{"log", 10, "a"}, {"client", 5, ""}}}}});
  commit_to(*store, {{{1}, MetricsReported{{1, 1}, {}, {{"log", 30, "b"}}}},
                     {{1}, MetricsReported{{1, 2}, {}, {{"log", 99, "z"}}}}});
  world->kill(std::move(store));
  store = open_in(*world);
  const auto positions = store->positions({1, 1});
  ASSERT_TRUE(positions);
  EXPECT_THAT(*positions,
              ElementsAre(SourcePosition{"client", 5, ""}, SourcePosition{"log", 30, "b"}));
}

TEST_P(StoreContract, AnEmptyCommitIsNothing) {
  const auto world = GetParam().make();
  const auto store = open_in(*world);
  commit_to(*store, {});
  EXPECT_THAT(all_of(*store), IsEmpty());
}

TEST_P(StoreContract, AFullDiskAppliesNothingAndTheSameCommitWorksLater) {
  const auto world = GetParam().make();
  auto store = open_in(*world);
  commit_to(*store, testing::sample_life(1, 0, 5));
  const auto before = all_of(*store, "loss");
  if (!world->set_full(true)) GTEST_SKIP() << "this disk cannot be filled";
  const auto next = testing::sample_life(2, 1000, 5);
  for (int i = 0; i < 3; ++i) {
    const Status committed = store->commit(next);
    ASSERT_FALSE(committed);
    EXPECT_EQ(committed.error().code, ErrorCode::machine);
    EXPECT_TRUE(all_of(*store, "loss") == before);
  }
  world->set_full(false);
  commit_to(*store, next);
  const auto after = all_of(*store, "loss");
  EXPECT_EQ(after.size(), before.size() + next.size());
  world->kill(std::move(store));
  store = open_in(*world);
  EXPECT_TRUE(all_of(*store, "loss") == after);
}

TEST_P(StoreContract, SyncMayRunBesideCommits) {
  const auto world = GetParam().make();
  auto store = open_in(*world);
  std::thread worker([&] {
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(store->sync());
  });
  if (GetParam().name == "Memory") worker.join();  // it is for one thread
  for (TrialNumber trial = 1; trial <= 100; ++trial) {
    commit_to(*store, testing::sample_life(trial, 1000 * static_cast<std::int64_t>(trial)));
  }
  if (worker.joinable()) worker.join();
  ASSERT_TRUE(store->sync());
  EXPECT_EQ(all_of(*store).size(), 600U);
  ASSERT_TRUE(store->close());
  ASSERT_TRUE(store->close()) << "a second close does nothing";
}

// ---- the stores ----

class SqliteWorld : public StoreWorld {
 public:
  explicit SqliteWorld(Journal journal) : journal_(journal) {}
  Result<OpenedStore> open() override { return open_store_as(folder_.path(), true, journal_); }
  // Within one process the nearest to a death is to copy what is on the disk at that moment; real
  // deaths are in tests/fault.
  void kill(std::unique_ptr<Store> store) override {
    const std::filesystem::path from(folder_.path());
    const testing::TempFolder aside;
    for (const auto& file : std::filesystem::directory_iterator(from)) {
      std::filesystem::copy(file.path(),
                            std::filesystem::path(aside.path()) / file.path().filename());
    }
    store.reset();
    std::filesystem::remove_all(from);
    std::filesystem::copy(aside.path(), from);
  }
  // No file of this process may grow beyond the limit: writes fail as on a full disk.
  bool set_full(bool full) override {
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit = {};
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = full ? 1024 : limit.rlim_max;
    return setrlimit(RLIMIT_FSIZE, &limit) == 0;
  }

 private:
  testing::TempFolder folder_;
  Journal journal_;
};

class MemoryWorld : public StoreWorld {
 public:
  Result<OpenedStore> open() override { return OpenedStore{make_memory_store(disk_), {}}; }
  void kill(std::unique_ptr<Store> store) override { store.reset(); }
  bool set_full(bool full) override {
    disk_->set_full(full);
    return true;
  }

 private:
  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
};

INSTANTIATE_TEST_SUITE_P(
    Stores, StoreContract,
    ::testing::Values(StoreKind{"Sqlite",
                                [] { return std::make_unique<SqliteWorld>(Journal::wal); }},
                      StoreKind{"SqliteOnNetworkDisk",
                                [] { return std::make_unique<SqliteWorld>(Journal::rollback); }},
                      StoreKind{"Memory", [] { return std::make_unique<MemoryWorld>(); }}),
    [](const auto& kind) { return kind.param.name; });

}  // namespace
}  // namespace seedbed
