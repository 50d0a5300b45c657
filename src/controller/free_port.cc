#include "controller/free_port.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

namespace seedbed {
namespace {

/// A port that the system gives away at the moment; 0 on failure.
std::uint16_t any_port() {
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return 0;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);  // free on every address, as servers bind
  socklen_t length = sizeof address;
  std::uint16_t port = 0;
  if (bind(descriptor, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
      getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length) == 0) {
    port = ntohs(address.sin_port);
  }
  close(descriptor);
  return port;
}

}  // namespace

std::uint16_t FreePorts::lend(AttemptId attempt) {
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    const std::uint16_t port = any_port();
    if (port == 0) return 0;
    const bool taken = std::any_of(lent_.begin(), lent_.end(),
                                   [port](const auto& one) { return one.second == port; });
    if (taken) continue;
    lent_[attempt] = port;
    return port;
  }
  return 0;
}

}  // namespace seedbed
