#include "metrics/point_sink.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "base/random.h"
#include "base/text.h"

namespace seedbed {
namespace {

constexpr std::size_t kMostNames = 1000;
constexpr std::size_t kMostHeld = 8192;
constexpr std::size_t kSpreadMarks = 32;

std::uint64_t bits(double value) {
  return std::isnan(value) ? 0x7ff8000000000000u : std::bit_cast<std::uint64_t>(value);
}

std::uint64_t point_hash(std::string_view name, std::optional<double> step, double value) {
  std::uint64_t hash = hash_text(name, step ? 1 : 0);
  if (step) hash = mix(hash, bits(*step));
  return mix(hash, bits(value));
}

}  // namespace

void PointSink::add_row(const Row& row, std::optional<double> fallback,
                        std::vector<ParsedPoint>& points) {
  const Cell* step = row.step();
  const std::optional<double> at = step ? std::optional<double>(step->value) : fallback;
  for (const Cell& cell : row) {
    if (&cell != step) add(cell.name, at, cell.value, points);
  }
}

void PointSink::add(std::string_view name, std::optional<double> step, double value,
                    std::vector<ParsedPoint>& points) {
  if (!unsettled_.empty()) {
    for (const Held& held : unsettled_) give(held.name, held.step, held.value, points);
    unsettled_.clear();
  }
  const std::uint64_t hash = point_hash(name, step, value);
  if (replaying_) {
    replay(name, step, value, hash, points);
    return;
  }
  ++count_;
  hash_ = mix(hash_, hash);
  add_mark();
  give(name, step, value, points);
}

void PointSink::add_mark() {
  const bool spread = count_ % stride_ == 0;
  if (!spread && !std::has_single_bit(count_)) return;
  marks_.push_back({count_, hash_});
  if (marks_.size() <= kSpreadMarks + static_cast<std::size_t>(std::bit_width(count_))) return;
  stride_ *= 2;
  std::erase_if(marks_, [this](const Mark& mark) {
    return mark.count % stride_ != 0 && !std::has_single_bit(mark.count);
  });
}

void PointSink::replay(std::string_view name, std::optional<double> step, double value,
                       std::uint64_t hash, std::vector<ParsedPoint>& points) {
  ++replay_count_;
  replay_hash_ = mix(replay_hash_, hash);
  held_.push_back({std::string(name), step, value});
  const bool at_mark = next_mark_ < marks_.size() && marks_[next_mark_].count == replay_count_;
  const bool at_end = replay_count_ == count_;
  if (at_mark || at_end) {
    if (replay_hash_ == (at_mark ? marks_[next_mark_].hash : hash_)) {
      held_.clear();
      if (at_mark) ++next_mark_;
      if (at_end) replaying_ = false;
      return;
    }
  } else if (held_.size() < kMostHeld) {
    return;
  } else {
    notes_.add("rewritten from its start after very many points: some of them may be read twice");
  }
  leave_replay();
  give_held(points);
}

/// The new file is not the old one: from here its own points are what a later rewrite is held
/// against.
void PointSink::leave_replay() {
  replaying_ = false;
  marks_.resize(next_mark_);
  count_ = replay_count_;
  hash_ = replay_hash_;
}

void PointSink::give_held(std::vector<ParsedPoint>& points) {
  for (const Held& held : held_) give(held.name, held.step, held.value, points);
  held_.clear();
}

void PointSink::give(std::string_view name, std::optional<double> step, double value,
                     std::vector<ParsedPoint>& points) {
  auto found = last_step_.find(name);
  if (found == last_step_.end()) {
    if (last_step_.size() >= kMostNames) {
      notes_.add(fmt::format("more than {} different metric names: the further ones are not read",
                             kMostNames));
      return;
    }
    found = last_step_.emplace(std::string(name), step.value_or(1)).first;
  } else if (step) {
    if (*step < found->second && !std::exchange(told_backwards_, true)) {
      notes_.add(
          fmt::format("steps go backwards (first seen: {} at step {} after step {}); a "
                      "repeated step keeps its latest value",
                      one_line(name, 60), *step, found->second));
    }
    found->second = *step;
  } else {
    found->second += 1;
  }
  points.push_back({found->first, found->second, value});
}

void PointSink::finish(std::vector<ParsedPoint>& points) {
  for (const Held& held : unsettled_) give(held.name, held.step, held.value, points);
  unsettled_.clear();
  if (!replaying_) return;
  leave_replay();
  give_held(points);
}

void PointSink::restart() {
  if (replaying_) {
    // Rewritten again before it was clear what it is: what is held may be new, so it is not lost.
    unsettled_.insert(unsettled_.end(), held_.begin(), held_.end());
    if (unsettled_.size() > kMostHeld) unsettled_.resize(kMostHeld);
  }
  held_.clear();
  if (forget_steps_) last_step_.clear();
  forget_steps_ = false;
  replaying_ = count_ > 0;
  replay_count_ = 0;
  replay_hash_ = 0;
  next_mark_ = 0;
}

void PointSink::next_attempt() {
  count_ = 0;
  hash_ = 0;
  stride_ = 1;
  marks_.clear();
  replaying_ = false;
  held_.clear();
  unsettled_.clear();
  forget_steps_ = true;
}

std::vector<std::string> PointSink::names() const {
  std::vector<std::string> list;
  for (const auto& [name, step] : last_step_) list.push_back(name);
  return list;
}

void PointSink::save(StateWriter& state) const {
  state.number(last_step_.size());
  for (const auto& [name, step] : last_step_) {
    state.text(name);
    state.real(step);
  }
  state.number(count_);
  state.number(hash_);
  state.number(stride_);
  state.number(marks_.size());
  for (const Mark& mark : marks_) {
    state.number(mark.count);
    state.number(mark.hash);
  }
  state.flag(forget_steps_);
  state.flag(replaying_);
  state.number(replay_count_);
  state.number(replay_hash_);
  state.number(next_mark_);
  for (const std::vector<Held>* list : {&held_, &unsettled_}) {
    state.number(list->size());
    for (const Held& held : *list) {
      state.text(held.name);
      state.flag(held.step.has_value());
      state.real(held.step.value_or(0));
      state.real(held.value);
    }
  }
}

void PointSink::load(StateReader& state) {
  last_step_.clear();
  for (std::size_t i = state.count(); i > 0 && state.ok(); --i) {
    std::string name = state.text();
    last_step_[std::move(name)] = state.real();
  }
  count_ = state.number();
  hash_ = state.number();
  stride_ = std::max<std::uint64_t>(1, state.number());
  marks_.clear();
  for (std::size_t i = state.count(); i > 0 && state.ok(); --i) {
    const std::uint64_t count = state.number();
    marks_.push_back({count, state.number()});
  }
  forget_steps_ = state.flag();
  replaying_ = state.flag();
  replay_count_ = state.number();
  replay_hash_ = state.number();
  next_mark_ = std::min<std::size_t>(state.number(), marks_.size());
  for (std::vector<Held>* list : {&held_, &unsettled_}) {
    list->clear();
    for (std::size_t i = state.count(); i > 0 && state.ok(); --i) {
      Held held;
      held.name = state.text();
      const bool has_step = state.flag();
      const double step = state.real();
      if (has_step) held.step = step;
      held.value = state.real();
      list->push_back(std::move(held));
    }
  }
}

}  // namespace seedbed
