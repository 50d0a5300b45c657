#include "controller/environment.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace seedbed {
namespace {

constexpr std::array<std::string_view, 7> kThreadVariables = {
    "OMP_NUM_THREADS",     "MKL_NUM_THREADS",        "OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "NUMBA_NUM_THREADS"};

// A program started inside a rank would otherwise believe that it is that rank.
constexpr std::array<std::string_view, 9> kRankPrefixes = {
    "OMPI_",     "PMIX_",       "PMI_",           "ORTE_", "HYDI_",
    "MPI_LOCAL", "SLURM_STEP_", "SLURM_CPU_BIND", "PRTE_"};
constexpr std::array<std::string_view, 4> kRankNames = {"SLURM_PROCID", "SLURM_LOCALID",
                                                        "SLURM_NODEID", "SLURM_TASK_PID"};
constexpr std::array<std::string_view, 4> kRankMarks = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                                        "PMI_RANK", "SLURM_PROCID"};

bool belongs_to_rank(std::string_view name) {
  if (name.starts_with("OMPI_ALLOW_RUN_AS_ROOT")) return false;
  const auto is_prefix = [name](std::string_view prefix) { return name.starts_with(prefix); };
  return std::any_of(kRankPrefixes.begin(), kRankPrefixes.end(), is_prefix) ||
         std::find(kRankNames.begin(), kRankNames.end(), name) != kRankNames.end();
}

}  // namespace

Variables surrounding_variables(char** environment) {
  Variables variables;
  for (char** word = environment; word != nullptr && *word != nullptr; ++word) {
    const std::string_view text(*word);
    const std::size_t equals = text.find('=', 1);
    if (equals == std::string_view::npos) continue;
    variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

Variables base_variables(const Variables& surroundings) {
  const bool inside_rank =
      std::any_of(kRankMarks.begin(), kRankMarks.end(),
                  [&](std::string_view mark) { return surroundings.contains(mark); });
  Variables variables;
  for (const auto& [name, value] : surroundings) {
    if (name.starts_with("SEEDBED_") || name == "WANDB_SWEEP_PARAM_PATH") continue;
    if (inside_rank && belongs_to_rank(name)) continue;
    variables.emplace(name, value);
  }
  return variables;
}

void add_default_variables(Variables& own, const Variables& base, int threads,
                           const std::string& port) {
  const auto add = [&](std::string_view name, const std::string& value) {
    if (!base.contains(name)) own.emplace(name, value);
  };
  add("PYTHONUNBUFFERED", "1");
  add("MASTER_PORT", port);
  for (const std::string_view name : kThreadVariables) add(name, std::to_string(threads));
}

int threads_for(const Allocation& allocation, int ranks) {
  return std::max(1, static_cast<int>(std::floor(allocation.cpus / ranks + 1e-9)));
}

std::map<std::string, std::optional<std::string>> changes(const Variables& surroundings,
                                                          const Variables& base,
                                                          const Variables& own) {
  std::map<std::string, std::optional<std::string>> changed;
  for (const auto& [name, value] : surroundings) {
    if (!base.contains(name)) changed.emplace(name, std::nullopt);
  }
  for (const auto& [name, value] : own) {
    const auto old = surroundings.find(name);
    if (old == surroundings.end() || old->second != value) {
      changed[name] = value;
    } else {
      changed.erase(name);  // taken out and put back
    }
  }
  return changed;
}

std::vector<std::string> to_words(const Variables& base, const Variables& own) {
  std::vector<std::string> words;
  words.reserve(base.size() + own.size());
  for (const auto& [name, value] : base) {
    if (!own.contains(name)) words.push_back(name + "=" + value);
  }
  for (const auto& [name, value] : own) words.push_back(name + "=" + value);
  return words;
}

}  // namespace seedbed
