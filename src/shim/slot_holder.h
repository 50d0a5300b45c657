#pragma once

#include <poll.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "protocol/message.h"
#include "protocol/slot_file.h"
#include "protocol/wire.h"
#include "shim/attempt.h"
#include "shim/held_locks.h"
#include "shim/memory_kills.h"

namespace seedbed::shim {

struct HolderOptions {
  std::string study_dir;  ///< absolute
  SlotNumber slot = 0;
  std::string socket;  ///< where to listen for a controller that comes back; empty: nowhere
  int controller = 3;  ///< connected to the controller that started us
};

/// Holds one slot: runs one attempt after another for its controller, and, should that die,
/// finishes what it has and waits a while for the next.
class SlotHolder {
 public:
  explicit SlotHolder(HolderOptions options);

  /// Until there is nothing left to do, or at once when another shim holds the slot. The exit code
  /// of the shim.
  [[nodiscard]] int run();

 private:
  [[nodiscard]] bool take_slot();
  void listen_on_socket();
  void write_slot_file();

  [[nodiscard]] bool may_leave(std::int64_t now) const;
  [[nodiscard]] int wait_ms(std::int64_t now, std::int64_t next) const;
  void wait(int timeout_ms);
  void reap(std::int64_t now);
  void read_controller(std::int64_t now);
  void accept_controller(std::int64_t now);
  void lose_controller(std::int64_t now);
  void handle(Message&& message, std::int64_t now);
  void begin(StartOrder&& order, HeldLocks locks, std::int64_t now);
  [[nodiscard]] ssize_t receive(char* buffer, std::size_t size);
  void tell(const Message& message);
  void flush();

  HolderOptions options_;
  ProcessIdentity self_;
  MemoryKills kills_;
  int slot_file_ = -1;
  int listener_ = -1;
  int controller_ = -1;
  bool controller_ready_ = false;  ///< poll saw something
  bool listener_ready_ = false;
  FrameBuffer input_;
  std::string output_;
  std::int64_t flush_at_ = 0;  ///< news that may wait a little for the next; 0: none
  std::unique_ptr<Attempt> attempt_;
  std::optional<StartOrder> waiting_;  ///< came while the tree before it was not gone yet
  HeldLocks waiting_locks_;
  HeldLocks locks_;             ///< came along with bytes of an order that is not whole yet
  bool more_expected_ = false;  ///< the last bytes came with descriptors
  bool leave_when_idle_ = false;
  std::int64_t orphan_since_ = 0;  ///< idle and without a controller since then; 0: not
};

}  // namespace seedbed::shim
