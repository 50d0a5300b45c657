#include "samplers/drawn.h"

#include "base/random.h"
#include "samplers/sobol.h"

namespace seedbed {
namespace {

// Draws without a new point before the space counts as exhausted (or the filter as too narrow):
// a filter that keeps one point in 10,000 still finds its points.
constexpr int kTries = 100000;
// Where the grid can follow, there is no need to insist.
constexpr int kTriesBeforeGrid = 1000;

}  // namespace

Result<Proposal> DrawnSampler::propose(std::uint64_t number, const SamplerContext& context) const {
  if (number < memory_.next || memory_.seed != context.study_seed) {
    memory_ = Memory();
    memory_.seed = context.study_seed;
  }
  Result<Proposal> proposal = Proposal();
  while (memory_.next <= number && !memory_.exhausted) {
    proposal = step();
    if (!proposal) {
      memory_ = Memory();  // an error is no answer: the same call asks everything again
      memory_.seed = context.study_seed;
      return proposal;
    }
    if (proposal->kind == Proposal::Kind::exhausted) {
      memory_.exhausted = true;
      break;
    }
    ++memory_.next;
  }
  return memory_.exhausted ? Proposal() : proposal;
}

Result<Proposal> DrawnSampler::step() const {
  if (memory_.filling) return fill();
  const bool grid_follows = complete_ && space_.index_count() != 0;
  const int tries = grid_follows ? kTriesBeforeGrid : kTries;
  std::vector<double> unit(space_.axes());
  int dropped = 0;
  for (int i = 0; i < tries; ++i) {
    if (!coordinates(memory_.seed, memory_.draw++, unit)) break;
    Result<std::optional<Point>> point = space_.point_at(unit);
    if (!point) return propagate(point);
    if (!*point) {
      ++dropped;
      continue;
    }
    if (!memory_.seen.insert(hash_text((*point)->identity())).second) continue;
    return Proposal{Proposal::Kind::point, std::move(**point)};
  }
  if (grid_follows) {
    memory_.filling = true;
    return fill();
  }
  if (dropped == tries) {
    return fail(ErrorCode::usage, "`where` dropped " + std::to_string(tries) +
                                      " points in a row; make it wider, or the ranges narrower");
  }
  return Proposal();
}

Result<Proposal> DrawnSampler::fill() const {
  while (memory_.grid_index < space_.index_count()) {
    Result<std::optional<Point>> point = space_.point(memory_.grid_index++);
    if (!point) return propagate(point);
    if (!*point || !memory_.seen.insert(hash_text((*point)->identity())).second) continue;
    return Proposal{Proposal::Kind::point, std::move(**point)};
  }
  return Proposal();
}

bool RandomDraws::coordinates(std::uint64_t seed, std::uint64_t draw,
                              std::vector<double>& unit) const {
  Random random(mix(seed, hash_text("random")), draw);
  for (double& u : unit) u = random.uniform();
  return true;
}

bool SobolDraws::coordinates(std::uint64_t seed, std::uint64_t draw,
                             std::vector<double>& unit) const {
  if (draw >> 32 != 0) return false;
  for (std::size_t d = 0; d < unit.size(); ++d) {
    unit[d] = scrambled_sobol(d, static_cast<std::uint32_t>(draw), seed);
  }
  return true;
}

}  // namespace seedbed
