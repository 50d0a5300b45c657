#pragma once

#include <map>
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

/// Adds PYTHONUNBUFFERED and the thread variables of the usual numeric libraries, `threads` each,
/// where the user has set none.
void add_thread_variables(Variables& variables, int threads);

/// Threads for an allocation: its whole cores, at least one.
[[nodiscard]] int threads_for(const Allocation& allocation);

/// The names whose values differ between two environments, added and removed ones included.
[[nodiscard]] std::vector<std::string> changed_names(const Variables& before,
                                                     const Variables& after);

/// `NAME=value` words for exec.
[[nodiscard]] std::vector<std::string> to_words(const Variables& variables);

}  // namespace seedbed
