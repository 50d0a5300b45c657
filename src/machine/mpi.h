#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

// The MPI of this machine: which `mpirun` is there, of what kind (found by asking it), which one a
// program needs (found by looking at the libraries that it is linked with), and with what words it
// starts ranks on this host. Several MPIs may live side by side.

namespace seedbed {

enum class MpiKind { open_mpi, mpich, intel, unknown };

/// Launcher and library must be of one family: MPICH's and Intel's speak PMI and share their ABI.
enum class MpiFamily { open_mpi, mpich };

struct MpiLauncher {
  std::string path;      ///< as it was found or named
  std::string resolved;  ///< the end of its chain of links
  MpiKind kind = MpiKind::unknown;
  int major = 0;        ///< of the version; 0: unknown
  std::string version;  ///< `4.1.4`; empty: unknown

  /// `Open MPI 4.1.4`, `MPICH 4.0.2`, `an unknown MPI`.
  [[nodiscard]] std::string name() const;
  [[nodiscard]] std::optional<MpiFamily> family() const;
  bool operator==(const MpiLauncher&) const = default;
};

/// Kind and version out of the text of `mpirun --version`.
void read_mpi_version(std::string_view text, MpiLauncher& launcher);

/// How the ranks of one trial are to be started.
struct RankStart {
  int ranks = 1;
  bool cores_shared = false;      ///< ranks share cores: one that waits must yield
  bool inside_scheduler = false;  ///< its hosts are not ours to use
};

/// `mpirun FLAGS -np N`, with the flags that this launcher knows: on this host alone, bound to
/// nothing (the trial's cores bound it), as many ranks as asked whatever it counts as slots.
[[nodiscard]] std::vector<std::string> rank_words(const MpiLauncher& launcher,
                                                  const RankStart& start);

/// The MPI library in the output of `ldd`: `libmpich.so.12 => /usr/lib/…/libmpich.so.12 (0x…)`.
struct MpiLibrary {
  std::string path;
  MpiFamily family = MpiFamily::open_mpi;
  bool operator==(const MpiLibrary&) const = default;
};
[[nodiscard]] std::optional<MpiLibrary> mpi_library(std::string_view ldd_output);

[[nodiscard]] std::string_view mpi_family_words(MpiFamily family);

using MpiVariables = std::map<std::string, std::string, std::less<>>;

/// The variables of a batch system's job, which an mpirun would take its hosts from.
[[nodiscard]] bool inside_scheduler(const MpiVariables& variables);

/// Open MPI refuses root unless both of its variables are set.
[[nodiscard]] bool refuses_root(const MpiLauncher& launcher, const MpiVariables& variables,
                                bool is_root);
/// One line: what to set.
[[nodiscard]] std::string root_remedy(const MpiLauncher& launcher);

/// How the machine is asked: each question in a process of its own, which has `limit`.
struct MpiAsker {
  std::vector<std::string> environment;  ///< of the trials, `NAME=value`; empty: our own
  Milliseconds limit{10'000};

  /// `PATH --version`.
  [[nodiscard]] Result<MpiLauncher> launcher(const std::string& path) const;

  /// Every launcher along `path` (as in $PATH), each once, the default one (`mpirun`, else
  /// `mpiexec`) first. Of those that do not answer the kind is unknown.
  [[nodiscard]] std::vector<MpiLauncher> launchers(const std::string& path) const;

  /// What a program is linked with, by `ldd`; nothing for scripts, and where it cannot tell.
  [[nodiscard]] std::optional<MpiLibrary> linked(const std::string& program) const;

  /// What the mpi4py of a Python interpreter is linked with.
  [[nodiscard]] std::optional<MpiLibrary> linked_mpi4py(const std::string& python) const;

  /// Starts ranks that only tell who they are (`words`, then `rank_holder rank --probe`). Nothing
  /// when they know each other; else why not, in one line.
  [[nodiscard]] std::optional<std::string> trouble(const MpiLauncher& launcher,
                                                   const std::vector<std::string>& words,
                                                   const std::string& rank_holder, int ranks) const;
};

/// Out of what such ranks print. Nothing when all is well.
[[nodiscard]] std::optional<std::string> rank_trouble(const MpiLauncher& launcher, int ranks,
                                                      int exit_code, std::string_view output);

/// Whether a word of a command is the name of an mpirun, as a path or not.
[[nodiscard]] bool is_mpi_launcher(std::string_view word);

}  // namespace seedbed
