#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/outcome.h"
#include "base/time.h"
#include "study/command.h"
#include "study/space.h"

namespace seedbed {

enum class Goal { minimize, maximize };

/// What the study is after.
struct Objective {
  std::string metric;  ///< empty: none named
  Goal goal = Goal::minimize;
  bool goal_stated = false;
};

enum class Method { grid, random, sobol };
enum class Order { given, shuffled, longest_first };

/// `resources:` as written; turned into resources/Request by the controller.
struct ResourceSpec {
  std::optional<double> cpus;    ///< empty: 1, or with GPUs an even part of the cores
  double gpus = 0;               ///< whole devices, or a share of one
  std::uint64_t gpu_memory = 0;  ///< bytes of one device; 0: not asked
  std::uint64_t memory = 0;
  int ranks = 1;
  std::string mpi;  ///< the mpirun that starts ranks; empty: the one that fits
  std::map<std::string, double> named;
};

struct LimitSpec {
  std::optional<Milliseconds> time;        ///< wall time of one attempt
  std::optional<Milliseconds> silence;     ///< no output for so long
  std::optional<Milliseconds> study;       ///< the whole run
  std::optional<std::uint64_t> log_bytes;  ///< of one attempt's log
};

struct RetrySpec {
  int count = 0;
  std::set<OutcomeKind> on = {OutcomeKind::exited, OutcomeKind::signalled, OutcomeKind::timed_out,
                              OutcomeKind::out_of_memory, OutcomeKind::start_failed};
  Milliseconds wait{0};
};

/// One entry of `capture:`.
struct CaptureSpec {
  std::string file;     ///< relative to the trial's working folder, placeholders allowed; or
  std::string pattern;  ///< an RE2 pattern with named groups, for output lines; or
  std::string failure;  ///< an RE2 pattern: a line where it is found makes exit code 0 a failure
};

/// One entry of `early_terminate`.
struct PrunerSpec {
  std::string type;                       ///< nan, median; others are warned about by the reader
  std::map<std::string, double> options;  ///< min_iter, min_trials
};

enum class Workdir { here, trial };

/// Everything the user asked for, checked. Made by the sweep-file and word readers.
struct StudySpec {
  std::string name;  ///< empty: the caller derives it
  std::string description, project, entity;
  Space space;
  CommandTemplate command;
  std::string program;  ///< what ${program} stands for; empty: none
  Objective objective;
  Method method = Method::grid;
  bool method_stated = false;
  std::uint64_t sampler_seed = 0;
  Order order = Order::given;
  std::string seed_parameter = "seed";  ///< the replicate axis; empty: none
  std::optional<std::uint64_t> run_cap;
  ResourceSpec resources;
  std::optional<std::uint32_t> slots;  ///< empty: auto
  LimitSpec limits;
  RetrySpec retries;
  std::map<std::string, std::string> env;
  Workdir workdir = Workdir::here;
  std::vector<CaptureSpec> capture;
  std::vector<PrunerSpec> pruners;
  std::string template_file;  ///< `template:`; empty: none
  bool snapshot = false;
  std::string halt;  ///< `--halt`: first | N | X%; empty: never

  std::vector<std::string> warnings;  ///< told once at the start, in order
  /// Rules of early_terminate that are not there yet, as JSON: kept for the record, so that a run
  /// from it says so again, and a version that has them finds them.
  std::vector<std::string> rules_to_come;
  std::vector<std::string> unsupported;  ///< for `plan`: keys accepted but without effect
};

}  // namespace seedbed
