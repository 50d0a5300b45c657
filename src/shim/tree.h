#pragma once

#include <sys/types.h>

#include <string_view>
#include <vector>

// The processes below the shim. It is a child subreaper: whatever the attempt starts, in whatever
// session, stays below it until it ends.

namespace seedbed::shim {

/// Children, their children and so on; parents before children. A moment's picture: processes may
/// come and go while it is taken.
[[nodiscard]] std::vector<pid_t> descendants_of(pid_t root);

[[nodiscard]] std::vector<pid_t> children_of(pid_t parent);

/// Of a list as /proc gives it: a blank behind each number. What follows the last blank is half of
/// a number, and whoever has that one is no business of ours.
[[nodiscard]] std::vector<pid_t> pids_in(std::string_view list);

/// Whether the process is a command shell, which dies of TERM without passing it on.
[[nodiscard]] bool is_shell(pid_t pid);

/// The holders of ranks (rank.h) below the process.
[[nodiscard]] std::vector<pid_t> ranks_below(pid_t root);

/// TERM, and CONT, since a stopped process would not see it.
void ask_to_end(pid_t pid);

/// Stops (SIGSTOP) all descendants of a process, those that are born meanwhile too.
void stop_tree(pid_t root);

}  // namespace seedbed::shim
