#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "results/study_reader.h"
#include "store/sqlite_store.h"
#include "store/testing.h"

// For the tests of results/ only.

namespace seedbed::testing {

/// A study in a folder of its own, written through the real store.
class WrittenStudy {
 public:
  WrittenStudy() { open(); }

  void open() {
    auto opened = open_store_as(folder_.path(), true, Journal::wal);
    ASSERT_TRUE(opened) << opened.error().message;
    store_ = std::move(opened->store);
  }
  void write(const std::vector<Entry>& entries) {
    const Status committed = store_->commit(entries);
    ASSERT_TRUE(committed) << committed.error().message;
  }
  void write(Record record) { write({{{now_++}, std::move(record)}}); }
  void close() {
    const Status closed = store_->close();
    ASSERT_TRUE(closed) << closed.error().message;
    store_.reset();
  }

  /// A trial that has run once; `losses` are its points, at steps 1, 2, …
  void trial(TrialNumber number, Point point, const std::vector<double>& losses,
             TrialState state = TrialState::completed, std::string reason = "",
             std::uint32_t revision = 1) {
    TrialProposed proposed;
    proposed.trial = number;
    proposed.identity = point.identity();
    proposed.point = std::move(point);
    proposed.revision = revision;
    proposed.folder = "folder-" + std::to_string(number);
    write(proposed);
    if (state == TrialState::waiting) return;
    const AttemptId attempt{number, 1};
    write(AttemptPlanned{attempt, sample_allocation(number)});
    write(sample_start(attempt));
    MetricsReported report{attempt, {}, {}};
    for (const double loss : losses) {
      report.points.push_back(
          {"loss", static_cast<double>(report.points.size() + 1), loss, {now_}});
    }
    if (!losses.empty()) write(report);
    if (state == TrialState::running) return;
    const int code = state == TrialState::failed ? 1 : 0;
    write(AttemptEnded{attempt, {OutcomeKind::exited, code, ""}, {2000, 1500, 4096, 10}});
    write(TrialFinished{number, state, std::move(reason),
                        state == TrialState::completed && losses.empty()});
    write(AllocationReleased{attempt});
  }

  [[nodiscard]] StudyReader reader() const {
    auto reader = StudyReader::open(folder_.path());
    EXPECT_TRUE(reader) << reader.error().message;
    return std::move(*reader);
  }
  [[nodiscard]] Snapshot snapshot(const SnapshotOptions& options = {}) const {
    auto snapshot = reader().snapshot(options);
    EXPECT_TRUE(snapshot) << snapshot.error().message;
    return std::move(*snapshot);
  }
  [[nodiscard]] const std::string& dir() const { return folder_.path(); }

 private:
  TempFolder folder_;
  std::unique_ptr<Store> store_;
  std::int64_t now_ = 1'700'000'000'000;
};

inline Point point_of(const std::string& lr, std::int64_t seed) {
  return {{{"lr", Value::from_plain(lr)}, {"seed", Value::integer(seed)}}};
}

}  // namespace seedbed::testing
