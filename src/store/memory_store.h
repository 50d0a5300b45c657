#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "store/store.h"

namespace seedbed {

/// What a simulated disk holds of one study: outlives the stores over it, as a disk outlives
/// processes. Not for several threads.
class MemoryDisk {
 public:
  /// A power cut: what was committed after the last sync is gone.
  void lose_unsynced() { entries_.resize(synced_); }

  /// Commits fail as on a full disk (code `machine`, nothing written) until there is room again.
  void set_full(bool full) { full_ = full; }

  /// The next syncs fail.
  void set_sync_fails(bool fails) { sync_fails_ = fails; }

  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  [[nodiscard]] std::size_t synced() const { return synced_; }  ///< of the entries

 private:
  friend class MemoryStore;

  std::vector<Entry> entries_;
  std::size_t synced_ = 0;
  bool full_ = false;
  bool sync_fails_ = false;
};

/// A store over such a disk, for simulations. Keeps every metric point.
[[nodiscard]] std::unique_ptr<Store> make_memory_store(std::shared_ptr<MemoryDisk> disk);

}  // namespace seedbed
