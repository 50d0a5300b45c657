#include "reporters/estimate.h"

#include <fmt/format.h>

#include <algorithm>

namespace seedbed {
namespace {

constexpr double kFarthestMs = 1e14;  // some thousand years: nobody reads further

}  // namespace

std::string Estimate::text() const {
  if (!left) return "end not known: " + how;
  if (left->count() == 0) return how;
  return fmt::format("done in about {} ({})", format_duration(*left), how);
}

Estimate estimate_end(const EstimateBasis& basis) {
  if (!basis.waiting) return {std::nullopt, "the space has no known end"};
  if (*basis.waiting == 0 && basis.busy.empty()) return {Milliseconds(0), "nothing is left to run"};
  if (basis.stopping) return {std::nullopt, "the run is being stopped"};
  if (basis.paused && *basis.waiting > 0) return {std::nullopt, "paused"};
  if (basis.finished == 0) return {std::nullopt, "no trial has finished yet"};

  const double mean = static_cast<double>(std::max<std::int64_t>(basis.mean.count(), 1));
  const std::uint64_t slots = std::max<std::uint64_t>(basis.slots, 1);
  std::vector<double> busy;  // how long each running trial still needs, ascending
  for (const Milliseconds taken : basis.busy) {
    busy.push_back(std::clamp(mean - static_cast<double>(std::max<std::int64_t>(taken.count(), 0)),
                              mean / 10, mean));
  }
  std::sort(busy.begin(), busy.end());

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

  std::string how = fmt::format("from {} finished trial{}, {} slot{}", basis.finished,
                                basis.finished == 1 ? "" : "s", slots, slots == 1 ? "" : "s");
  return {Milliseconds(static_cast<std::int64_t>(std::min(left, kFarthestMs))), std::move(how)};
}

}  // namespace seedbed
