#include "controller/lend_machine.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>

namespace seedbed {
namespace {

// A driver that wakes a card up takes seconds.
constexpr Milliseconds kDriverLimit{20'000};

bool asks_for_devices(const Request& request) { return request.gpus > 0 || request.gpu_memory > 0; }

/// Trials that the devices suffice for side by side.
std::uint32_t fitting_on_devices(const Inventory& inventory, const Request& request) {
  Inventory devices_only;
  devices_only.devices = inventory.devices;
  devices_only.shared_cores = true;
  devices_only.slots = 100'000;
  Placement placement(std::move(devices_only));
  Request wanted;
  wanted.gpus = request.gpus;
  wanted.gpu_memory = request.gpu_memory;
  std::uint32_t count = 0;
  while (auto place = placement.place(wanted)) {
    placement.lend(*place);
    ++count;
  }
  return count;
}

/// Each slot takes a socket, a lock a core or device, and for moments one more.
void fit_descriptors(Lending& lending) {
  constexpr rlim_t kOurs = 32;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  Inventory& inventory = lending.inventory;
  const rlim_t left = limit.rlim_cur > kOurs ? limit.rlim_cur - kOurs : 0;
  const auto most = static_cast<std::uint32_t>(std::clamp<rlim_t>(left / 2, 1, 100'000));
  if (inventory.slots <= most) return;
  lending.warnings.push_back(fmt::format(
      "{} trials at once instead of {}: the limit of {} open files (`ulimit -n`) does not suffice "
      "for more",
      most, inventory.slots, limit.rlim_cur));
  inventory.slots = most;
}

}  // namespace

std::string StudyLending::describe() const {
  std::string text = machine.describe();
  if (!devices) return text;
  const std::size_t count = devices->devices.size();
  text += fmt::format("; {} GPU{}", count, count == 1 ? "" : "s");
  if (!devices->origin.empty()) text += fmt::format(" ({})", devices->origin);
  return text;
}

Request request_of(const ResourceSpec& resources) {
  Request request;
  request.cpus = resources.cpus.value_or(1);
  request.gpus = resources.gpus;
  request.gpu_memory = resources.gpu_memory;
  request.memory = resources.memory;
  request.ranks = resources.ranks;
  request.named = resources.named;
  return request;
}

Result<StudyLending> lend_machine(const StudySpec& spec, std::optional<std::uint32_t> slots,
                                  const std::string& gpus_by_hand, const Variables& surroundings) {
  StudyLending result;
  result.machine = read_machine();
  result.request = request_of(spec.resources);
  if (!slots) slots = spec.slots;
  std::uint32_t on_devices = 0;
  if (asks_for_devices(result.request) || !gpus_by_hand.empty()) {
    result.report = ask_gpus(kDriverLimit);
    auto set = choose_devices(*result.report, surroundings, gpus_by_hand);
    if (!set) return propagate(set);
    result.devices = std::move(*set);
    result.warnings = result.devices->warnings;
  }
  if (result.devices && asks_for_devices(result.request)) {
    result.inventory.devices = result.devices->devices;
    on_devices = fitting_on_devices(result.inventory, result.request);
    if (!spec.resources.cpus && on_devices > 0) {
      // Whole cores, or a core for so many that all of them find a place.
      const auto cores = static_cast<double>(result.machine.usable());
      const double part = cores / on_devices;
      result.request.cpus = part >= 1 ? std::floor(part) : 1 / std::ceil(on_devices / cores);
    }
  }
  Lending lending = make_lending(result.machine, result.request, slots);
  lending.inventory.devices = std::move(result.inventory.devices);
  if (!slots && on_devices > 0) {
    lending.inventory.slots = std::min(lending.inventory.slots, on_devices);
  }
  lending.inventory.insists = slots.has_value();
  fit_descriptors(lending);
  result.inventory = std::move(lending.inventory);
  std::move(lending.warnings.begin(), lending.warnings.end(), std::back_inserter(result.warnings));
  return result;
}

}  // namespace seedbed
