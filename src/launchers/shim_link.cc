#include "launchers/shim_link.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "env/posix/identity.h"
#include "env/posix/runtime_dir.h"

namespace seedbed {
namespace {

constexpr int kShimSocket = 3;          // where the shim expects its controller
constexpr Milliseconds kPushPeriod{1};  // an order larger than the socket's buffer is rare
constexpr int kReadsPerTurn = 16;
constexpr std::size_t kDescriptorsAtOnce = 250;  // the kernel takes 253

int spawn(pid_t& pid, const std::string& shim, char* const* argv, char* const* environment,
          int socket) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, socket, kShimSocket);  // also drops close-on-exec
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const int failed = ::posix_spawn(&pid, shim.c_str(), &actions, &attributes, argv, environment);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return failed;
}

}  // namespace

Result<StartedShim> start_shim(const std::string& shim, const std::string& study_dir,
                               SlotNumber slot, const std::string& socket_path) {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
    return tl::unexpected(file_error("starting a slot", errno));
  }
  StartedShim started{0, Descriptor(pair[0])};
  const Descriptor theirs(pair[1]);
  ::fcntl(started.socket.get(), F_SETFL, O_NONBLOCK);
  std::vector<std::string> words = {"seedbed-shim", study_dir, "slot", std::to_string(slot),
                                    "SEEDBED_SHIM_SOCKET=" + socket_path};
  char* argv[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
  char* environment[] = {words[4].data(), nullptr};
  const int failed = spawn(started.pid, shim, argv, environment, theirs.get());
  if (failed != 0) return tl::unexpected(file_error(shim, failed));
  return started;
}

std::optional<SlotFile> live_shim(const std::string& study_dir, SlotNumber slot) {
  const std::string path = study_dir + "/slots/" + std::to_string(slot);
  for (int look = 0; look < 3; ++look) {  // it may be met half renewed
    const auto text = read_file(path, 2 * kSlotFileBytes);
    if (!text) return std::nullopt;
    auto file = decode_slot_file(*text);
    if (!file) continue;
    if (!is_running(file->shim.pid, file->shim.start_ticks, file->shim.boot_id)) {
      return std::nullopt;
    }
    return std::move(*file);
  }
  return std::nullopt;
}

Result<Descriptor> connect_shim(const std::string& socket_path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_path.empty() || socket_path.size() > kSocketPathLimit) {
    return tl::unexpected(file_error(socket_path, ENAMETOOLONG));
  }
  std::memcpy(address.sun_path, socket_path.c_str(), socket_path.size() + 1);
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return tl::unexpected(file_error("speaking to a slot", errno));
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return tl::unexpected(file_error(socket_path, errno));
  }
  return socket;
}

ShimLink::ShimLink(EventLoop& loop, Descriptor socket, Listener listener)
    : loop_(loop), socket_(std::move(socket)), listener_(std::move(listener)) {
  loop_.watch_readable(socket_.get(), [this] { readable(); });
}

ShimLink::~ShimLink() {
  *alive_ = false;
  close();
}

void ShimLink::close() {
  if (push_timer_) loop_.cancel(*push_timer_);
  push_timer_.reset();
  if (socket_) loop_.unwatch(socket_.get());
  socket_.reset();
}

bool ShimLink::send(const Message& message, const Descriptors& along) {
  const std::string frame = encode_message(message);
  if (frame.empty()) return false;
  output_ += frame;
  along_.insert(along_.end(), along.begin(), along.end());
  if (!push_timer_) push();
  return true;
}

// Descriptors go with the next byte; what is left of them needs bytes of its own, so these are sent
// one by one while any wait: the last byte of a message never comes before them.
ssize_t ShimLink::push_some() {
  if (along_.empty()) {
    return ::send(socket_.get(), output_.data(), output_.size(), MSG_NOSIGNAL);
  }
  const std::size_t count = std::min(along_.size(), kDescriptorsAtOnce);
  alignas(cmsghdr) char control[CMSG_SPACE(kDescriptorsAtOnce * sizeof(int))] = {};
  iovec bytes{output_.data(), count < along_.size() ? 1 : output_.size()};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = CMSG_SPACE(count * sizeof(int));
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(count * sizeof(int));
  for (std::size_t i = 0; i < count; ++i) {
    const int number = along_[i]->get();
    std::memcpy(CMSG_DATA(header) + i * sizeof(int), &number, sizeof number);
  }
  const ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
  if (sent > 0) along_.erase(along_.begin(), along_.begin() + static_cast<std::ptrdiff_t>(count));
  return sent;
}

void ShimLink::push() {
  push_timer_.reset();
  while (!output_.empty() && socket_) {
    const ssize_t sent = push_some();
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) {
      push_timer_ = loop_.call_after(kPushPeriod, [this] { push(); });
      return;
    }
    if (sent < 0) {
      // Half of an order is none: whoever cannot be told is spoken to anew. Reading finds the end.
      output_.clear();
      along_.clear();
      ::shutdown(socket_.get(), SHUT_RDWR);
      return;
    }
    output_.erase(0, static_cast<std::size_t>(sent));
  }
}

void ShimLink::readable() {
  const std::shared_ptr<bool> alive = alive_;  // a listener may drop this link
  static thread_local char buffer[65536];
  for (int i = 0; i < kReadsPerTurn; ++i) {
    const ssize_t got = ::recv(socket_.get(), buffer, sizeof buffer, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    const bool ended = got <= 0;
    if (!ended) input_.feed({buffer, static_cast<std::size_t>(got)});
    while (const auto frame = input_.next()) {
      const auto message = decode_message(*frame);
      if (message) listener_.message(*message);  // others are news of a newer shim: skipped
      if (!*alive) return;
    }
    if (ended || input_.bad()) {
      close();
      const auto closed = std::move(listener_.closed);
      closed();
      return;
    }
    if (static_cast<std::size_t>(got) < sizeof buffer) return;
  }
}

}  // namespace seedbed
