#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "samplers/sampler.h"

namespace seedbed {

/// Draws points by coordinates, each point once: random search where a permutation is impossible
/// (ranges, probabilities, more than 2^63 points), and Sobol.
///
/// What was drawn before is remembered as 8 bytes a proposal, derived from (seed, number) alone: a
/// call for an earlier number starts again from 0 and gives the same answers.
class DrawnSampler : public Sampler {
 public:
  /// `complete`: when draws find nothing new, the rest of a finite space follows in grid order.
  DrawnSampler(Space space, bool complete) : space_(std::move(space)), complete_(complete) {}

  [[nodiscard]] Result<Proposal> propose(std::uint64_t number,
                                         const SamplerContext& context) const override;
  [[nodiscard]] bool uses_history() const override { return false; }

 protected:
  /// Coordinates of draw number `draw`; false when there are no more.
  [[nodiscard]] virtual bool coordinates(std::uint64_t seed, std::uint64_t draw,
                                         std::vector<double>& unit) const = 0;

 private:
  struct Memory {
    std::uint64_t seed = 0;
    std::uint64_t next = 0;        // the proposal that comes next
    std::uint64_t draw = 0;        // the draw that comes next
    std::uint64_t grid_index = 0;  // where the rest of the grid goes on
    bool filling = false;
    bool exhausted = false;
    std::unordered_set<std::uint64_t> seen;  // hashes of identities
  };

  [[nodiscard]] Result<Proposal> step() const;
  [[nodiscard]] Result<Proposal> fill() const;

  Space space_;
  bool complete_;
  mutable Memory memory_;
};

/// Independent draws: `method: random`.
class RandomDraws : public DrawnSampler {
 public:
  explicit RandomDraws(Space space) : DrawnSampler(std::move(space), false) {}

 private:
  [[nodiscard]] bool coordinates(std::uint64_t seed, std::uint64_t draw,
                                 std::vector<double>& unit) const override;
};

/// `method: sobol`; the space has at most kSobolDimensions axes.
class SobolDraws : public DrawnSampler {
 public:
  explicit SobolDraws(Space space, bool complete) : DrawnSampler(std::move(space), complete) {}

 private:
  [[nodiscard]] bool coordinates(std::uint64_t seed, std::uint64_t draw,
                                 std::vector<double>& unit) const override;
};

}  // namespace seedbed
