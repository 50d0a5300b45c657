#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"
#include "resources/resources.h"

namespace seedbed {
namespace {

constexpr std::int64_t kWhole = 1'000'000;
constexpr std::size_t kOne = 1;
constexpr double kNamedSlack = 1e-9;  // named amounts are plain doubles: 3 * 0.1 is not 0.3

std::int64_t to_micro(double amount) { return std::llround(amount * kWhole); }

/// What a whole device or a share of it weighs.
std::int64_t share_of(const Request& request, const Device& device) {
  if (request.gpus > 0) return std::min(to_micro(request.gpus), kWhole);
  if (device.memory == 0) return kWhole;
  const double part = static_cast<double>(request.gpu_memory) / static_cast<double>(device.memory);
  // Rounded down: three thirds must fit. What that gives away is a millionth of the device.
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(part * kWhole), 1, kWhole);
}

bool wants_devices(const Request& request) { return request.gpus > 0 || request.gpu_memory > 0; }

int whole_devices(const Request& request) {
  return request.gpus >= 1 ? static_cast<int>(std::lround(request.gpus)) : 1;
}

bool large_enough(const Request& request, const Device& device) {
  return request.gpu_memory == 0 || device.memory == 0 || device.memory >= request.gpu_memory;
}

std::string amount(double value) { return fmt::format("{:g}", value); }

}  // namespace

Placement::Placement(Inventory inventory)
    : inventory_(std::make_shared<const Inventory>(std::move(inventory))),
      layout_(lay_out(*inventory_)),
      slots_(inventory_->slots),
      core_load_(inventory_->cores.size()),
      physical_load_(layout_->physicals),
      device_load_(inventory_->devices.size()),
      core_held_(inventory_->cores.size()),
      device_held_(inventory_->devices.size()) {}

std::shared_ptr<const Placement::Layout> Placement::lay_out(const Inventory& inventory) {
  auto layout = std::make_shared<Layout>();
  std::map<std::pair<int, int>, std::size_t> physical_at;
  for (std::size_t i = 0; i < inventory.cores.size(); ++i) {
    const Core& core = inventory.cores[i];
    layout->core_at.emplace(core.number, i);
    const auto physical =
        physical_at.emplace(std::pair(core.package, core.core), physical_at.size());
    layout->physical.push_back(physical.first->second);
    const auto node = layout->node_at.emplace(core.numa, layout->node_at.size());
    layout->node.push_back(node.first->second);
  }
  layout->physicals = physical_at.size();
  layout->nodes = layout->node_at.size();
  for (std::size_t i = 0; i < inventory.devices.size(); ++i) {
    layout->device_at.emplace(inventory.devices[i].id(), i);
  }
  return layout;
}

bool Placement::pins() const {
  return !inventory_->shared_cores && !shares_cores_ && !inventory_->cores.empty();
}

void Placement::set_slots(std::uint32_t slots, const Request& request) {
  slots_ = slots;
  // A single request above the machine is refused elsewhere, never shared.
  const double each = request.cpus * request.ranks;
  shares_cores_ = each <= static_cast<double>(inventory_->cores.size()) && slots > fitting(request);
}

void Placement::set_held(const Held& held) {
  held_ = held;
  cores_held_ = 0;
  for (std::size_t i = 0; i < core_held_.size(); ++i) {
    core_held_[i] = held.cores.contains(inventory_->cores[i].number) ? 1 : 0;
    if (core_held_[i] != 0 && core_load_[i] == 0) ++cores_held_;
  }
  for (std::size_t i = 0; i < device_held_.size(); ++i) {
    device_held_[i] = held.devices.contains(inventory_->devices[i].id()) ? 1 : 0;
  }
}

std::uint32_t Placement::fitting(const Request& request) const {
  const double each = request.cpus * request.ranks;
  constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();
  if (each <= 0 || inventory_->cores.empty()) return kMost;
  const double fit = (static_cast<double>(inventory_->cores.size()) + kNamedSlack) / each;
  return static_cast<std::uint32_t>(std::clamp(fit, 1.0, static_cast<double>(kMost)));
}

bool Placement::runs_unpinned(const Request& request) const {
  return inventory_->insists && cores_held_ > 0 && !wants_devices(request);
}

std::optional<SlotNumber> Placement::free_slot() const {
  if (lent_.size() >= slots_) return std::nullopt;
  SlotNumber slot = 0;
  for (const auto& [taken, allocation] : lent_) {
    if (taken != slot) break;
    ++slot;
  }
  return slot < slots_ ? std::optional<SlotNumber>(slot) : std::nullopt;
}

std::optional<std::vector<int>> Placement::pick_cores(Micro cpus, int near_node) const {
  const auto usable = static_cast<Micro>(core_load_.size() - cores_held_) * kWhole;
  if (cores_lent_ + unpinned_ + cpus > usable) return std::nullopt;
  const auto whole = static_cast<std::size_t>(cpus / kWhole);
  const Micro fraction = cpus % kWhole;

  std::vector<std::size_t> free_cores;
  std::vector<std::size_t> free_in_node(layout_->nodes);
  for (std::size_t i = 0; i < core_load_.size(); ++i) {
    if (core_load_[i] != 0 || core_held_[i] != 0) continue;
    free_cores.push_back(i);
    ++free_in_node[layout_->node[i]];
  }
  if (free_cores.size() < whole) return std::nullopt;
  // The node of its device, else the tightest one that holds the whole part.
  std::optional<std::size_t> node;
  const auto near = layout_->node_at.find(near_node);
  if (near != layout_->node_at.end() && free_in_node[near->second] >= std::max(whole, kOne)) {
    node = near->second;
  } else if (whole > 1) {
    for (std::size_t i = 0; i < free_in_node.size(); ++i) {
      if (free_in_node[i] >= whole && (!node || free_in_node[i] < free_in_node[*node])) node = i;
    }
  }
  const auto before = [&](std::size_t a, std::size_t b) {
    const bool a_elsewhere = node && layout_->node[a] != *node;
    const bool b_elsewhere = node && layout_->node[b] != *node;
    if (a_elsewhere != b_elsewhere) return b_elsewhere;
    const Micro a_load = physical_load_[layout_->physical[a]];
    const Micro b_load = physical_load_[layout_->physical[b]];
    return a_load != b_load ? a_load < b_load
                            : inventory_->cores[a].number < inventory_->cores[b].number;
  };
  std::partial_sort(free_cores.begin(), free_cores.begin() + static_cast<std::ptrdiff_t>(whole),
                    free_cores.end(), before);
  std::vector<int> picked;
  for (std::size_t i = 0; i < whole; ++i) picked.push_back(inventory_->cores[free_cores[i]].number);
  if (fraction == 0) return picked;

  // A fraction alone spreads out; one beside whole cores is packed, to keep cores whole.
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < core_load_.size(); ++i) {
    const Micro load = core_load_[i];
    if (load + fraction > kWhole || core_held_[i] != 0) continue;
    if (std::find(picked.begin(), picked.end(), inventory_->cores[i].number) != picked.end()) {
      continue;
    }
    if (!best || (whole == 0 ? load < core_load_[*best] : load > core_load_[*best])) best = i;
  }
  if (!best) return std::nullopt;
  picked.push_back(inventory_->cores[*best].number);
  return picked;
}

int Placement::node_of(const std::vector<DeviceShare>& devices) const {
  if (devices.empty()) return -1;
  const auto found = layout_->device_at.find(devices.front().device);
  return found == layout_->device_at.end() ? -1 : inventory_->devices[found->second].numa;
}

std::optional<std::vector<DeviceShare>> Placement::pick_devices(const Request& request) const {
  std::vector<DeviceShare> picked;
  if (!wants_devices(request)) return picked;
  std::vector<std::pair<Micro, std::size_t>> candidates;  // load, position
  for (std::size_t i = 0; i < device_load_.size(); ++i) {
    const Device& device = inventory_->devices[i];
    if (device_held_[i] != 0 || !large_enough(request, device)) continue;
    if (device_load_[i] + share_of(request, device) <= kWhole) {
      candidates.emplace_back(device_load_[i], i);
    }
  }
  const auto needed = static_cast<std::size_t>(whole_devices(request));
  if (candidates.size() < needed) return std::nullopt;
  std::sort(candidates.begin(), candidates.end());
  for (std::size_t i = 0; i < needed; ++i) {
    const Device& device = inventory_->devices[candidates[i].second];
    picked.push_back({device.id(), static_cast<double>(share_of(request, device)) / kWhole});
  }
  return picked;
}

std::string Placement::held_text() const {
  std::vector<std::string> parts;
  if (cores_held_ > 0) {
    parts.push_back(fmt::format("{} core{}", cores_held_, cores_held_ == 1 ? "" : "s"));
  }
  const auto devices = std::count(device_held_.begin(), device_held_.end(), 1);
  if (devices > 0) parts.push_back(fmt::format("{} GPU{}", devices, devices == 1 ? "" : "s"));
  if (parts.empty()) return {};
  return "; others hold " + parts[0] + (parts.size() > 1 ? " and " + parts[1] : "");
}

std::string Placement::named_shortage(const Request& request) const {
  for (const auto& [name, wanted] : request.named) {
    const auto have = inventory_->named.find(name);
    const double total = have == inventory_->named.end() ? 0 : have->second;
    const auto found = named_lent_.find(name);
    const double lent = found == named_lent_.end() ? 0 : found->second;
    if (lent + wanted > total + kNamedSlack) {
      return fmt::format("{} of `{}` needed, {} of {} lent", amount(wanted), name, amount(lent),
                         amount(total));
    }
  }
  return {};
}

std::string Placement::shortage(const Request& request) const {
  if (!free_slot()) {
    return fmt::format("all {} slot{} taken", slots_, slots_ == 1 ? " is" : "s are");
  }
  const double cpus = request.cpus * request.ranks;
  const auto lent = static_cast<double>(cores_lent_ + unpinned_) / kWhole;
  if (pins() && !runs_unpinned(request) && !pick_cores(to_micro(cpus), -1)) {
    return fmt::format("{} core{} needed, {} of {} lent{}", amount(cpus), cpus == 1 ? "" : "s",
                       amount(lent), inventory_->cores.size(), held_text());
  }
  if (request.memory > 0 && inventory_->memory > 0 &&
      memory_lent_ + request.memory > inventory_->memory) {
    return fmt::format("{} of memory needed, {} of {} lent", format_bytes(request.memory),
                       format_bytes(memory_lent_), format_bytes(inventory_->memory));
  }
  if (!pick_devices(request)) {
    const std::string wanted = request.gpus > 0 ? fmt::format("{} GPU{}", amount(request.gpus),
                                                              request.gpus == 1 ? "" : "s")
                                                : format_bytes(request.gpu_memory) + " of a GPU";
    return fmt::format("{} needed, none of {} has room{}", wanted, inventory_->devices.size(),
                       held_text());
  }
  return named_shortage(request);
}

std::optional<Allocation> Placement::place(const Request& request) const {
  const std::optional<SlotNumber> slot = free_slot();
  if (!slot) return std::nullopt;
  Allocation allocation;
  allocation.slot = *slot;
  allocation.cpus = request.cpus * request.ranks;
  auto devices = pick_devices(request);
  if (!devices) return std::nullopt;
  allocation.devices = std::move(*devices);
  if (pins()) {
    auto cores = pick_cores(to_micro(allocation.cpus), node_of(allocation.devices));
    if (!cores && !runs_unpinned(request)) return std::nullopt;
    if (cores) allocation.cores = std::move(*cores);
  }
  if (request.memory > 0 && inventory_->memory > 0 &&
      memory_lent_ + request.memory > inventory_->memory) {
    return std::nullopt;
  }
  allocation.memory = request.memory;
  if (!named_shortage(request).empty()) return std::nullopt;
  allocation.named = request.named;
  return allocation;
}

std::string Placement::too_many_ranks(const Request& request) const {
  const std::size_t cores = inventory_->cores.size();
  // A share that is short to write: 0.5, 0.25, 0.1.
  double share = 1;
  for (const double smaller : {0.5, 0.25, 0.2, 0.1, 0.05, 0.02, 0.01}) {
    share = smaller;
    if (share * request.ranks <= static_cast<double>(cores)) break;
  }
  return fmt::format(
      "its {} ranks of {} core{} each need {}, {} {} usable; allow ranks to share a core with "
      "resources: {{cpus: {}}}, or ask for fewer ranks",
      request.ranks, amount(request.cpus), request.cpus == 1 ? "" : "s",
      amount(request.cpus * request.ranks), cores, cores == 1 ? "is" : "are", amount(share));
}

Status Placement::can_ever_fit(const Request& request) const {
  const auto refuse = [](const std::string& why) {
    return fail(ErrorCode::machine, "one trial is larger than the machine: " + why);
  };
  const double cpus = request.cpus * request.ranks;
  if (request.cpus < 0 || request.ranks < 1 || request.gpus < 0) {
    return fail(ErrorCode::usage, "resources: amounts must not be negative, ranks at least 1");
  }
  if (request.gpus > 1 && request.gpus != std::floor(request.gpus)) {
    return fail(ErrorCode::usage,
                fmt::format("gpus: {} is neither a whole number nor a share below 1",
                            amount(request.gpus)));
  }
  if (pins() && to_micro(cpus) > static_cast<Micro>(inventory_->cores.size()) * kWhole) {
    if (request.ranks > 1) return refuse(too_many_ranks(request));
    return refuse(
        fmt::format("it needs {} core{}, {} {} usable; ask for fewer with --cpus, or "
                    "share cores with --slots N",
                    amount(cpus), cpus == 1 ? "" : "s", inventory_->cores.size(),
                    inventory_->cores.size() == 1 ? "is" : "are"));
  }
  if (inventory_->memory > 0 && request.memory > inventory_->memory) {
    return refuse(fmt::format("it needs {} of memory, {} are usable; ask for less with --memory",
                              format_bytes(request.memory), format_bytes(inventory_->memory)));
  }
  if (wants_devices(request)) {
    const auto fitting =
        std::count_if(inventory_->devices.begin(), inventory_->devices.end(),
                      [&](const Device& device) { return large_enough(request, device); });
    if (fitting < whole_devices(request)) {
      const std::string size = request.gpu_memory == 0
                                   ? std::string()
                                   : " with " + format_bytes(request.gpu_memory) + " each";
      return refuse(fmt::format("it needs {} GPU{}{}, {} are there", whole_devices(request),
                                whole_devices(request) == 1 ? "" : "s", size, fitting));
    }
  }
  for (const auto& [name, wanted] : request.named) {
    const auto have = inventory_->named.find(name);
    const double total = have == inventory_->named.end() ? 0 : have->second;
    if (wanted > total + kNamedSlack) {
      return refuse(
          fmt::format("it needs {} of `{}`, there are {}", amount(wanted), name, amount(total)));
    }
  }
  return {};
}

void Placement::book_core(int number, Micro amount) {
  const auto found = layout_->core_at.find(number);
  if (found == layout_->core_at.end()) {
    Micro& total = foreign_cores_[number];
    total += amount;
    SEEDBED_CHECK(total >= 0 && total <= kWhole);
    if (total == 0) foreign_cores_.erase(number);
    return;
  }
  const std::size_t at = found->second;
  Micro& total = core_load_[at];
  if (core_held_[at] != 0 && total == 0) --cores_held_;
  total += amount;
  SEEDBED_CHECK(total >= 0 && total <= kWhole);  // a core lent twice, or never lent
  if (core_held_[at] != 0 && total == 0) ++cores_held_;
  physical_load_[layout_->physical[at]] += amount;
  cores_lent_ += amount;
}

void Placement::book(const Allocation& allocation, int sign) {
  const Micro cpus = to_micro(allocation.cpus);
  const Micro fraction = cpus % kWhole;
  if (allocation.cores.empty()) unpinned_ += sign * cpus;
  for (std::size_t i = 0; i < allocation.cores.size(); ++i) {
    const bool last = i + 1 == allocation.cores.size();
    book_core(allocation.cores[i], sign * (last && fraction > 0 ? fraction : kWhole));
  }
  for (const DeviceShare& share : allocation.devices) {
    const auto at = layout_->device_at.find(share.device);
    Micro& total =
        at == layout_->device_at.end() ? foreign_devices_[share.device] : device_load_[at->second];
    total += sign * to_micro(share.share);
    SEEDBED_CHECK(total >= 0 && total <= kWhole);
    if (at == layout_->device_at.end() && total == 0) foreign_devices_.erase(share.device);
  }
  for (const auto& [name, value] : allocation.named) named_lent_[name] += sign * value;
  if (sign > 0) {
    memory_lent_ += allocation.memory;
  } else {
    SEEDBED_CHECK(memory_lent_ >= allocation.memory);
    memory_lent_ -= allocation.memory;
  }
}

void Placement::lend(const Allocation& allocation) {
  const bool fresh = lent_.emplace(allocation.slot, allocation).second;
  SEEDBED_CHECK(fresh);
  book(allocation, 1);
}

void Placement::give_back(const Allocation& allocation) {
  const auto found = lent_.find(allocation.slot);
  SEEDBED_CHECK(found != lent_.end() && found->second == allocation);
  lent_.erase(found);
  book(allocation, -1);
  if (lent_.empty()) named_lent_.clear();  // rounding does not add up over a long run
}

}  // namespace seedbed
