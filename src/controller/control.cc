#include "controller/control.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>

#include "env/posix/files.h"

namespace seedbed {
namespace {

constexpr std::size_t kLongestLine = 64 << 20;  // `add` of a million points
constexpr int kBacklog = 32;
constexpr std::size_t kMostClients = 64;

std::optional<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return std::nullopt;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

Error system_error(const std::string& what) {
  return Error{ErrorCode::machine, what + ": " + errno_words(errno)};
}

/// Writes all or gives up: a client that does not read its short answer loses it.
void send_line(int descriptor, const std::string& line) {
  std::size_t sent = 0;
  while (sent < line.size()) {
    const ssize_t count =
        send(descriptor, line.data() + sent, line.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    sent += static_cast<std::size_t>(count);
  }
}

class SocketServer : public ControlServer {
 public:
  SocketServer(EventLoop& loop, int listener, std::string path, Handler handler)
      : loop_(loop), listener_(listener), path_(std::move(path)), handler_(std::move(handler)) {
    loop_.watch_readable(listener_, [this] { accept_client(); });
  }

  ~SocketServer() override {
    loop_.unwatch(listener_);
    close(listener_);
    unlink(path_.c_str());
    for (const auto& [descriptor, client] : clients_) {
      loop_.unwatch(descriptor);
      close(descriptor);
    }
    *alive_ = false;
  }

 private:
  struct Client {
    std::uint64_t number = 0;
    std::string received;
  };

  void accept_client() {
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (client < 0) return;
    if (clients_.size() >= kMostClients) {
      close(client);
      return;
    }
    clients_[client].number = ++last_number_;
    loop_.watch_readable(client, [this, client] { read_client(client); });
  }

  void read_client(int descriptor) {
    std::array<char, 65536> buffer{};
    const ssize_t count = read(descriptor, buffer.data(), buffer.size());
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    Client& client = clients_[descriptor];
    if (count <= 0 || client.received.size() > kLongestLine) return drop(descriptor);
    client.received.append(buffer.data(), static_cast<std::size_t>(count));
    std::size_t end = 0;
    while ((end = client.received.find('\n')) != std::string::npos) {
      std::string line = client.received.substr(0, end);
      client.received.erase(0, end + 1);
      // Who asked while we were stopped has been told that nothing happened, and must be right.
      if (has_left(descriptor)) return drop(descriptor);
      handler_(std::move(line),
               [this, alive = alive_, descriptor, number = client.number](ControlLine answer) {
                 if (!*alive) return;
                 auto found = clients_.find(descriptor);
                 if (found == clients_.end() || found->second.number != number) return;
                 send_line(descriptor, answer + "\n");
               });
      if (!clients_.contains(descriptor)) return;
    }
  }

  static bool has_left(int descriptor) {
    pollfd client{descriptor, POLLRDHUP, 0};
    return poll(&client, 1, 0) > 0;
  }

  void drop(int descriptor) {
    loop_.unwatch(descriptor);
    close(descriptor);
    clients_.erase(descriptor);
  }

  EventLoop& loop_;
  int listener_;
  std::string path_;
  Handler handler_;
  std::map<int, Client> clients_;
  std::uint64_t last_number_ = 0;  ///< descriptors are used again; an answer is for one client
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace

Result<std::unique_ptr<ControlServer>> listen_for_control(EventLoop& loop, const std::string& path,
                                                          ControlServer::Handler handler) {
  auto address = address_of(path);
  if (!address) return fail(ErrorCode::machine, "socket path too long: " + path);
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener < 0) return tl::unexpected(system_error("socket"));
  unlink(path.c_str());
  if (bind(listener, reinterpret_cast<sockaddr*>(&*address), sizeof *address) != 0 ||
      chmod(path.c_str(), 0600) != 0 || listen(listener, kBacklog) != 0) {
    Error error = system_error(path);
    close(listener);
    return tl::unexpected(std::move(error));
  }
  return std::make_unique<SocketServer>(loop, listener, path, std::move(handler));
}

Result<ControlLine> ask_controller(const std::string& path, const ControlLine& line,
                                   Milliseconds timeout) {
  auto address = address_of(path);
  if (!address) return fail(ErrorCode::machine, "socket path too long: " + path);
  const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return tl::unexpected(system_error("socket"));
  if (connect(descriptor, reinterpret_cast<sockaddr*>(&*address), sizeof *address) != 0) {
    close(descriptor);
    return fail(ErrorCode::in_use, "no controller listens at " + path);
  }
  const std::string request = line + "\n";
  std::size_t sent = 0;
  while (sent < request.size()) {
    const ssize_t count =
        send(descriptor, request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    sent += static_cast<std::size_t>(count);
  }
  std::string answer;
  std::array<char, 65536> buffer{};
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (answer.find('\n') == std::string::npos && answer.size() < kLongestLine) {
    const auto left =
        std::chrono::duration_cast<Milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd waiting{descriptor, POLLIN, 0};
    if (left.count() <= 0 || poll(&waiting, 1, static_cast<int>(left.count())) <= 0) break;
    const ssize_t count = read(descriptor, buffer.data(), buffer.size());
    if (count <= 0) break;
    answer.append(buffer.data(), static_cast<std::size_t>(count));
  }
  close(descriptor);
  const std::size_t end = answer.find('\n');
  if (end == std::string::npos) {
    return fail(ErrorCode::machine, "the controller gave no answer within " +
                                        format_duration(timeout) +
                                        ": it is busy, or waits for room on the disk. Unless it "
                                        "has begun with it, the request is void; seedbed status "
                                        "shows where the study stands");
  }
  answer.resize(end);
  return answer;
}

}  // namespace seedbed
