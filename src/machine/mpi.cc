#include "machine/mpi.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <set>

#include "base/text.h"
#include "env/posix/command.h"
#include "machine/doctor.h"

namespace seedbed {
namespace {

constexpr std::array<std::string_view, 9> kLauncherNames = {
    "mpirun",        "mpiexec",       "mpirun.openmpi", "mpiexec.openmpi", "mpirun.mpich",
    "mpiexec.mpich", "mpiexec.hydra", "orterun",        "prterun"};

std::string base_name(std::string_view path) {
  return std::string(path.substr(path.find_last_of('/') + 1));
}

/// The first `1.2.3` behind `mark`; empty when there is none near it.
std::string number_after(std::string_view text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return {};
  constexpr std::size_t kNear = 80;
  text = text.substr(at + mark.size(), kNear);
  const std::size_t first = text.find_first_of("0123456789");
  if (first == std::string_view::npos) return {};
  text = text.substr(first);
  text = text.substr(0, text.find_first_not_of("0123456789."));
  while (text.ends_with('.')) text.remove_suffix(1);
  return std::string(text);
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Flags behind Open MPI's mpirun. Slots are stated, so that none are counted: what it counts is
/// the machine's, not the trial's.
void add_open_mpi_flags(int major, const RankStart& start, std::vector<std::string>& words) {
  const auto add = [&words](std::initializer_list<const char*> more) {
    words.insert(words.end(), more.begin(), more.end());
  };
  add({"--bind-to", "none"});
  if (major != 0 && major < 3) {
    add({"--oversubscribe"});
  } else {
    add({"--host"});
    words.push_back(fmt::format("localhost:{}", start.ranks));
  }
  if (start.cores_shared) add({"--mca", "mpi_yield_when_idle", "1"});
  if (!start.inside_scheduler) return;
  if (major >= 5) {
    add({"--prtemca", "ras", "^slurm,pbs,lsf,gridengine", "--prtemca", "plm", "^slurm,pals,lsf"});
  } else {
    add({"--mca", "ras", "^slurm,tm,lsf,gridengine", "--mca", "plm", "^slurm,tm,lsf"});
  }
}

std::optional<MpiLibrary> library_of(std::string_view path) {
  const std::string name = base_name(path);
  // Open MPI before 2.0 counted its libmpi up to .so.12 too; MPICH and Intel MPI share that name.
  if (name.starts_with("libmpich.so") || name.starts_with("libmpi.so.12")) {
    return MpiLibrary{std::string(path), MpiFamily::mpich};
  }
  if (name.starts_with("libmpi.so")) return MpiLibrary{std::string(path), MpiFamily::open_mpi};
  return std::nullopt;
}

}  // namespace

std::string MpiLauncher::name() const {
  const auto with_version = [this](const char* word) {
    return version.empty() ? std::string(word) : std::string(word) + " " + version;
  };
  switch (kind) {
    case MpiKind::open_mpi:
      return with_version("Open MPI");
    case MpiKind::mpich:
      return with_version("MPICH");
    case MpiKind::intel:
      return with_version("Intel MPI");
    case MpiKind::unknown:
      break;
  }
  return "an unknown MPI";
}

std::optional<MpiFamily> MpiLauncher::family() const {
  if (kind == MpiKind::unknown) return std::nullopt;
  return kind == MpiKind::open_mpi ? MpiFamily::open_mpi : MpiFamily::mpich;
}

void read_mpi_version(std::string_view text, MpiLauncher& launcher) {
  if (contains(text, "Intel(R) MPI")) {
    launcher.kind = MpiKind::intel;
    launcher.version = number_after(text, "Version");
  } else if (contains(text, "Open MPI") || contains(text, "OpenRTE")) {
    launcher.kind = MpiKind::open_mpi;
    launcher.version = number_after(text, contains(text, "Open MPI") ? "Open MPI" : "OpenRTE");
  } else if (contains(text, "PRRTE")) {  // Open MPI 5's own launcher, under its own name
    launcher.kind = MpiKind::open_mpi;
    launcher.version.clear();
    launcher.major = 5;
    return;
  } else if (contains(text, "HYDRA build details")) {
    launcher.kind = MpiKind::mpich;
    launcher.version = number_after(text, "Version:");
  } else {
    launcher.kind = MpiKind::unknown;
    launcher.version.clear();
  }
  launcher.major = 0;
  const std::string& version = launcher.version;
  std::from_chars(version.data(), version.data() + version.size(), launcher.major);
}

std::vector<std::string> rank_words(const MpiLauncher& launcher, const RankStart& start) {
  std::vector<std::string> words = {launcher.path};
  const auto add = [&words](std::initializer_list<const char*> more) {
    words.insert(words.end(), more.begin(), more.end());
  };
  switch (launcher.kind) {
    case MpiKind::open_mpi:
      add_open_mpi_flags(launcher.major, start, words);
      break;
    case MpiKind::mpich:  // binds to nothing unless asked, and counts no slots
      if (start.inside_scheduler) add({"-launcher", "fork", "-hosts", "localhost"});
      break;
    case MpiKind::intel:
      add({"-genv", "I_MPI_PIN", "off"});
      if (start.inside_scheduler) add({"-bootstrap", "fork", "-hosts", "localhost"});
      break;
    case MpiKind::unknown:
      add({"-n"});
      words.push_back(std::to_string(start.ranks));
      return words;
  }
  add({"-np"});
  words.push_back(std::to_string(start.ranks));
  return words;
}

std::optional<MpiLibrary> mpi_library(std::string_view ldd_output) {
  for (const std::string_view line : split(ldd_output, '\n')) {
    const std::string_view text = trim(line);
    // `libmpi.so.40 => /usr/lib/libmpi.so.40 (0x7f…)`; `libmpi.so.40 => not found`
    const std::size_t arrow = text.find(" => ");
    if (arrow == std::string_view::npos) continue;
    auto library = library_of(text.substr(0, arrow));
    if (!library) continue;
    const std::string_view target = text.substr(arrow + 4);
    if (target.starts_with('/')) library->path = target.substr(0, target.find(" ("));
    return library;
  }
  return std::nullopt;
}

std::string_view mpi_family_words(MpiFamily family) {
  return family == MpiFamily::open_mpi ? "Open MPI" : "MPICH (or Intel MPI)";
}

bool inside_scheduler(const MpiVariables& variables) {
  for (const std::string_view name :
       {"SLURM_JOB_ID", "SLURM_JOBID", "PBS_JOBID", "LSB_JOBID", "PE_HOSTFILE", "COBALT_JOBID"}) {
    if (variables.contains(name)) return true;
  }
  return false;
}

bool refuses_root(const MpiLauncher& launcher, const MpiVariables& variables, bool is_root) {
  if (launcher.kind != MpiKind::open_mpi || !is_root) return false;
  return !variables.contains("OMPI_ALLOW_RUN_AS_ROOT") ||
         !variables.contains("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM");
}

std::string root_remedy(const MpiLauncher& launcher) {
  return fmt::format(
      "{} ({}) refuses to run as root; where that is meant, in a container say, allow it once: "
      "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 (or both under `env:`)",
      launcher.path, launcher.name());
}

Result<MpiLauncher> MpiAsker::launcher(const std::string& path) const {
  MpiLauncher found;
  found.path = path;
  char resolved[PATH_MAX];
  found.resolved = ::realpath(path.c_str(), resolved) != nullptr ? resolved : path;
  CommandOptions options;
  options.timeout = limit;
  options.environment = environment;
  options.with_errors = true;  // some wrappers tell it there
  options.output_limit = 1 << 20;
  auto told = run_command({path, "--version"}, options);
  if (!told) return tl::unexpected(told.error().with_context(path + " --version"));
  read_mpi_version(told->output, found);
  return found;
}

std::vector<MpiLauncher> MpiAsker::launchers(const std::string& path) const {
  std::vector<MpiLauncher> found;
  std::set<std::string> seen;
  for (const std::string_view name : kLauncherNames) {
    const std::string program = find_program(std::string(name), path);
    char resolved[PATH_MAX];
    if (program.empty() || ::realpath(program.c_str(), resolved) == nullptr) continue;
    if (!seen.insert(resolved).second) continue;
    auto one = launcher(program);
    if (!one) {
      MpiLauncher silent;
      silent.path = program;
      silent.resolved = resolved;
      one = silent;
    }
    found.push_back(std::move(*one));
  }
  return found;
}

std::optional<MpiLibrary> MpiAsker::linked(const std::string& program) const {
  std::ifstream file(program, std::ios::binary);
  char head[4] = {};
  file.read(head, sizeof head);
  if (std::string_view(head, 4) !=
      "\x7f"
      "ELF") {
    return std::nullopt;
  }
  CommandOptions options;
  options.timeout = limit;
  options.environment = environment;
  options.output_limit = 1 << 20;
  const auto told = run_command({"ldd", program}, options);
  if (!told || told->exit_code != 0) return std::nullopt;
  return mpi_library(told->output);
}

std::optional<MpiLibrary> MpiAsker::linked_mpi4py(const std::string& python) const {
  CommandOptions options;
  options.timeout = limit;
  options.environment = environment;
  options.output_limit = 1 << 20;
  // Finds the module's file without loading it, and so without a start of MPI.
  const auto told = run_command({python, "-c",
                                 "import importlib.util as u; s = u.find_spec('mpi4py.MPI'); "
                                 "print(s.origin if s else '')"},
                                options);
  if (!told || told->exit_code != 0) return std::nullopt;
  const std::string file(trim(told->output));
  return file.starts_with('/') ? linked(file) : std::nullopt;
}

std::optional<std::string> MpiAsker::trouble(const MpiLauncher& launcher,
                                             const std::vector<std::string>& words,
                                             const std::string& rank_holder, int ranks) const {
  std::vector<std::string> argv = words;
  for (const char* word : {"rank", "--probe"}) argv.emplace_back(word);
  argv.insert(argv.end() - 2, rank_holder);
  CommandOptions options;
  options.timeout = 3 * limit;
  options.environment = environment;
  options.with_errors = true;
  options.output_limit = 1 << 22;
  const auto told = run_command(argv, options);
  if (!told) {
    return fmt::format("{} ({}) did not start {} processes within {}", launcher.path,
                       launcher.name(), ranks, format_duration(options.timeout));
  }
  return rank_trouble(launcher, ranks, told->exit_code, told->output);
}

std::optional<std::string> rank_trouble(const MpiLauncher& launcher, int ranks, int exit_code,
                                        std::string_view output) {
  constexpr std::string_view kMark = "seedbed-rank ";
  std::set<std::string> known;
  std::vector<std::string> others;
  int started = 0;
  const std::string size = " " + std::to_string(ranks);
  for (const std::string_view line : split(output, '\n')) {
    const std::size_t mark = line.find(kMark);
    if (mark != std::string_view::npos) {
      ++started;
      const std::string_view told = trim(line.substr(mark + kMark.size()));
      if (told.ends_with(size) && !told.starts_with('-')) known.emplace(told);
    } else if (std::any_of(line.begin(), line.end(),
                           [](unsigned char c) { return std::isalnum(c) != 0; })) {
      others.push_back(one_line(trim(line), 200));
    }
  }
  if (exit_code == 0 && static_cast<int>(known.size()) == ranks) return std::nullopt;
  if (exit_code != 0) {
    constexpr std::size_t kShown = 3;
    if (others.size() > kShown) others.resize(kShown);
    return fmt::format("{} ({}) could not start {} processes, exit code {}{}{}", launcher.path,
                       launcher.name(), ranks, exit_code, others.empty() ? "" : ": ",
                       join(others, " / "));
  }
  return fmt::format(
      "{} ({}) started {} process{} for {} ranks, and {} of them knew which rank it is: every one "
      "would be rank 0 of 1",
      launcher.path, launcher.name(), started, started == 1 ? "" : "es", ranks,
      known.empty() ? "none" : std::to_string(known.size()));
}

bool is_mpi_launcher(std::string_view word) {
  const std::string name = base_name(word);
  return std::find(kLauncherNames.begin(), kLauncherNames.end(), name) != kLauncherNames.end() ||
         name.starts_with("mpirun.") || name.starts_with("mpirun-");
}

}  // namespace seedbed
