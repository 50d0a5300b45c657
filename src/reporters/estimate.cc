#include "reporters/estimate.h"

#include <fmt/format.h>

#include <algorithm>

namespace seedbed {
namespace {

constexpr double kFarthestMs = 1e14;  // some thousand years: nobody reads further
constexpr double kOverdueMs = 1000;   // what is late by less than this may only be slow to be seen

std::string plural(std::uint64_t count, std::string_view word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

}  // namespace

void EstimateBasis::stop(StopMode mode) {
  stopping = mode != StopMode::drain;
  held_back = waiting.value_or(0);
  waiting = 0;
}

std::string Estimate::text() const {
  if (!left) return "end not known: " + how;
  if (left->count() == 0) return how;
  return fmt::format("done in about {} ({})", format_duration(*left), how);
}

Estimate estimate_end(const EstimateBasis& basis) {
  if (!basis.waiting) return {std::nullopt, "the space has no known end"};
  if (*basis.waiting == 0 && basis.busy.empty()) {
    if (basis.held_back == 0) return {Milliseconds(0), "nothing is left to run"};
    return {Milliseconds(0), fmt::format("{} {}", plural(basis.held_back, "trial"),
                                         basis.held_back == 1 ? "waits" : "wait")};
  }
  if (basis.stopping) return {std::nullopt, "the run is being stopped"};
  if (basis.paused && *basis.waiting > 0) return {std::nullopt, "paused"};
  if (basis.finished == 0) return {std::nullopt, "no trial has finished yet"};

  const double mean = static_cast<double>(std::max<std::int64_t>(basis.mean.count(), 1));
  std::uint64_t slots = std::max<std::uint64_t>(basis.slots, 1);
  std::vector<double> busy;  // how long each running trial still needs, ascending
  std::uint64_t overdue = 0;
  double longest = 0;  // what an overdue one has taken
  for (const Milliseconds given : basis.busy) {
    const double taken = static_cast<double>(std::max<std::int64_t>(given.count(), 0));
    if (taken > 2 * mean && taken > mean + kOverdueMs) {
      ++overdue;
      longest = std::max(longest, taken);
    } else {
      busy.push_back(std::clamp(mean - taken, mean / 10, mean));
    }
  }
  std::sort(busy.begin(), busy.end());
  // Where trials outlive the mean and few have finished, the mean says nothing about the others.
  if (overdue > 0 && (basis.finished < 10 * overdue || overdue >= slots)) {
    return {std::nullopt,
            fmt::format("{} {} taken {} so far, the {} {} on average",
                        plural(overdue, "running trial"), overdue == 1 ? "has" : "have",
                        format_duration(Milliseconds(static_cast<std::int64_t>(longest))),
                        basis.finished == 1 ? "finished one"
                                            : fmt::format("{} finished ones", basis.finished),
                        format_duration(basis.mean))};
  }
  slots -= overdue;  // nobody knows when they give up their slots

  // Trials of equal length on slots that come free within one length: each slot takes its turn,
  // and the rest of the division goes to those free first. This is the exact schedule.
  double left = busy.empty() ? 0 : busy.back();
  const std::uint64_t full_rounds = *basis.waiting / slots;
  const auto rounds = static_cast<double>(full_rounds);
  const std::uint64_t rest = *basis.waiting % slots;
  const std::uint64_t idle = slots > busy.size() ? slots - busy.size() : 0;
  // After a cut of the width the first to end give their slot to nobody.
  const std::size_t lost_seats = busy.size() > slots ? busy.size() - slots : 0;
  const auto free_at = [&](std::uint64_t seat) {
    return seat < idle ? 0.0 : busy[lost_seats + static_cast<std::size_t>(seat - idle)];
  };
  if (*basis.waiting >= slots) left = std::max(left, free_at(slots - 1) + rounds * mean);
  if (rest > 0) left = std::max(left, free_at(rest - 1) + (rounds + 1) * mean);

  std::string how = fmt::format("from {}, {}", plural(basis.finished, "finished trial"),
                                plural(slots + overdue, "slot"));
  if (overdue > 0) {
    left = std::max(left, longest);
    how +=
        fmt::format("; {} longer", overdue == 1 ? "1 running trial takes"
                                                : fmt::format("{} running trials take", overdue));
  }
  return {Milliseconds(static_cast<std::int64_t>(std::min(left, kFarthestMs))), std::move(how)};
}

}  // namespace seedbed
