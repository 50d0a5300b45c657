#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "resources/resources.h"

namespace seedbed {

/// Variables by name. Made once from the surroundings, then changed per attempt.
using Variables = std::map<std::string, std::string, std::less<>>;

/// The variables of this process: read once at the start, so that every attempt of a run sees the
/// environment of the shell that started it.
[[nodiscard]] Variables surrounding_variables(char** environment);

/// What an attempt starts from: the surroundings without what belongs to a surrounding rank or
/// Slurm step (only when we are inside one) and without SEEDBED_* of an outer study.
[[nodiscard]] Variables base_variables(const Variables& surroundings);

/// What an attempt is given where the user has set nothing: PYTHONUNBUFFERED, the thread variables
/// of the usual numeric libraries, `threads` each, and MASTER_PORT. `base` and `own` are the
/// user's.
void add_default_variables(Variables& own, const Variables& base, int threads,
                           const std::string& port);

/// Threads for each of so many ranks: its whole cores of the allocation, at least one.
[[nodiscard]] int threads_for(const Allocation& allocation, int ranks = 1);

/// How `base` with `own` over it differs from the surroundings: the new value, nothing for a
/// variable that is gone. `base` is a part of the surroundings.
[[nodiscard]] std::map<std::string, std::optional<std::string>> changes(
    const Variables& surroundings, const Variables& base, const Variables& own);

/// `NAME=value` words for exec, of `base` with `own` over it.
[[nodiscard]] std::vector<std::string> to_words(const Variables& base, const Variables& own);

}  // namespace seedbed
