#pragma once

#include "samplers/sampler.h"

namespace seedbed {

/// Every point of a finite space: in grid order, or in the order of a permutation chosen by the
/// seed (`order: shuffled`, and random search where each point is as likely as the others).
class GridSampler : public Sampler {
 public:
  GridSampler(Space space, bool shuffled) : space_(std::move(space)), shuffled_(shuffled) {}

  [[nodiscard]] Result<Proposal> propose(std::uint64_t number,
                                         const SamplerContext& context) const override;
  [[nodiscard]] bool uses_history() const override { return false; }

 private:
  Space space_;
  bool shuffled_;
};

}  // namespace seedbed
