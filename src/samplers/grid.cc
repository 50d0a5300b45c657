#include "samplers/grid.h"

#include "base/random.h"

namespace seedbed {

Result<Proposal> GridSampler::propose(std::uint64_t number, const SamplerContext& context) const {
  const std::uint64_t count = space_.index_count();
  if (number >= count && !space_.count().saturated) return Proposal();
  std::uint64_t index = number;
  if (shuffled_) {
    index = KeyedPermutation(count, mix(context.study_seed, hash_text("shuffled")))(number);
  }
  Result<std::optional<Point>> point = space_.point(index);
  if (!point) return propagate(point);
  if (!*point) return Proposal{Proposal::Kind::nothing, Point()};
  return Proposal{Proposal::Kind::point, std::move(**point)};
}

}  // namespace seedbed
