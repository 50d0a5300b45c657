#include "controller/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <tuple>

#include "base/number_text.h"
#include "base/text.h"
#include "launchers/local_launcher.h"
#include "machine/doctor.h"

namespace seedbed {
namespace {

constexpr const char* kInstall =
    "install one (Debian: openmpi-bin or mpich), load its module, or name it: resources: {mpi: "
    "/path/to/mpirun}";

MpiVariables variables_of(const std::vector<std::string>& words) {
  MpiVariables variables;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=', 1);
    if (equals != std::string::npos) variables[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return variables;
}

std::string path_of(const MpiVariables& variables) {
  const auto path = variables.find("PATH");
  return path == variables.end() ? "/usr/local/bin:/usr/bin:/bin" : path->second;
}

std::string base_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

/// Behind `env A=b`: where the program's name stands.
std::size_t program_at(const std::vector<std::string>& argv) {
  std::size_t at = 0;
  if (!argv.empty() && base_name(argv[0]) == "env") {
    at = 1;
    while (at < argv.size() && argv[at].find('=') != std::string::npos) ++at;
  }
  return at < argv.size() ? at : 0;
}

class Finder {
 public:
  explicit Finder(const MpiQuestion& question)
      : question_(question), variables_(variables_of(question.environment)) {
    asker_.environment = question.environment;
  }

  Result<MpiFindings> find() {
    const std::size_t at = program_at(question_.argv);
    const bool own_mpirun = !question_.argv.empty() && is_mpi_launcher(question_.argv[at]);
    if (question_.request.ranks <= 1) {
      if (own_mpirun) {
        if (Status checked = check_own_mpirun(at); !checked) return propagate(checked);
      }
      if (!question_.spec.resources.mpi.empty()) {
        findings_.warnings.emplace_back("resources: `mpi` has no effect without `ranks` above 1");
      }
      findings_.unbind = own_mpirun || !default_launcher().empty();
      return std::move(findings_);
    }
    if (own_mpirun) {
      return fail(ErrorCode::usage,
                  fmt::format("`ranks: {}` starts the program with mpirun, and the command does so "
                              "itself ({}); leave out one of them",
                              question_.request.ranks, question_.argv[at]));
    }
    look_at_program(at);
    auto launcher = choose();
    if (!launcher) return propagate(launcher);
    if (refuses_root(*launcher, variables_, question_.is_root)) {
      return fail(ErrorCode::machine, root_remedy(*launcher));
    }
    auto shim = question_.shim.empty() ? find_shim() : Result<std::string>(question_.shim);
    if (!shim) return propagate(shim);
    RankPlan plan;
    plan.launcher = std::move(*launcher);
    plan.ranks = question_.request.ranks;
    plan.shim = std::move(*shim);
    plan.cores = question_.inventory.cores;
    RankStart start;
    start.ranks = plan.ranks;
    start.cores_shared = question_.inventory.shared_cores || question_.request.cpus < 1;
    start.inside_scheduler = inside_scheduler(variables_);
    plan.words = rank_words(plan.launcher, start);
    plan.words.push_back(plan.shim);
    plan.words.emplace_back("rank");
    findings_.plan = std::move(plan);
    return std::move(findings_);
  }

 private:
  [[nodiscard]] std::string default_launcher() const {
    for (const char* name : {"mpirun", "mpiexec"}) {
      std::string found = find_program(name, path_of(variables_));
      if (!found.empty()) return found;
    }
    return {};
  }

  [[nodiscard]] std::string absolute(const std::string& program) const {
    if (program.find('/') == std::string::npos) return find_program(program, path_of(variables_));
    return program.starts_with('/') ? program : question_.working_dir + "/" + program;
  }

  /// Which MPI the program is linked with, as far as that can be seen without starting it.
  void look_at_program(std::size_t at) {
    if (question_.argv.empty()) return;
    const std::string program = absolute(question_.argv[at]);
    if (program.empty()) return;
    if (base_name(program).starts_with("python")) {
      library_ = asker_.linked_mpi4py(program);
      certain_ = library_ && names_mpi4py(at);
    } else {
      library_ = asker_.linked(program);
      certain_ = library_.has_value();
    }
  }

  /// Whether the script, or the module that is to be run, says that it uses mpi4py.
  [[nodiscard]] bool names_mpi4py(std::size_t at) const {
    for (std::size_t i = at + 1; i < question_.argv.size() && i < at + 4; ++i) {
      const std::string& word = question_.argv[i];
      if (word == "mpi4py") return true;
      if (!word.ends_with(".py")) continue;
      std::ifstream script(word.starts_with('/') ? word : question_.working_dir + "/" + word);
      std::string text(1 << 20, '\0');
      script.read(text.data(), static_cast<std::streamsize>(text.size()));
      text.resize(static_cast<std::size_t>(script.gcount()));
      return text.find("mpi4py") != std::string::npos;
    }
    return false;
  }

  Result<MpiLauncher> choose() {
    const std::string& named =
        question_.spec.resources.mpi.empty() ? question_.named : question_.spec.resources.mpi;
    if (!named.empty()) {
      const std::string path = absolute(named);
      if (path.empty() || ::access(path.c_str(), X_OK) != 0) {
        return fail(ErrorCode::machine,
                    fmt::format("mpi: {} is not found{}", named,
                                named.find('/') == std::string::npos ? " along PATH" : ""));
      }
      auto launcher = asker_.launcher(path);
      if (!launcher || fits(*launcher)) return launcher;
      return mismatch(*launcher);
    }
    const std::string usual = default_launcher();
    std::optional<MpiLauncher> first;
    if (!usual.empty()) {
      auto launcher = asker_.launcher(usual);
      if (!launcher) return launcher;
      if (fits(*launcher)) return launcher;
      first = std::move(*launcher);
    }
    for (MpiLauncher& other : asker_.launchers(path_of(variables_))) {
      if (!fits(other) || !other.family()) continue;
      if (first) {
        findings_.warnings.push_back(
            fmt::format("{} ({}) starts the ranks, not {} ({}): the program uses {}", other.path,
                        other.name(), first->path, first->name(), library_->path));
      }
      return std::move(other);
    }
    if (first) return mismatch(*first);
    return fail(ErrorCode::machine,
                fmt::format("`ranks: {}` needs an MPI, and there is no mpirun along PATH; {}",
                            question_.request.ranks, kInstall));
  }

  /// Whether the program can be started with it, or nothing says that it cannot.
  [[nodiscard]] bool fits(const MpiLauncher& launcher) const {
    return !library_ || !launcher.family() || *launcher.family() == library_->family;
  }

  Result<MpiLauncher> mismatch(const MpiLauncher& launcher) {
    const std::string text = fmt::format(
        "{} is {}, and {} uses {}, which is {}: every rank would be rank 0 of 1", launcher.path,
        launcher.name(), certain_ ? "the program" : "what this Python has as mpi4py",
        library_->path, mpi_family_words(library_->family));
    if (!certain_) {
      findings_.warnings.push_back(text + ", if the program uses it");
      return launcher;
    }
    return fail(ErrorCode::machine,
                fmt::format("{}; {}", text,
                            question_.spec.resources.mpi.empty()
                                ? "name that MPI's mpirun: resources: {mpi: /path/to/mpirun}"
                                : "name that MPI's mpirun in its place, or none"));
  }

  /// The user's own `mpirun -np 4`, as far as it would fail in every trial alike, or bring too many
  /// ranks to the trial's cores.
  Status check_own_mpirun(std::size_t at) {
    const std::vector<std::string>& argv = question_.argv;
    const std::string path = absolute(argv[at]);
    if (question_.is_root && !path.empty() &&
        std::find(argv.begin(), argv.end(), "--allow-run-as-root") == argv.end()) {
      const auto launcher = asker_.launcher(path);
      if (launcher && refuses_root(*launcher, variables_, true)) {
        return fail(ErrorCode::machine, root_remedy(*launcher));
      }
    }
    int ranks = 0;
    for (std::size_t i = at + 1; i + 1 < argv.size() && ranks == 0; ++i) {
      if (argv[i] != "-np" && argv[i] != "-n" && argv[i] != "--np" && argv[i] != "--n") continue;
      const std::string& text = argv[i + 1];
      std::from_chars(text.data(), text.data() + text.size(), ranks);
    }
    if (ranks > 1 && question_.request.cpus < ranks) {
      findings_.warnings.push_back(fmt::format(
          "each trial starts {0} ranks ({1}) on {2} core{3}: say resources: {{cpus: {0}}}, or "
          "resources: {{ranks: {0}}} and leave mpirun to seedbed",
          ranks, base_name(argv[at]), number_text(question_.request.cpus),
          question_.request.cpus == 1 ? "" : "s"));
    }
    return {};
  }

  const MpiQuestion& question_;
  MpiVariables variables_;
  MpiAsker asker_;
  MpiFindings findings_;
  std::optional<MpiLibrary> library_;
  bool certain_ = false;  ///< the program itself uses that library
};

}  // namespace

Result<MpiFindings> find_mpi(const MpiQuestion& question) { return Finder(question).find(); }

Status try_ranks(MpiFindings& findings, const std::vector<std::string>& environment) {
  if (!findings.plan) return {};
  const RankPlan& plan = *findings.plan;
  MpiAsker asker;
  asker.environment = environment;
  std::vector<std::string> words = plan.words;
  words.resize(words.size() - 2);  // the asker adds the holder of ranks itself
  const auto trouble = asker.trouble(plan.launcher, words, plan.shim, plan.ranks);
  if (!trouble) return {};
  if (plan.launcher.kind == MpiKind::unknown) {
    findings.warnings.push_back(*trouble);
    return {};
  }
  return fail(ErrorCode::machine, *trouble);
}

std::string rank_cores(const std::vector<int>& lent, const RankPlan& plan) {
  const auto ranks = static_cast<std::size_t>(plan.ranks);
  if (lent.empty() || lent.size() % ranks != 0) return {};
  // Hardware threads of one core beside each other, then cores of one node.
  std::map<int, std::tuple<int, int, int>> place;
  for (const Core& core : plan.cores) place[core.number] = {core.numa, core.package, core.core};
  std::vector<int> sorted = lent;
  std::sort(sorted.begin(), sorted.end(), [&](int a, int b) {
    const auto of_a = place[a], of_b = place[b];
    return of_a != of_b ? of_a < of_b : a < b;
  });
  std::string text;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (i > 0) text += i % (sorted.size() / ranks) == 0 ? ';' : ',';
    text += std::to_string(sorted[i]);
  }
  return text;
}

void add_unbinding_variables(Variables& own, const Variables& base) {
  for (const char* name :
       {"OMPI_MCA_hwloc_base_binding_policy", "PRTE_MCA_hwloc_default_binding_policy"}) {
    if (!base.contains(name)) own.emplace(name, "none");
  }
}

}  // namespace seedbed
