#include "samplers/sampler.h"

#include <algorithm>

#include "base/text.h"
#include "samplers/drawn.h"
#include "samplers/grid.h"
#include "samplers/replicated.h"
#include "samplers/sobol.h"

namespace seedbed {
namespace {

std::string first_continuous(const Space& space) {
  for (const SpaceBranch& branch : space.branches()) {
    for (const Dimension& dimension : branch.dimensions) {
      if (!dimension.finite()) return "`" + one_line(dimension.name, 60) + "`";
    }
  }
  return "a parameter";
}

// Some points are likelier than others, so a plain permutation would not be the draw asked for.
bool weighted(const Space& space) {
  return std::any_of(
      space.branches().begin(), space.branches().end(), [](const SpaceBranch& branch) {
        return std::any_of(
            branch.dimensions.begin(), branch.dimensions.end(), [](const Dimension& dimension) {
              return !dimension.probabilities.empty() ||
                     (dimension.values.empty() && dimension.distribution->log_integer);
            });
      });
}

std::unique_ptr<Sampler> make_random(const Space& space) {
  constexpr std::uint64_t kPermutable = std::uint64_t{1} << 63;
  const std::uint64_t count = space.index_count();
  if (count != 0 && count <= kPermutable && !weighted(space)) {
    return std::make_unique<GridSampler>(space, true);
  }
  return std::make_unique<RandomDraws>(space);
}

}  // namespace

Result<std::unique_ptr<Sampler>> make_sampler(const StudySpec& spec) {
  const Space& space = spec.space;
  if (spec.method == Method::grid) {
    if (!space.finite()) {
      return fail(ErrorCode::usage,
                  "parameter " + first_continuous(space) +
                      " is a continuous range, which a grid cannot list; give " +
                      "its values (geomspace, linspace), or use `method: random`");
    }
    // More than 2^64 points have no permutation here, but draws of them hardly ever meet.
    const bool shuffled = spec.order == Order::shuffled;
    if (shuffled && space.index_count() == 0) return std::make_unique<RandomDraws>(space);
    return std::make_unique<GridSampler>(space, shuffled);
  }
  const std::string word = spec.method == Method::random ? "random" : "sobol";
  if (!space.finite() && !spec.run_cap) {
    return fail(ErrorCode::usage,
                word + " search over the continuous range of parameter " + first_continuous(space) +
                    " never ends; say how many points with --limit 50 (`run_cap: 50`)");
  }
  std::optional<Replication> replication = split_replicates(space, spec.seed_parameter);
  const Space& configurations = replication ? replication->configurations : space;
  std::unique_ptr<Sampler> sampler;
  if (spec.method == Method::random) {
    sampler = make_random(configurations);
  } else {
    if (configurations.axes() > kSobolDimensions) {
      return fail(ErrorCode::usage, "sobol search knows " + std::to_string(kSobolDimensions) +
                                        " dimensions, and " +
                                        std::to_string(configurations.axes()) +
                                        " parameters vary here; use `method: random`");
    }
    sampler = std::make_unique<SobolDraws>(configurations, !weighted(configurations));
  }
  if (!replication) return sampler;
  return std::make_unique<ReplicatedSampler>(std::move(sampler), std::move(replication->seeds),
                                             space.names());
}

}  // namespace seedbed
