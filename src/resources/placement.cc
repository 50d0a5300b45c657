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
constexpr double kNamedSlack = 1e-9;  // named amounts are plain doubles: 3 * 0.1 is not 0.3

std::int64_t to_micro(double amount) { return std::llround(amount * kWhole); }

/// What a whole device or a share of it weighs.
std::int64_t share_of(const Request& request, const Device& device) {
  if (request.gpus > 0) return std::min(to_micro(request.gpus), kWhole);
  if (device.memory == 0) return kWhole;
  const double part = static_cast<double>(request.gpu_memory) / static_cast<double>(device.memory);
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(part * kWhole)), 1, kWhole);
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
      slots_(inventory_->slots) {}

bool Placement::pins() const {
  return !inventory_->shared_cores && !shares_cores_ && !inventory_->cores.empty();
}

void Placement::set_slots(std::uint32_t slots, const Request& request) {
  slots_ = slots;
  // A single request above the machine is refused elsewhere, never shared.
  const double each = request.cpus * request.ranks;
  shares_cores_ = each <= static_cast<double>(inventory_->cores.size()) && slots > fitting(request);
}

std::uint32_t Placement::fitting(const Request& request) const {
  const double each = request.cpus * request.ranks;
  constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();
  if (each <= 0 || inventory_->cores.empty()) return kMost;
  const double fit = (static_cast<double>(inventory_->cores.size()) + kNamedSlack) / each;
  return static_cast<std::uint32_t>(std::clamp(fit, 1.0, static_cast<double>(kMost)));
}

Placement::Micro Placement::cpus_lent() const {
  Micro total = unpinned_;
  for (const Core& core : inventory_->cores) {
    const auto load = core_load_.find(core.number);
    if (load != core_load_.end()) total += load->second;
  }
  return total;
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

std::optional<std::vector<int>> Placement::pick_cores(Micro cpus) const {
  const auto load_of = [&](const Core& core) {
    const auto found = core_load_.find(core.number);
    return found == core_load_.end() ? Micro{0} : found->second;
  };
  if (cpus_lent() + cpus > static_cast<Micro>(inventory_->cores.size()) * kWhole) {
    return std::nullopt;
  }
  const auto whole = static_cast<std::size_t>(cpus / kWhole);
  const Micro fraction = cpus % kWhole;

  std::map<std::pair<int, int>, Micro> physical_load;  // hyperthreads of one core slow each other
  std::map<int, std::size_t> free_in_node;
  for (const Core& core : inventory_->cores) {
    physical_load[{core.package, core.core}] += load_of(core);
    if (load_of(core) == 0) ++free_in_node[core.numa];
  }
  std::optional<int> node;  // the tightest node that holds the whole part
  for (const auto& [number, free] : free_in_node) {
    if (free >= whole && (!node || free < free_in_node[*node])) node = number;
  }
  std::vector<const Core*> free_cores;
  for (const Core& core : inventory_->cores) {
    if (load_of(core) == 0) free_cores.push_back(&core);
  }
  if (free_cores.size() < whole) return std::nullopt;
  const auto key = [&](const Core* core) {
    const bool elsewhere = whole > 1 && node && core->numa != *node;
    return std::make_tuple(elsewhere, physical_load[{core->package, core->core}], core->number);
  };
  std::sort(free_cores.begin(), free_cores.end(),
            [&](const Core* a, const Core* b) { return key(a) < key(b); });
  std::vector<int> picked;
  for (std::size_t i = 0; i < whole; ++i) picked.push_back(free_cores[i]->number);
  if (fraction == 0) return picked;

  // A fraction alone spreads out; one beside whole cores is packed, to keep cores whole.
  const Core* best = nullptr;
  for (const Core& core : inventory_->cores) {
    const Micro load = load_of(core);
    if (load + fraction > kWhole) continue;
    if (std::find(picked.begin(), picked.end(), core.number) != picked.end()) continue;
    if (best == nullptr || (whole == 0 ? load < load_of(*best) : load > load_of(*best))) {
      best = &core;
    }
  }
  if (best == nullptr) return std::nullopt;
  picked.push_back(best->number);
  return picked;
}

std::optional<std::vector<DeviceShare>> Placement::pick_devices(const Request& request) const {
  std::vector<DeviceShare> picked;
  if (!wants_devices(request)) return picked;
  std::vector<std::pair<Micro, int>> candidates;  // load, position
  for (int i = 0; i < static_cast<int>(inventory_->devices.size()); ++i) {
    const Device& device = inventory_->devices[static_cast<std::size_t>(i)];
    const auto found = device_load_.find(i);
    const Micro load = found == device_load_.end() ? 0 : found->second;
    if (!large_enough(request, device)) continue;
    if (load + share_of(request, device) <= kWhole) candidates.emplace_back(load, i);
  }
  const auto needed = static_cast<std::size_t>(whole_devices(request));
  if (candidates.size() < needed) return std::nullopt;
  std::sort(candidates.begin(), candidates.end());
  for (std::size_t i = 0; i < needed; ++i) {
    const int position = candidates[i].second;
    const Micro share = share_of(request, inventory_->devices[static_cast<std::size_t>(position)]);
    picked.push_back({position, static_cast<double>(share) / kWhole});
  }
  return picked;
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
  if (pins() && !pick_cores(to_micro(cpus))) {
    return fmt::format("{} core{} needed, {} of {} lent", amount(cpus), cpus == 1 ? "" : "s",
                       amount(static_cast<double>(cpus_lent()) / kWhole), inventory_->cores.size());
  }
  if (request.memory > 0 && inventory_->memory > 0 &&
      memory_lent_ + request.memory > inventory_->memory) {
    return fmt::format("{} of memory needed, {} of {} lent", format_bytes(request.memory),
                       format_bytes(memory_lent_), format_bytes(inventory_->memory));
  }
  if (!pick_devices(request)) {
    return fmt::format("{} GPU{} needed, none of {} has room", amount(request.gpus),
                       request.gpus == 1 ? "" : "s", inventory_->devices.size());
  }
  return named_shortage(request);
}

std::optional<Allocation> Placement::place(const Request& request) const {
  const std::optional<SlotNumber> slot = free_slot();
  if (!slot) return std::nullopt;
  Allocation allocation;
  allocation.slot = *slot;
  allocation.cpus = request.cpus * request.ranks;
  if (pins()) {
    auto cores = pick_cores(to_micro(allocation.cpus));
    if (!cores) return std::nullopt;
    allocation.cores = std::move(*cores);
  }
  if (request.memory > 0 && inventory_->memory > 0 &&
      memory_lent_ + request.memory > inventory_->memory) {
    return std::nullopt;
  }
  allocation.memory = request.memory;
  auto devices = pick_devices(request);
  if (!devices) return std::nullopt;
  allocation.devices = std::move(*devices);
  if (!named_shortage(request).empty()) return std::nullopt;
  allocation.named = request.named;
  return allocation;
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

void Placement::book(const Allocation& allocation, int sign) {
  const Micro cpus = to_micro(allocation.cpus);
  const Micro fraction = cpus % kWhole;
  if (allocation.cores.empty()) unpinned_ += sign * cpus;
  for (std::size_t i = 0; i < allocation.cores.size(); ++i) {
    const bool last = i + 1 == allocation.cores.size();
    const Micro load = last && fraction > 0 ? fraction : kWhole;
    Micro& total = core_load_[allocation.cores[i]];
    total += sign * load;
    SEEDBED_CHECK(total >= 0 && total <= kWhole);  // a core lent twice, or never lent
    if (total == 0) core_load_.erase(allocation.cores[i]);
  }
  for (const DeviceShare& share : allocation.devices) {
    Micro& total = device_load_[share.device];
    total += sign * to_micro(share.share);
    SEEDBED_CHECK(total >= 0 && total <= kWhole);
    if (total == 0) device_load_.erase(share.device);
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
