#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "env/event_loop.h"
#include "env/posix/files.h"
#include "protocol/message.h"
#include "protocol/slot_file.h"

namespace seedbed {

/// Started a shim: its process, and our end of the socket.
struct StartedShim {
  pid_t pid = 0;
  Descriptor socket;
};

/// Starts the shim of a slot, which will listen on `socket_path`. It gets no descriptor but its
/// own.
[[nodiscard]] Result<StartedShim> start_shim(const std::string& shim, const std::string& study_dir,
                                             SlotNumber slot, const std::string& socket_path);

/// The shim that the slot's file names, when that process runs here and now.
[[nodiscard]] std::optional<SlotFile> live_shim(const std::string& study_dir, SlotNumber slot);

/// Connects to the socket of a shim. Does not wait.
[[nodiscard]] Result<Descriptor> connect_shim(const std::string& socket_path);

/// The connection to one shim: whole messages both ways, never blocking.
class ShimLink {
 public:
  struct Listener {
    std::function<void(const Message&)> message;
    std::function<void()> closed;  ///< the shim has gone, or speaks nonsense; last call
  };

  ShimLink(EventLoop& loop, Descriptor socket, Listener listener);
  ~ShimLink();
  ShimLink(const ShimLink&) = delete;
  ShimLink& operator=(const ShimLink&) = delete;

  using Descriptors = std::vector<std::shared_ptr<const Descriptor>>;

  /// False when the message is too large to be sent at all. The shim has the descriptors by the
  /// time it has the message.
  bool send(const Message& message, const Descriptors& along = {});

 private:
  void readable();
  void push();
  void close();

  EventLoop& loop_;
  Descriptor socket_;
  Listener listener_;
  FrameBuffer input_;
  [[nodiscard]] ssize_t push_some();

  std::string output_;  ///< what the socket did not take yet
  Descriptors along_;   ///< of the messages in it, to go with its next bytes
  std::optional<EventLoop::TimerId> push_timer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace seedbed
