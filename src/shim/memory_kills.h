#pragma once

#include <cstdint>

namespace seedbed::shim {

/// Proof that the kernel killed for memory: its count of such kills in our control group (v2 or
/// v1) has grown. Where groups do not count, nothing is proved; where several trials share the
/// group, a trial that gets SIGKILL while another is killed for memory is taken for one too.
class MemoryKills {
 public:
  MemoryKills();
  ~MemoryKills();
  MemoryKills(const MemoryKills&) = delete;
  MemoryKills& operator=(const MemoryKills&) = delete;

  void remember() { before_ = count(); }
  [[nodiscard]] bool grew() const { return count() > before_; }

 private:
  [[nodiscard]] std::uint64_t count() const;

  int file_ = -1;  ///< kept open: one read per attempt is all it costs
  std::uint64_t before_ = 0;
};

}  // namespace seedbed::shim
