#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "cli/invocation.h"
#include "controller/run_study.h"
#include "study/readers.h"

namespace seedbed {

/// The options of `run` and `plan`, as given.
struct RunOptions {
  std::vector<std::string> words;  ///< FILE and NAME=SPEC
  std::string name, method, order, halt, metric, goal, bool_style, seed_parameter, memory, gpus,
      gpus_per_trial;
  std::string launcher = "local";
  std::string grace = "10s";
  std::string on_interrupt = "stop";
  std::vector<std::string> where;
  std::optional<std::uint64_t> sampler_seed, limit;
  std::string slots;  ///< a number or `auto`; empty: as the file says
  std::optional<double> cpus;
  bool yes = false, retry_failed = false, new_command = false, take_over = false, detach = false,
       dry_run = false;
};

/// Adds them all to a subcommand.
void add_run_options(CLI::App& command, Invocation& invocation, RunOptions& options);

/// Reads the sweep file and the words, applies the options, and says which study is meant. Touches
/// nothing.
[[nodiscard]] Result<RunRequest> read_run(const Invocation& invocation, const RunOptions& options);

/// The absolute folder of a study that may not exist yet; refuses names that would lead elsewhere.
[[nodiscard]] Result<std::string> study_dir_for(const Invocation& invocation,
                                                const std::string& name);

/// More than this many trials need `--yes` or `--limit`.
inline constexpr std::uint64_t kManyTrials = 10'000;
/// The record numbers trials by signed numbers of 64 bits.
inline constexpr std::uint64_t kMostTrials = std::numeric_limits<std::int64_t>::max();
/// `that is 20000 trials` where they are so many and no limit is set; empty otherwise.
[[nodiscard]] std::string too_many(const StudySpec& spec);
[[nodiscard]] Status check_size(const StudySpec& spec, bool yes);

}  // namespace seedbed
