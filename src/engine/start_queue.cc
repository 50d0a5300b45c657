#include "engine/start_queue.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace seedbed {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

StartQueue::Key StartQueue::key(TrialNumber trial, const Point& point) const {
  if (!longest_first_) return {0, trial};
  return {-model_.predict(point).value_or(0), trial};
}

void StartQueue::update(const TrialStatus& trial, bool startable, Timestamp now) {
  const TrialNumber number = trial.number;
  if (const auto known = keys_.find(number); known != keys_.end()) {
    const auto delay = delays_.find(number);
    if (delay == delays_.end()) {
      ready_.erase(known->second);
    } else {
      delayed_.erase({delay->second, known->second});
      delays_.erase(delay);
    }
    keys_.erase(known);
  }
  if (!startable) return;
  const Key at = key(number, trial.point);
  keys_.emplace(number, at);
  if (trial.not_before > now) {
    delays_.emplace(number, trial.not_before);
    delayed_.emplace(trial.not_before, at);
  } else {
    ready_.insert(at);
  }
}

void StartQueue::clear() {
  ready_.clear();
  keys_.clear();
  delayed_.clear();
  delays_.clear();
}

void StartQueue::learn(const StudyState& state, const TrialStatus& trial) {
  if (!longest_first_) return;
  // After a late end a newer attempt may still run.
  const auto attempt =
      std::find_if(trial.attempts.rbegin(), trial.attempts.rend(), [](const AttemptStatus& one) {
        return one.phase == AttemptPhase::ended && one.outcome.succeeded();
      });
  if (attempt == trial.attempts.rend()) return;
  // Measured by the shim: differences of wall-clock times may be anything.
  model_.learn(trial.point,
               static_cast<double>(std::max<std::int64_t>(0, attempt->usage.wall_ms)) / 1000);
  // Early knowledge changes much, later little: 5 % more of it is worth a new order.
  if (model_.learned() - ordered_at_ < std::max<std::uint64_t>(1, model_.learned() / 20)) return;
  ordered_at_ = model_.learned();
  std::set<Key> ready;
  for (const Key& old : ready_) {
    const Key fresh = key(old.trial, state.trial(old.trial)->point);
    keys_[old.trial] = fresh;
    ready.insert(fresh);
  }
  ready_ = std::move(ready);
}

void StartQueue::advance(Timestamp now) {
  while (!delayed_.empty() && delayed_.begin()->first <= now) {
    const Key at = delayed_.begin()->second;
    delayed_.erase(delayed_.begin());
    delays_.erase(at.trial);
    ready_.insert(at);
  }
}

std::vector<StartQueue::Key> StartQueue::first(std::size_t count, Timestamp now,
                                               const std::set<TrialNumber>& skip) const {
  std::vector<Key> chosen;
  for (const auto& [due, at] : delayed_) {
    if (due > now) break;
    if (!skip.contains(at.trial)) chosen.push_back(at);
  }
  std::size_t taken = 0;
  for (const Key& at : ready_) {
    if (taken == count) break;
    if (skip.contains(at.trial)) continue;
    chosen.push_back(at);
    ++taken;
  }
  std::sort(chosen.begin(), chosen.end());
  if (chosen.size() > count) chosen.resize(count);
  return chosen;
}

std::optional<Timestamp> StartQueue::next_due(Timestamp now) const {
  const auto next = delayed_.lower_bound({Timestamp{now.ms + 1}, Key{-kInfinity, 0}});
  if (next == delayed_.end()) return std::nullopt;
  return next->first;
}

std::size_t StartQueue::ahead_of(TrialNumber trial) const {
  const auto known = keys_.find(trial);
  if (known == keys_.end() || delays_.contains(trial)) return ready_.size();
  return static_cast<std::size_t>(std::distance(ready_.begin(), ready_.find(known->second)));
}

}  // namespace seedbed
