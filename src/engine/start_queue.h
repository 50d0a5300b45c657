#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "engine/duration_model.h"
#include "engine/state.h"

namespace seedbed {

/// The trials that could start if there were room, in the order in which they should: by number, or
/// the longest first as far as durations can be told, ties by number. An index beside StudyState,
/// kept by Engine::apply.
class StartQueue {
 public:
  /// The order of starting; smaller is sooner.
  struct Key {
    double minus_seconds = 0;
    TrialNumber trial = 0;
    auto operator<=>(const Key&) const = default;
  };

  explicit StartQueue(bool longest_first) : longest_first_(longest_first) {}

  /// Puts in, moves or takes out a trial after its state has changed.
  void update(const TrialStatus& trial, bool startable, Timestamp now);
  void clear();

  /// Learns from a completed trial; now and then the queue is put into a new order.
  void learn(const StudyState& state, const TrialStatus& trial);

  /// Trials whose waiting time is over join the others.
  void advance(Timestamp now);

  /// The first `count` that may start at `now`, but for those that `skip` names.
  [[nodiscard]] std::vector<Key> first(std::size_t count, Timestamp now,
                                       const std::set<TrialNumber>& skip) const;
  /// When the next trial's waiting time is over, after `now`.
  [[nodiscard]] std::optional<Timestamp> next_due(Timestamp now) const;
  /// How many would start before this one.
  [[nodiscard]] std::size_t ahead_of(TrialNumber trial) const;
  [[nodiscard]] std::size_t ready() const { return ready_.size(); }

  [[nodiscard]] Key key(TrialNumber trial, const Point& point) const;

 private:
  bool longest_first_;
  DurationModel model_;
  std::uint64_t ordered_at_ = 0;  // completed trials known when the order was made
  std::set<Key> ready_;
  std::map<TrialNumber, Key> keys_;
  std::set<std::pair<Timestamp, Key>> delayed_;
  std::map<TrialNumber, Timestamp> delays_;
};

}  // namespace seedbed
