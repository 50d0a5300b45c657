#pragma once

#include <string_view>

// Which names are steps. Letter case, `_`, `-` and blanks do not matter, nor does a path in front
// (`train/global_step`, `time/total_timesteps`).
//
// Where a row has several, the one that counts finest wins: global_step, then step, total_steps,
// then environment steps (TotalEnvInteracts, total_timesteps, …), iteration, update, epoch,
// episode, round, generation. The others of the row stay metrics.

namespace seedbed {

/// How strongly a name of a *column* or JSON key is the step; 0 = not at all, higher wins.
[[nodiscard]] int step_rank(std::string_view name);

/// The same for words in running text, where counts such as `epochs: 10` or `total_timesteps=1e6`
/// are settings, not steps: only global_step, step, iteration, iter, epoch, episode, round,
/// TotalEnvInteracts.
[[nodiscard]] int text_step_rank(std::string_view name);

}  // namespace seedbed
