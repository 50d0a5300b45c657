#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
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
  int index = 0;             ///< in PCI order
  std::string word;          ///< what goes into the visible-device variable, unchanged
  std::string uuid;          ///< empty: unknown
  std::uint64_t memory = 0;  ///< bytes; 0: unknown

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

  bool operator==(const Inventory&) const = default;
};

struct DeviceShare {
  int device = 0;    ///< position in Inventory::devices
  double share = 1;  ///< 1 = the whole device

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

/// The ledger of what is lent. Pure; nothing is lent twice, which it checks. Cheap to copy, so that
/// a decision can try things out.
///
/// Cores: `cpus * ranks` of them. The whole part gets cores of its own, from one NUMA node where it
/// fits; a fraction below 1 shares a core, the least loaded first. The last entry of
/// Allocation::cores carries the fraction when there is one. With shared_cores, or when no cores
/// are known, nothing is pinned and only the slots bound the number of trials.
/// Devices: whole ones, or one share of one device, least loaded first, ties by position.
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
  /// (an earlier run's, adopted) may name cores that are not here: they are only remembered.
  void lend(const Allocation& allocation);
  void give_back(const Allocation& allocation);  ///< aborts when it was not lent

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

  [[nodiscard]] bool pins() const;
  [[nodiscard]] Micro cpus_lent() const;
  [[nodiscard]] std::optional<std::vector<int>> pick_cores(Micro cpus) const;
  [[nodiscard]] std::optional<std::vector<DeviceShare>> pick_devices(const Request& request) const;
  [[nodiscard]] std::optional<SlotNumber> free_slot() const;
  [[nodiscard]] std::string named_shortage(const Request& request) const;
  void book(const Allocation& allocation, int sign);

  std::shared_ptr<const Inventory> inventory_;
  std::uint32_t slots_;
  bool shares_cores_ = false;
  std::map<SlotNumber, Allocation> lent_;
  std::map<int, Micro> core_load_;    // by OS number
  std::map<int, Micro> device_load_;  // by position
  std::map<std::string, double> named_lent_;
  Micro unpinned_ = 0;
  std::uint64_t memory_lent_ = 0;
};

}  // namespace seedbed
