#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "samplers/sampler.h"

namespace seedbed {

/// Gives every configuration that another sampler proposes all seeds, one after another, so that
/// drawn configurations are compared over the same seeds.
class ReplicatedSampler : public Sampler {
 public:
  /// `names`: all parameters in order, the seed among them.
  ReplicatedSampler(std::unique_ptr<Sampler> configurations, Dimension seeds,
                    std::vector<std::string> names)
      : configurations_(std::move(configurations)),
        seeds_(std::move(seeds)),
        names_(std::move(names)) {}

  [[nodiscard]] Result<Proposal> propose(std::uint64_t number,
                                         const SamplerContext& context) const override;
  [[nodiscard]] bool uses_history() const override { return configurations_->uses_history(); }

 private:
  std::unique_ptr<Sampler> configurations_;
  Dimension seeds_;
  std::vector<std::string> names_;
  struct Last {
    std::uint64_t seed = 0;
    std::uint64_t configuration = 0;
    Proposal proposal;
  };
  mutable std::optional<Last> last_;  // of the same question, so the answer is the same
};

/// The space without its replicate axis, and that axis; nothing when the seed parameter is no plain
/// list (a long range of seeds, one with `when`, `probabilities`, in a zip, asked by a filter, or
/// not the same in all branches): then it is a parameter like any other.
struct Replication {
  Space configurations;
  Dimension seeds;
};
[[nodiscard]] std::optional<Replication> split_replicates(const Space& space,
                                                          const std::string& seed_parameter);

}  // namespace seedbed
