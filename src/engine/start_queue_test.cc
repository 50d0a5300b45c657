#include "engine/start_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "engine/engine_testing.h"

namespace seedbed {
namespace {

using testing::Bench;
using testing::point_of;
using testing::small_config;

Point point(std::int64_t size, std::int64_t seed) {
  return Point{{{"size", Value::integer(size)}, {"seed", Value::integer(seed)}}};
}

TEST(DurationModel, TheParameterThatExplainsTheDurationsIsFound) {
  DurationModel model;
  EXPECT_FALSE(model.predict(point(1, 1)));
  for (std::int64_t seed = 0; seed < 5; ++seed) {
    for (std::int64_t size = 1; size <= 3; ++size) {
      model.learn(point(size, seed), static_cast<double>(10 * size + seed % 2));
    }
  }
  EXPECT_EQ(model.best(), "size");
  EXPECT_NEAR(*model.predict(point(3, 99)), 30.4, 0.01);
  EXPECT_NEAR(*model.predict(point(7, 99)), 20.4, 0.01) << "nothing is known: the mean of all";
}

TEST(DurationModel, AValueSeenOnceEachIsUsedOnlyWhenNothingElseExplains) {
  DurationModel once;
  for (std::int64_t id = 0; id < 10; ++id)
    once.learn(point_of(id, "id"), 10.0 * static_cast<double>(id));
  EXPECT_EQ(once.best(), "id");
  EXPECT_NEAR(*once.predict(point_of(7, "id")), 70, 1e-6);
  DurationModel both;
  for (std::int64_t id = 0; id < 10; ++id) {
    both.learn(Point{{{"id", Value::integer(id)}, {"size", Value::integer(id % 2)}}},
               id % 2 == 0 ? 1 : 9);
  }
  EXPECT_EQ(both.best(), "size");
}

TEST(DurationModel, EqualDurationsAndUselessParametersExplainNothing) {
  DurationModel model;
  for (std::int64_t seed = 0; seed < 8; ++seed) model.learn(point(seed % 2, seed % 4), 5);
  EXPECT_EQ(model.best(), "");
  EXPECT_DOUBLE_EQ(*model.predict(point(0, 0)), 5);
}

/// The 40 durations of the makespan figure, in seconds.
const std::vector<double> kDurations = {0.97, 0.46, 2.67, 0.66, 0.29, 1.34, 0.24, 4.33, 0.55, 2.49,
                                        3.43, 5.35, 7.69, 0.48, 3.35, 3.31, 1.1,  0.4,  0.3,  0.3,
                                        1.1,  0.58, 1.46, 0.09, 0.3,  1.04, 0.49, 1.96, 1.18, 2.84,
                                        0.45, 0.88, 3.15, 0.61, 0.13, 1.81, 0.23, 1.49, 0.25, 0.23};

/// Runs what is open to its end in simulated time; gives the time of the last end.
std::int64_t run_to_the_end(Bench& bench) {
  const std::int64_t began = bench.now;
  std::map<AttemptId, std::int64_t> ends;
  while (!bench.state().run_ended()) {
    for (const AttemptId id : bench.state().open_attempts()) {
      if (ends.contains(id)) continue;
      bench.runs(id);
      const auto size = bench.trial(id.trial).point.find("size")->number();
      const double seconds = kDurations[static_cast<std::size_t>(*size)];
      ends[id] = bench.now + static_cast<std::int64_t>(seconds * 1000);
    }
    const auto next = std::min_element(
        ends.begin(), ends.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    // A start may have planned more: these begin at the same moment.
    if (bench.state().open_attempts().size() > ends.size()) continue;
    const AttemptId id = next->first;
    bench.now = next->second;
    ends.erase(next);
    const auto size = bench.trial(id.trial).point.find("size")->number();
    const double seconds = kDurations[static_cast<std::size_t>(*size)];
    bench.ends(id, {}, static_cast<std::int64_t>(seconds * 1000));
    bench.gone(id);
  }
  return bench.now - began;
}

std::int64_t makespan(bool longest_first) {
  EngineConfig config = small_config(4);
  config.longest_first = longest_first;
  Bench bench(config);
  const auto space = [&bench](std::int64_t seeds) {
    bench.begin();
    ProposalsMade made;
    for (std::int64_t seed = 0; seed < seeds; ++seed) {
      for (std::int64_t size = 0; size < 40; ++size) {
        made.points.push_back({made.points.size(), point(size, seed)});
      }
    }
    made.next = made.points.size();
    made.exhausted = true;
    bench.give(made);
  };
  space(1);
  run_to_the_end(bench);
  bench.restart(config);
  space(2);
  return run_to_the_end(bench);
}

TEST(StartQueue, WithDurationsLearnedTheLongestGoFirstAndTheMakespanIsNearTheBound) {
  EXPECT_LE(makespan(true), 15'000 * 102 / 100);
  EXPECT_LE(makespan(false), 15'000 * 104 / 100) << "work-conserving in the order given";
}

TrialStatus waiting(TrialNumber number, std::int64_t not_before = 0) {
  TrialStatus trial;
  trial.number = number;
  trial.point = point_of(static_cast<std::int64_t>(number));
  trial.not_before = {not_before};
  return trial;
}

std::vector<TrialNumber> numbers(const std::vector<StartQueue::Key>& keys) {
  std::vector<TrialNumber> trials;
  for (const StartQueue::Key& key : keys) trials.push_back(key.trial);
  return trials;
}

TEST(StartQueue, AMeasureBelowZeroDoesNotHideWhatIsDue) {
  StudyState state;
  StartQueue queue(true);
  TrialStatus odd = waiting(1);
  odd.attempts.emplace_back();
  odd.attempts.back().usage.wall_ms = -5000;
  queue.learn(state, odd);
  queue.update(waiting(2, 200), true, {100});
  EXPECT_LE(queue.key(3, point_of(3)).minus_seconds, 0);
  EXPECT_FALSE(queue.next_due({200})) << "200 is not after 200";
  EXPECT_EQ(numbers(queue.first(1, {200}, {})), (std::vector<TrialNumber>{2}));
}

TEST(StartQueue, TrialsWhoseTimeHasComeTakeTheirPlaceByNumber) {
  StartQueue queue(false);
  for (const TrialNumber trial : {3U, 1U, 5U}) queue.update(waiting(trial), true, {100});
  queue.update(waiting(2, 200), true, {100});
  queue.update(waiting(4, 300), true, {100});
  EXPECT_EQ(numbers(queue.first(9, {150}, {})), (std::vector<TrialNumber>{1, 3, 5}));
  EXPECT_EQ(numbers(queue.first(9, {200}, {3})), (std::vector<TrialNumber>{1, 2, 5}));
  EXPECT_EQ(queue.next_due({150}), Timestamp{200});
  EXPECT_EQ(queue.next_due({200}), Timestamp{300});
  EXPECT_FALSE(queue.next_due({300}));
  queue.advance({250});
  EXPECT_EQ(queue.ready(), 4U);
  EXPECT_EQ(queue.ahead_of(5), 3U);
  queue.update(waiting(1), false, {250});
  EXPECT_EQ(numbers(queue.first(2, {250}, {})), (std::vector<TrialNumber>{2, 3}));
  queue.clear();
  EXPECT_TRUE(queue.first(9, {1000}, {}).empty());
}

}  // namespace
}  // namespace seedbed
