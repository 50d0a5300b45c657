#include "machine/locks.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/random.h"

namespace seedbed {
namespace {

constexpr std::size_t kLongestName = 100;  // of 107 bytes

struct Address {
  explicit Address(const std::string& name)
      : length(static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())) {
    SEEDBED_CHECK(name.size() <= kLongestName);
    socket.sun_family = AF_UNIX;
    std::memcpy(socket.sun_path + 1, name.data(), name.size());  // behind a NUL: abstract
  }
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&socket); }

  sockaddr_un socket{};
  socklen_t length;
};

Descriptor unbound() { return Descriptor(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)); }

/// Empty: somebody else has bound that name. Any other refusal (a limit on descriptors, say) must
/// not stop a study: it then lends without excluding others.
Descriptor bind_name(const std::string& name, bool& held_by_others) {
  const Address address(name);
  held_by_others = false;
  Descriptor socket = unbound();
  if (socket && ::bind(socket.get(), address.get(), address.length) != 0) {
    held_by_others = errno == EADDRINUSE;
    socket.reset();
  }
  return socket;
}

/// Without taking it, not even for a moment: another who wants it just then would be refused.
bool is_bound(const std::string& name) {
  const Address address(name);
  const Descriptor socket = unbound();
  return socket && ::connect(socket.get(), address.get(), address.length) == 0;
}

/// Names that are too long end in a hash of the whole.
std::string fitting(std::string name) {
  if (name.size() <= kLongestName) return name;
  const std::string hash = fmt::format("{:016x}", hash_text(name));
  name.resize(kLongestName - hash.size());
  return name + hash;
}

}  // namespace

MachineLocks::MachineLocks(std::string name_space) : name_space_(std::move(name_space)) {}

std::string MachineLocks::default_name_space() {
  const auto variable = [](const char* name) {
    const char* text = std::getenv(name);
    return std::string(text == nullptr ? "" : text);
  };
  // A study that a trial runs lives on what that trial has been lent: its own trials keep out of
  // each other's way, not out of the way of the one around them.
  const std::string around = variable("SEEDBED_TOKEN");
  return variable("SEEDBED_LOCKS") + (around.empty() ? "" : around + "/");
}

std::string MachineLocks::core_name(int core) const {
  return fitting(fmt::format("{}seedbed/core/{}", name_space_, core));
}

std::string MachineLocks::device_name(const std::string& device) const {
  return fitting(fmt::format("{}seedbed/gpu/{}", name_space_, device));
}

bool MachineLocks::hold(const std::string& name, std::vector<Lock>& taken) {
  Lock& lock = bound_[name];
  if (!lock) {
    bool held_by_others = false;
    Descriptor socket = bind_name(name, held_by_others);
    if (!socket) {
      bound_.erase(name);
      return !held_by_others;
    }
    lock = std::make_shared<const Descriptor>(std::move(socket));
  }
  taken.push_back(lock);
  return true;
}

Held MachineLocks::take(AttemptId attempt, const Allocation& allocation) {
  Held others;
  std::vector<Lock> taken;
  for (const DeviceShare& share : allocation.devices) {
    if (!hold(device_name(share.device), taken)) others.devices.insert(share.device);
  }
  for (const int core : allocation.cores) {
    if (!hold(core_name(core), taken)) others.cores.insert(core);
  }
  if (others.empty() && !taken.empty()) taken_[attempt] = std::move(taken);
  return others;
}

std::vector<MachineLocks::Lock> MachineLocks::of(AttemptId attempt) const {
  const auto found = taken_.find(attempt);
  return found == taken_.end() ? std::vector<Lock>() : found->second;
}

void MachineLocks::give_back(AttemptId attempt) { taken_.erase(attempt); }

void MachineLocks::settle() {
  for (auto lock = bound_.begin(); lock != bound_.end();) {
    lock = lock->second.use_count() == 1 ? bound_.erase(lock) : std::next(lock);
  }
}

Held MachineLocks::look(const Inventory& inventory, const Held& ours) const {
  const auto held = [this](const std::string& name) {
    return !bound_.contains(name) && is_bound(name);
  };
  Held others;
  for (const Device& device : inventory.devices) {
    if (!ours.devices.contains(device.id()) && held(device_name(device.id()))) {
      others.devices.insert(device.id());
    }
  }
  if (inventory.shared_cores) return others;
  for (const Core& core : inventory.cores) {
    if (!ours.cores.contains(core.number) && held(core_name(core.number))) {
      others.cores.insert(core.number);
    }
  }
  return others;
}

}  // namespace seedbed
