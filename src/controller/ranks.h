#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "controller/environment.h"
#include "machine/mpi.h"
#include "resources/resources.h"
#include "study/study_spec.h"

namespace seedbed {

/// How the trials of a study with `ranks` above 1 are started.
struct RankPlan {
  MpiLauncher launcher;
  int ranks = 1;
  std::vector<std::string> words;  ///< in front of the program: `mpirun … shim rank`
  std::vector<Core> cores;         ///< the machine's, so that a rank's cores are neighbours
  std::string shim;
};

/// What the study needs of MPI, as found before anything starts.
struct MpiFindings {
  std::optional<RankPlan> plan;       ///< with `ranks` above 1
  bool unbind = false;                ///< an mpirun may be started by the trials themselves
  std::vector<std::string> warnings;  ///< told once at the start
};

/// What is known when it is looked for.
struct MpiQuestion {
  const StudySpec& spec;
  const Request& request;
  const Inventory& inventory;
  std::vector<std::string> argv;         ///< of the first trial, without mpirun; empty: unknown
  std::vector<std::string> environment;  ///< of the first trial
  std::string working_dir;
  std::string named;  ///< $SEEDBED_MPIRUN; the study's `mpi` goes before it
  bool is_root = false;
  std::string shim;  ///< `seedbed-shim`; empty: sought, as the launcher does
};

/// Chooses the launcher: the named one, else the default one, else, where the program is linked
/// with another MPI, that one's. Errors (`machine`): no launcher; one that the program cannot be
/// started with, with both paths (case G3); Open MPI as root without being allowed to (G2).
[[nodiscard]] Result<MpiFindings> find_mpi(const MpiQuestion& question);

/// Starts ranks once that only say who they are: errors (`machine`) where the launcher cannot, or
/// where they do not know each other. Only told (as a warning) of a launcher of unknown kind.
[[nodiscard]] Status try_ranks(MpiFindings& findings, const std::vector<std::string>& environment);

/// `SEEDBED_RANK_CORES`: the cores of each rank, when they can be told apart; empty else.
[[nodiscard]] std::string rank_cores(const std::vector<int>& lent, const RankPlan& plan);

/// What keeps an mpirun inside a trial from binding ranks to the machine's first cores.
void add_unbinding_variables(Variables& own, const Variables& base);

}  // namespace seedbed
