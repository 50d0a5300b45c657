#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "study/study_spec.h"

namespace seedbed {

/// A trial as a sampler may see it.
struct TrialView {
  enum class State { completed, failed, pruned, running };
  std::uint64_t proposal = 0;
  Point point;
  State state = State::running;
  std::optional<double> objective;  ///< final value, or the latest of a running trial; may be NaN
};

/// All that a sampler may depend on. It owns no truth: the same context always gives the same
/// answer, after a restart, and with any number of slots.
struct SamplerContext {
  std::uint64_t study_seed = 0;
  const std::vector<TrialView>* history = nullptr;  ///< ordered by proposal; null: not asked for
};

/// Answer to "what is proposal number n?".
struct Proposal {
  enum class Kind {
    point,      ///< here it is
    nothing,    ///< this number gives no point (a filter dropped it); ask the next
    exhausted,  ///< there is no proposal with this or a higher number
  };
  Kind kind = Kind::exhausted;
  Point point;
};

/// Proposes points. Called on a worker thread, one call at a time, in ascending `number`; may be
/// slow, must not keep state that changes answers, must not touch clock, files or globals.
///
/// Example: propose(0), propose(1) … until `exhausted`; after a restart again from 0.
class Sampler {
 public:
  virtual ~Sampler() = default;

  /// number counts from 0. Errors are the user's (`where` that does arithmetic on text).
  [[nodiscard]] virtual Result<Proposal> propose(std::uint64_t number,
                                                 const SamplerContext& context) const = 0;

  /// False: answers depend on (seed, number) alone, so proposals may be made far ahead.
  [[nodiscard]] virtual bool uses_history() const = 0;
};

/// The sampler for a study's method and order. Refuses what cannot work: a grid over a continuous
/// range, random search over an endless space without a limit, Sobol over too many dimensions.
/// `shuffled` order over a finite space is a keyed permutation of the grid.
[[nodiscard]] Result<std::unique_ptr<Sampler>> make_sampler(const StudySpec& spec);

}  // namespace seedbed
