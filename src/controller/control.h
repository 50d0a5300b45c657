#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "env/event_loop.h"

// The control socket of a running controller: one request line, one answer line, both JSON, on a
// Unix socket in the study's runtime folder (0700: only the same user gets there).
//
//   {"protocol":1,"do":"cancel","trials":[3,4]}  ->  {"ok":true,"text":"..."}
//
// Requests: ping · stop {drain} · pause {freeze} · resume · slots {slots} · cancel {trials} ·
// retry {trials} · add {points} · why {trial} · interrupt {signal}.

namespace seedbed {

/// A request or an answer as JSON text.
using ControlLine = std::string;

class ControlServer {
 public:
  /// Gets a request and a function that sends the answer, now or later, once.
  using Handler = std::function<void(ControlLine, std::function<void(ControlLine)>)>;

  virtual ~ControlServer() = default;
};

/// Listens at `path`, replacing a socket that a dead controller left (the study's lock is held).
[[nodiscard]] Result<std::unique_ptr<ControlServer>> listen_for_control(
    EventLoop& loop, const std::string& path, ControlServer::Handler handler);

/// Sends one request and waits for the answer. Error code `in_use` when nobody listens.
[[nodiscard]] Result<ControlLine> ask_controller(const std::string& path, const ControlLine& line,
                                                 Milliseconds timeout);

}  // namespace seedbed
