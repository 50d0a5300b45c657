#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace seedbed {

/// What one attempt asks for.
struct Request {
  double cpus = 1;               ///< cores per rank; fractions share a core
  double gpus = 0;               ///< whole devices, or one share below 1
  std::uint64_t gpu_memory = 0;  ///< bytes on one device; 0: not asked
  std::uint64_t memory = 0;      ///< bytes; 0: not asked
  int ranks = 1;
  std::map<std::string, double> named;  ///< licences and the like

  bool operator==(const Request&) const = default;
};

struct Core {
  int number = 0;  ///< the operating system's CPU number
  int core = 0;    ///< physical core
  int package = 0;
  int numa = 0;

  bool operator==(const Core&) const = default;
};

struct Device {
  std::string word;          ///< what goes into the visible-device variable, unchanged
  std::string uuid;          ///< empty: unknown
  int index = -1;            ///< as the driver counts, in PCI order; -1: unknown
  std::uint64_t memory = 0;  ///< bytes; 0: unknown
  int numa = -1;             ///< the NUMA node that it hangs on; -1: unknown
  std::string name;          ///< `NVIDIA H200`; empty: unknown

  /// What it is called in the record and in locks: the same for every study of the machine.
  [[nodiscard]] const std::string& id() const { return uuid.empty() ? word : uuid; }
  bool operator==(const Device&) const = default;
};

/// What there is to lend: what the machine *allows*, never what it merely has.
struct Inventory {
  std::vector<Core> cores;
  std::vector<Device> devices;
  std::uint64_t memory = 0;  ///< bytes; 0: unknown, not enforced
  std::map<std::string, double> named;
  std::uint32_t slots = 1;    ///< trials at once at most
  bool shared_cores = false;  ///< `--slots N` above the cores: no pinning
  bool insists = false;       ///< `--slots N`: cores that others hold keep no trial without GPUs
                              ///< waiting, it runs unpinned beside them

  bool operator==(const Inventory&) const = default;
};

struct DeviceShare {
  std::string device;  ///< Device::id
  double share = 1;    ///< 1 = the whole device

  bool operator==(const DeviceShare&) const = default;
};

/// What is lent to one attempt, from AttemptPlanned until AllocationReleased.
struct Allocation {
  SlotNumber slot = 0;
  std::vector<int> cores;  ///< OS numbers to pin to; empty: not pinned
  double cpus = 1;
  std::vector<DeviceShare> devices;
  std::uint64_t memory = 0;
  std::map<std::string, double> named;

  bool operator==(const Allocation&) const = default;
};

/// What others on this machine hold: another study, another user's seedbed, a program of somebody's
/// on a device. Whoever asks again may find it free.
struct Held {
  std::set<int> cores;            ///< OS numbers
  std::set<std::string> devices;  ///< Device::id

  [[nodiscard]] bool empty() const { return cores.empty() && devices.empty(); }
  bool operator==(const Held&) const = default;
};

/// The ledger of what is lent. Pure; nothing is lent twice, which it checks. Cheap to copy, so that
/// a decision can try things out.
///
/// Devices: whole ones, or one share of one device, least loaded first, ties by position.
/// Cores: `cpus * ranks` of them. The whole part gets cores of its own, whole physical cores before
/// second hardware threads, on the NUMA node of its device, else on one node where it fits; a
/// fraction below 1 shares a core, the least loaded first. The last entry of Allocation::cores
/// carries the fraction when there is one. With shared_cores, or when no cores are known, nothing
/// is pinned and only the slots bound the number of trials.
class Placement {
 public:
  explicit Placement(Inventory inventory);

  /// Where the request would go now: lowest free slot, least loaded cores and devices first.
  /// Nothing when it does not fit at present. Changes nothing.
  [[nodiscard]] std::optional<Allocation> place(const Request& request) const;

  /// Whether it fits the empty machine; the error states both numbers.
  [[nodiscard]] Status can_ever_fit(const Request& request) const;

  /// What is missing for the request now, in words with the numbers; empty when it fits.
  [[nodiscard]] std::string shortage(const Request& request) const;

  /// Aborts on lending a slot, a core or a device twice. An allocation made for another inventory
  /// (an earlier run's, adopted) may name cores and devices that are not here: they are only
  /// remembered.
  void lend(const Allocation& allocation);
  void give_back(const Allocation& allocation);  ///< aborts when it was not lent

  /// What nothing new is placed on. What is lent to us there already stays lent.
  void set_held(const Held& held);

  /// Trials at once; a smaller number only stops new placements. Slots above it stay lent. A
  /// number above what the cores give to whole requests means that they are shared from now on,
  /// as `--slots N` does at the start: nothing new is pinned.
  void set_slots(std::uint32_t slots, const Request& request);
  /// Trials of this request that the cores suffice for side by side, at least one.
  [[nodiscard]] std::uint32_t fitting(const Request& request) const;

  [[nodiscard]] std::uint32_t slots() const { return slots_; }
  [[nodiscard]] const Inventory& inventory() const { return *inventory_; }
  [[nodiscard]] std::size_t lent() const { return lent_.size(); }

 private:
  using Micro = std::int64_t;  // millionths: sums of fractions stay exact

  /// The inventory with everything numbered from 0 on.
  struct Layout {
    std::vector<std::size_t> physical, node;  ///< of each core
    std::size_t physicals = 0, nodes = 0;
    std::map<int, std::size_t> core_at, node_at;  ///< by OS number
    std::map<std::string, std::size_t> device_at;
  };
  static std::shared_ptr<const Layout> lay_out(const Inventory& inventory);

  [[nodiscard]] bool pins() const;
  /// Beside what others hold, since the user insists.
  [[nodiscard]] bool runs_unpinned(const Request& request) const;
  [[nodiscard]] std::optional<std::vector<int>> pick_cores(Micro cpus, int near_node) const;
  [[nodiscard]] std::optional<std::vector<DeviceShare>> pick_devices(const Request& request) const;
  [[nodiscard]] int node_of(const std::vector<DeviceShare>& devices) const;
  [[nodiscard]] std::optional<SlotNumber> free_slot() const;
  [[nodiscard]] std::string named_shortage(const Request& request) const;
  [[nodiscard]] std::string held_text() const;
  [[nodiscard]] std::string too_many_ranks(const Request& request) const;
  void book_core(int number, Micro amount);
  void book(const Allocation& allocation, int sign);

  std::shared_ptr<const Inventory> inventory_;
  std::shared_ptr<const Layout> layout_;
  std::uint32_t slots_;
  bool shares_cores_ = false;
  std::map<SlotNumber, Allocation> lent_;
  std::vector<Micro> core_load_, physical_load_, device_load_;  // by position
  std::vector<char> core_held_, device_held_;
  std::size_t cores_held_ = 0;  // of them, and not lent to us
  Micro cores_lent_ = 0;        // of the inventory's
  Micro unpinned_ = 0;
  std::map<int, Micro> foreign_cores_;            // of another inventory
  std::map<std::string, Micro> foreign_devices_;  // the same
  std::map<std::string, double> named_lent_;
  std::uint64_t memory_lent_ = 0;
  Held held_;
};

}  // namespace seedbed
