#pragma once

#include <memory>
#include <vector>

#include "engine/actions.h"
#include "engine/inputs.h"
#include "engine/state.h"
#include "resources/resources.h"

namespace seedbed {

/// When failures stop new starts (`--halt`).
struct HaltRule {
  enum class Kind { never, first, count, percent };
  Kind kind = Kind::never;
  double threshold = 0;  ///< failed trials (count), or per cent of the trials ended (percent)

  [[nodiscard]] static Result<HaltRule> parse(std::string_view text);
};

/// Everything of a run that is fixed before its first input.
struct EngineConfig {
  Inventory inventory;
  Request request;
  Objective objective;
  RetrySpec retries;
  HaltRule halt;
  std::optional<std::uint64_t> limit;  ///< first N points of the space
  std::optional<Milliseconds> study_limit;
  std::vector<std::string> varying;   ///< for folder names
  bool sampler_uses_history = false;  ///< then nothing is proposed ahead of free slots
  bool longest_first = false;
  std::uint64_t lookahead = 1000;  ///< waiting trials proposed ahead
};

/// The brain. Pure: no clock, no files, no randomness. Decides by looking at the state; the state
/// changes by `apply` alone.
class Engine {
 public:
  Engine(EngineConfig config, std::vector<std::unique_ptr<Pruner>> pruners);
  ~Engine();

  /// What follows from an input. Changes nothing: the controller commits the records, applies
  /// them, and only then performs the actions.
  [[nodiscard]] Decision decide(Timestamp now, const Input& input) const;

  /// Applies one committed record.
  void apply(const Entry& entry);

  [[nodiscard]] const StudyState& state() const { return state_; }

  /// Why a trial does not run, in words with the numbers; for `show`.
  [[nodiscard]] std::string why_waiting(TrialNumber trial, Timestamp now) const;

 private:
  struct Decider;

  EngineConfig config_;
  std::vector<std::unique_ptr<Pruner>> pruners_;
  StudyState state_;
  Placement placement_;
};

}  // namespace seedbed
