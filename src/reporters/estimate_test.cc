#include "reporters/estimate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <queue>

namespace seedbed {
namespace {

EstimateBasis basis(std::uint64_t finished, int mean_s, std::uint64_t slots,
                    std::vector<Milliseconds> busy, std::uint64_t waiting) {
  EstimateBasis b;
  b.finished = finished;
  b.mean = Milliseconds(mean_s * 1000);
  b.slots = slots;
  b.busy = std::move(busy);
  b.waiting = waiting;
  return b;
}

TEST(Estimate, CaseL7_SaysHowItWasMade) {
  const Estimate e = estimate_end(basis(12, 60, 4, {}, 8));
  ASSERT_TRUE(e.left.has_value());
  EXPECT_EQ(e.left->count(), 120'000);
  EXPECT_EQ(e.text(), "done in about 2m 00s (from 12 finished trials, 4 slots)");
  EXPECT_EQ(estimate_end(basis(1, 60, 1, {}, 1)).how, "from 1 finished trial, 1 slot");
}

TEST(Estimate, ARunningTrialNeedsOnlyItsRest) {
  EXPECT_EQ(estimate_end(basis(3, 10, 1, {Milliseconds(4000)}, 0)).left->count(), 6000);
  EXPECT_EQ(estimate_end(basis(3, 10, 1, {Milliseconds(4000)}, 2)).left->count(), 26'000);
}

TEST(Estimate, AnOverdueTrialNeverGivesANegativeRest) {
  EXPECT_EQ(estimate_end(basis(3, 10, 1, {Milliseconds(19'000)}, 0)).left->count(), 1000);
  // A clock set back makes the time taken negative.
  EXPECT_EQ(estimate_end(basis(3, 10, 1, {Milliseconds(-5000)}, 0)).left->count(), 10'000);
}

TEST(Estimate, ATrialThatHasOutlivedTheMeanIsNotNearlyDone) {
  EstimateBasis b = basis(2, 0, 4, {Milliseconds(92'000), Milliseconds(3000)}, 0);
  b.mean = Milliseconds(1);
  EXPECT_EQ(estimate_end(b).text(),
            "end not known: 2 running trials have taken 1m 32s so far, the 2 finished ones 1ms on "
            "average");
  EXPECT_EQ(
      estimate_end(basis(1, 10, 2, {Milliseconds(21'000)}, 5)).text(),
      "end not known: 1 running trial has taken 21.0s so far, the finished one 10.0s on average");
  // One of many: the others are still known.
  EXPECT_EQ(
      estimate_end(basis(10, 10, 2, {Milliseconds(60'000)}, 0)).text(),
      "done in about 1m 00s (from 10 finished trials, 2 slots; 1 running trial takes longer)");
  EXPECT_EQ(estimate_end(basis(10, 10, 2, {Milliseconds(60'000)}, 9)).left->count(), 90'000);
  EXPECT_FALSE(estimate_end(basis(10, 10, 1, {Milliseconds(60'000)}, 9)).left) << "its only slot";
  // A moment late is not overdue: it may have ended, unseen yet.
  b.busy = {Milliseconds(900)};
  EXPECT_TRUE(estimate_end(b).left);
}

TEST(Estimate, SaysWhyItCannotBeTold) {
  EXPECT_EQ(estimate_end(basis(0, 0, 4, {Milliseconds(1)}, 8)).text(),
            "end not known: no trial has finished yet");
  EstimateBasis b = basis(3, 10, 2, {}, 4);
  b.waiting = std::nullopt;
  EXPECT_EQ(estimate_end(b).text(), "end not known: the space has no known end");
  b = basis(3, 10, 2, {}, 4);
  b.paused = true;
  EXPECT_EQ(estimate_end(b).text(), "end not known: paused");
  b.stopping = true;
  EXPECT_EQ(estimate_end(b).text(), "end not known: the run is being stopped");
}

TEST(Estimate, NothingLeftIsZeroEvenBeforeAnythingFinished) {
  EXPECT_EQ(estimate_end(basis(0, 0, 2, {}, 0)).left->count(), 0);
}

TEST(Estimate, WhatAStoppingRunLeavesWaits) {
  EstimateBasis b = basis(2, 10, 2, {}, 0);
  b.stopping = true;
  b.held_back = 7;
  EXPECT_EQ(estimate_end(b).text(), "7 trials wait");
  b.held_back = 1;
  EXPECT_EQ(estimate_end(b).text(), "1 trial waits");
}

TEST(Estimate, OnlyOfADrainTheEndCanBeTold) {
  EstimateBasis b = basis(2, 10, 2, {Milliseconds(3)}, 7);
  b.stop(StopMode::drain);
  EXPECT_TRUE(estimate_end(b).left);
  EXPECT_EQ(b.held_back, 7u);
  b = basis(2, 10, 2, {Milliseconds(3)}, 7);
  b.stop(StopMode::kill);
  EXPECT_EQ(estimate_end(b).text(), "end not known: the run is being stopped");
}

TEST(Estimate, EndlessWorkDoesNotOverflow) {
  const Estimate e = estimate_end(basis(1, 1'000'000, 1, {}, ~std::uint64_t{0}));
  ASSERT_TRUE(e.left.has_value());
  EXPECT_GT(e.left->count(), 0);
}

TEST(Estimate, NoSlotsAndNoDurationAreNoDivisionByZero) {
  EXPECT_TRUE(estimate_end(basis(3, 0, 0, {}, 5)).left.has_value());
}

/// The closed form against the schedule played out trial by trial.
TEST(Estimate, AgreesWithThePlayedOutSchedule) {
  const int mean = 10'000;
  for (std::uint64_t slots = 1; slots <= 5; ++slots) {
    for (std::size_t running = 0; running <= 7; ++running) {
      for (std::uint64_t waiting = 0; waiting <= 17; ++waiting) {
        std::vector<Milliseconds> busy;
        for (std::size_t i = 0; i < running; ++i) {
          busy.push_back(Milliseconds((i * 3777) % 12'000));
        }
        std::vector<std::int64_t> ends;
        for (const auto taken : busy) {
          ends.push_back(std::clamp<std::int64_t>(mean - taken.count(), mean / 10, mean));
        }
        std::sort(ends.begin(), ends.end());
        std::int64_t last = ends.empty() ? 0 : ends.back();
        std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> seats;
        std::size_t skip = running > slots ? running - slots : 0;
        for (std::size_t i = skip; i < ends.size(); ++i) seats.push(ends[i]);
        while (seats.size() < slots) seats.push(0);
        for (std::uint64_t w = 0; w < waiting; ++w) {
          const std::int64_t end = seats.top() + mean;
          seats.pop();
          seats.push(end);
          last = std::max(last, end);
        }
        const Estimate e = estimate_end(basis(1, mean / 1000, slots, busy, waiting));
        ASSERT_TRUE(e.left.has_value());
        EXPECT_EQ(e.left->count(), last)
            << slots << " slots, " << running << " running, " << waiting << " waiting";
      }
    }
  }
}

}  // namespace
}  // namespace seedbed
