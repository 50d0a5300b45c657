#include "machine/machine.h"

#include <fmt/format.h>
#include <hwloc.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <tuple>

#include "base/text.h"

namespace seedbed {
namespace {

constexpr int kMaxCpus = 1 << 16;
constexpr std::uint32_t kMaxSlots = 4096;

struct TopologyDeleter {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, TopologyDeleter>;

// Only packages, NUMA nodes, cores and CPUs: no caches, no devices. Looking at those, and asking
// each CPU by moving ourselves there (the x86 part), is what makes hwloc slow to start.
Topology load_topology(const std::string& synthetic) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return nullptr;
  Topology topology(raw);
  hwloc_topology_set_flags(
      raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED | HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING |
               HWLOC_TOPOLOGY_FLAG_NO_DISTANCES | HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS |
               HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS);
  hwloc_topology_set_all_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_type_filter(raw, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
  hwloc_topology_set_type_filter(raw, HWLOC_OBJ_PACKAGE, HWLOC_TYPE_FILTER_KEEP_ALL);
  // Groups hold the CPUs of a NUMA node that is only a part of a package.
  hwloc_topology_set_type_filter(raw, HWLOC_OBJ_GROUP, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
  for (const char* slow : {"x86", "pci", "opencl", "cuda", "nvml", "rsmi", "levelzero", "gl"}) {
    hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, slow);
  }
  if (!synthetic.empty() && hwloc_topology_set_synthetic(raw, synthetic.c_str()) != 0) {
    return nullptr;
  }
  if (hwloc_topology_load(raw) != 0) return nullptr;
  return topology;
}

struct Cpu {
  Core core;
  int thread = 0;  // among those of its physical core
};

int ancestor_index(hwloc_topology_t topology, hwloc_obj_t pu, hwloc_obj_type_t type) {
  hwloc_obj_t found = hwloc_get_ancestor_obj_by_type(topology, type, pu);
  return found != nullptr ? static_cast<int>(found->logical_index) : 0;
}

int numa_of(hwloc_obj_t pu) {
  int node = hwloc_bitmap_first(pu->nodeset);
  return node >= 0 ? node : 0;
}

std::vector<Cpu> cpus_of(const Topology& topology) {
  std::vector<Cpu> cpus;
  if (topology == nullptr) return cpus;
  std::map<int, int> threads;
  hwloc_obj_t pu = nullptr;
  while ((pu = hwloc_get_next_obj_by_type(topology.get(), HWLOC_OBJ_PU, pu)) != nullptr) {
    Cpu cpu;
    cpu.core.number = static_cast<int>(pu->os_index);
    hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(topology.get(), HWLOC_OBJ_CORE, pu);
    // Some virtual machines show no cores; then each CPU is one.
    cpu.core.core = static_cast<int>(core != nullptr ? core->logical_index : pu->logical_index);
    cpu.core.package = ancestor_index(topology.get(), pu, HWLOC_OBJ_PACKAGE);
    cpu.core.numa = numa_of(pu);
    cpu.thread = threads[cpu.core.core]++;
    cpus.push_back(cpu);
  }
  return cpus;
}

// The mask may be larger than cpu_set_t: grow until the kernel is content.
std::vector<int> affinity() {
  for (int size = 1024; size <= kMaxCpus; size *= 4) {
    cpu_set_t* set = CPU_ALLOC(size);
    if (set == nullptr) break;
    std::vector<int> numbers;
    bool read = ::sched_getaffinity(0, CPU_ALLOC_SIZE(size), set) == 0;
    for (int i = 0; read && i < size; ++i) {
      if (CPU_ISSET_S(i, CPU_ALLOC_SIZE(size), set)) numbers.push_back(i);
    }
    CPU_FREE(set);
    if (read) return numbers;
  }
  return {};
}

std::vector<int> allowed_numbers(const MachineSource& source, const std::vector<Cpu>& cpus) {
  if (source.allowed) return *source.allowed;
  if (source.synthetic.empty()) return affinity();
  std::vector<int> all;
  for (const Cpu& cpu : cpus) all.push_back(cpu.core.number);
  return all;
}

std::vector<Core> lending_order(std::vector<Cpu> cpus) {
  std::sort(cpus.begin(), cpus.end(), [](const Cpu& a, const Cpu& b) {
    return std::tuple(a.thread, a.core.package, a.core.core, a.core.number) <
           std::tuple(b.thread, b.core.package, b.core.core, b.core.number);
  });
  std::vector<Core> cores;
  for (const Cpu& cpu : cpus) cores.push_back(cpu.core);
  return cores;
}

// `MemTotal:       24683620 kB`
std::uint64_t meminfo_bytes(const std::string& text, std::string_view key) {
  for (std::string_view line : split(text, '\n')) {
    if (!line.starts_with(key) || line.size() <= key.size() || line[key.size()] != ':') continue;
    std::string_view rest = trim(line.substr(key.size() + 1));
    std::uint64_t kib = 0;
    auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), kib);
    std::string_view unit = trim(rest.substr(static_cast<std::size_t>(end - rest.data())));
    if (error != std::errc() || unit != "kB" || kib > (std::uint64_t{1} << 50)) return 0;
    return kib * 1024;
  }
  return 0;
}

std::string plural(int count, std::string_view word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

double cores_each(const Request& request) {
  double each = request.cpus * std::max(1, request.ranks);
  return each > 0 ? each : 1;
}

// How many trials of this size the usable cores carry.
std::uint32_t fitting_slots(const Machine& machine, const Request& request) {
  double each = cores_each(request);
  // A tenth of a core must give ten slots on one core although 0.1 is not exact.
  double count = std::floor(machine.usable() / each + 1e-9);
  return static_cast<std::uint32_t>(std::clamp(count, 1.0, static_cast<double>(kMaxSlots)));
}

}  // namespace

Machine read_machine(const MachineSource& source) {
  Machine machine;
  std::vector<Cpu> cpus = cpus_of(load_topology(source.synthetic));
  std::vector<int> numbers = allowed_numbers(source, cpus);

  std::set<int> cores;
  std::vector<Cpu> mine;
  for (const Cpu& cpu : cpus) {
    cores.insert(cpu.core.core);
    if (std::find(numbers.begin(), numbers.end(), cpu.core.number) != numbers.end()) {
      mine.push_back(cpu);
    }
  }
  machine.seen = static_cast<int>(cpus.size());
  machine.physical_seen = static_cast<int>(cores.size());
  if (mine.empty()) {
    // No topology, or one of another machine: every allowed CPU is a core of its own.
    if (numbers.empty()) numbers.push_back(0);
    for (int number : numbers) mine.push_back(Cpu{Core{number, number, 0, 0}, 0});
    machine.seen = std::max(machine.seen, static_cast<int>(mine.size()));
    machine.physical_seen = std::max(machine.physical_seen, static_cast<int>(mine.size()));
  }
  machine.allowed = lending_order(std::move(mine));

  machine.limits = read_cgroup_limits(source.root);
  std::string meminfo = read_small_file(source.root + "/proc/meminfo").value_or("");
  machine.memory_total = meminfo_bytes(meminfo, "MemTotal");
  machine.memory_available = meminfo_bytes(meminfo, "MemAvailable");
  return machine;
}

int Machine::usable() const {
  auto width = static_cast<int>(allowed.size());
  // The thousandth forgives a period that does not divide evenly.
  if (limits.cpu_quota && *limits.cpu_quota < width) {
    width = static_cast<int>(std::floor(*limits.cpu_quota + 1e-3));
  }
  return std::max(1, width);
}

bool Machine::limited_by_quota() const {
  return limits.cpu_quota && *limits.cpu_quota + 1e-3 < static_cast<double>(allowed.size());
}

std::uint64_t Machine::memory() const {
  if (!limits.memory) return memory_total;
  return memory_total == 0 ? *limits.memory : std::min(memory_total, *limits.memory);
}

std::string Machine::describe() const {
  if (usable() == seen && !limited_by_quota()) return plural(seen, "core");
  std::string why = limited_by_quota() ? "quota" : "affinity";
  if (limited_by_quota() && static_cast<int>(allowed.size()) < seen) why = "affinity, quota";
  return fmt::format("{} seen, {} usable ({})", plural(seen, "core"), usable(), why);
}

std::vector<std::string> Machine::warnings() const {
  std::vector<std::string> out;
  auto count = static_cast<int>(allowed.size());
  if (count < seen) {
    std::vector<int> numbers;
    for (const Core& core : allowed) numbers.push_back(core.number);
    out.push_back(
        fmt::format("only core{} {} of {} allowed: the shell, tmux or a batch system set an "
                    "affinity; taskset -p {} shows it",
                    count == 1 ? "" : "s", number_ranges(numbers), seen, ::getpid()));
  }
  if (limits.cpu_quota && *limits.cpu_quota + 1e-3 < 1) {
    out.push_back(fmt::format("the CPU quota is {} of a core ({}): trials will be slow",
                              format_number(*limits.cpu_quota), limits.cpu_quota_file));
  }
  return out;
}

Lending make_lending(const Machine& machine, const Request& request,
                     std::optional<std::uint32_t> slots) {
  Lending lending;
  Inventory& inventory = lending.inventory;
  inventory.cores = machine.allowed;
  inventory.cores.resize(static_cast<std::size_t>(machine.usable()), machine.allowed.back());
  inventory.memory = machine.memory();
  // A trial larger than the machine must stay visible as such to Placement::can_ever_fit.
  inventory.shared_cores = machine.limited_by_quota() && cores_each(request) <= machine.usable();
  lending.warnings = machine.warnings();

  std::uint32_t fitting = fitting_slots(machine, request);
  inventory.slots = slots.value_or(fitting);
  if (inventory.slots > fitting) {
    inventory.shared_cores = true;
    lending.warnings.push_back(
        fmt::format("{} slots share {} ({} would fit): trials are not pinned and slow each other",
                    inventory.slots, plural(machine.usable(), "core"), fitting));
  }
  return lending;
}

}  // namespace seedbed
