#include "samplers/replicated.h"

#include <algorithm>

namespace seedbed {
namespace {

// More seeds than this are no replicates but a range to draw from.
constexpr std::uint64_t kMostReplicates = 64;

bool asks(const Expression& expression, const std::string& name) {
  const std::vector<std::string>& names = expression.names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_replicate_axis(const Dimension& dimension, const SpaceBranch& branch) {
  if (!dimension.finite() || dimension.size() > kMostReplicates || dimension.when ||
      !dimension.probabilities.empty() ||
      (dimension.distribution && dimension.distribution->log_integer)) {
    return false;
  }
  for (const auto& zip : branch.zips) {
    if (std::find(zip.begin(), zip.end(), dimension.name) != zip.end()) return false;
  }
  for (const Expression& where : branch.where) {
    if (asks(where, dimension.name)) return false;
  }
  return std::none_of(
      branch.dimensions.begin(), branch.dimensions.end(),
      [&](const Dimension& other) { return other.when && asks(*other.when, dimension.name); });
}

bool same_values(const Dimension& a, const Dimension& b) {
  if (a.size() != b.size()) return false;
  for (std::uint64_t i = 0; i < a.size(); ++i) {
    if (a.at(i) != b.at(i)) return false;
  }
  return true;
}

}  // namespace

std::optional<Replication> split_replicates(const Space& space, const std::string& seed_parameter) {
  const Dimension* seeds = space.dimension(seed_parameter);
  if (seed_parameter.empty() || seeds == nullptr) return std::nullopt;
  std::vector<SpaceBranch> branches = space.branches();
  for (SpaceBranch& branch : branches) {
    const auto found =
        std::find_if(branch.dimensions.begin(), branch.dimensions.end(),
                     [&](const Dimension& dimension) { return dimension.name == seed_parameter; });
    if (found == branch.dimensions.end() || !is_replicate_axis(*found, branch) ||
        !same_values(*found, *seeds)) {
      return std::nullopt;
    }
    branch.dimensions.erase(found);
  }
  Result<Space> configurations = Space::build(std::move(branches));
  if (!configurations) return std::nullopt;
  return Replication{std::move(*configurations), *seeds};
}

Result<Proposal> ReplicatedSampler::propose(std::uint64_t number,
                                            const SamplerContext& context) const {
  const std::uint64_t configuration = number / seeds_.size();
  if (uses_history() || !last_ || last_->seed != context.study_seed ||
      last_->configuration != configuration) {
    Result<Proposal> asked = configurations_->propose(configuration, context);
    if (!asked) return asked;
    last_ = Last{context.study_seed, configuration, std::move(*asked)};
  }
  Proposal proposal = last_->proposal;
  if (proposal.kind != Proposal::Kind::point) return proposal;
  const auto rank = [&](const std::string& name) {
    return std::find(names_.begin(), names_.end(), name) - names_.begin();
  };
  std::vector<Parameter>& parameters = proposal.point.parameters;
  const auto place = std::find_if(parameters.begin(), parameters.end(), [&](const Parameter& p) {
    return rank(p.name) > rank(seeds_.name);
  });
  parameters.insert(place, Parameter{seeds_.name, seeds_.at(number % seeds_.size())});
  return proposal;
}

}  // namespace seedbed
