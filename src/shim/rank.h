#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// One rank of a trial: `mpirun … seedbed-shim rank PROGRAM ARGUMENTS…`. This process stands between
// mpirun and the program because no mpirun does these things for all MPIs alike:
//
// - Lines of several ranks stay whole. What a rank writes goes to the attempt's log line by line;
//   lines of ranks above 0 begin with `[rank 2] `. (mpirun passes on what it happens to read, so
//   that a line that is written in two pieces is torn, its marks are inside lines.)
// - The rank is bound to its own cores of the trial's.
// - $SEEDBED_METRICS of ranks above 0 is a file of their own, `metrics.rank-2.jsonl`: the trial's
//   metrics are rank 0's.
// - A rank that fails ends the trial, and how it failed is kept (rank_file.h).
// - TERM reaches the program without mpirun, which would kill it a second later.
//
// The program is in a process group of its own and dies with this process; this one ends with
// mpirun. Everything else is as mpirun made it. It understands these variables of the attempt:
// SEEDBED_TRIAL_DIR, SEEDBED_ATTEMPT, and SEEDBED_RANK_CORES (`0,4;1,5`: by rank).

namespace seedbed::shim {

/// Which of how many; -1: the launcher told nothing.
struct RankIdentity {
  int rank = -1;
  int size = -1;
  bool open_mpi = false;  ///< told by Open MPI's variables
};

/// From the variables of the launcher: Open MPI's, then those of PMI (MPICH, Intel MPI), then
/// PMIx's and Slurm's. `get` is getenv.
[[nodiscard]] RankIdentity rank_identity(const char* (*get)(const char* name));

/// Cuts what a rank writes into whole lines: up to a line feed or carriage return. What is longer
/// than 64 KiB goes on in parts. `mark` stands before each line that is not empty.
class RankLines {
 public:
  explicit RankLines(std::string mark) : mark_(std::move(mark)) {}

  /// Takes bytes; returns what can be written now.
  [[nodiscard]] std::string take(std::string_view bytes);
  /// What is left, as a line.
  [[nodiscard]] std::string finish();

 private:
  void line(std::string_view text, std::string& out) const;

  std::string mark_, held_;
};

/// The library of another MPI than the launcher's among the mapped files of a process
/// (`/proc/PID/maps`); empty when there is none, or one of the launcher's beside it. Nothing while
/// no library of an MPI is mapped.
[[nodiscard]] std::optional<std::string> foreign_mpi(std::string_view maps, bool open_mpi);

/// The word with which `seedbed-shim` becomes this, and the option that makes it only tell its
/// identity: `seedbed-rank RANK SIZE` in one line.
inline constexpr const char* kRankWord = "rank";
inline constexpr const char* kRankProbe = "--probe";

/// Runs the program to its end and ends as it did; `argv[0]` is the program. Never returns for a
/// program that a signal ended.
[[nodiscard]] int run_rank(char** argv);

}  // namespace seedbed::shim
