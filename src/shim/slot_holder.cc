#include "shim/slot_holder.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "shim/system.h"

namespace seedbed::shim {
namespace {

constexpr std::int64_t kLingerMs = 10'000;       // idle without a controller before it leaves
constexpr std::size_t kDescriptorsAtOnce = 253;  // the kernel's limit
constexpr std::int64_t kNewsDelayMs = 12;  // a trial shorter than this is one message, one commit

volatile sig_atomic_t child_signal = 0;
volatile sig_atomic_t end_signal = 0;

void on_child(int) { child_signal = 1; }
void on_end(int) { end_signal = 1; }

// INT, HUP, QUIT and the rest stay blocked for good: they are for the controller, not for us. CHLD
// and TERM come through only while we wait.
sigset_t prepare_signals() {
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);  // what we inherited
  struct sigaction action {};
  action.sa_handler = on_child;
  ::sigaction(SIGCHLD, &action, nullptr);
  action.sa_handler = on_end;
  ::sigaction(SIGTERM, &action, nullptr);
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  sigset_t while_waiting = all;
  ::sigdelset(&while_waiting, SIGCHLD);
  ::sigdelset(&while_waiting, SIGTERM);
  return while_waiting;
}

const sigset_t& waiting_mask() {
  static const sigset_t mask = prepare_signals();
  return mask;
}

bool is_ours(int connection) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         (peer.uid == ::geteuid() || peer.uid == 0);
}

}  // namespace

SlotHolder::SlotHolder(HolderOptions options)
    : options_(std::move(options)), self_(identity_of_self()), controller_(options_.controller) {
  static_cast<void>(waiting_mask());
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::fcntl(controller_, F_SETFD, FD_CLOEXEC);
  ::fcntl(controller_, F_SETFL, O_NONBLOCK);
}

// The lock on the slot file lasts as long as this process: of two shims for one slot (a controller
// was killed just after it had started one) the second goes at once, before it touches anything.
bool SlotHolder::take_slot() {
  const std::string folder = options_.study_dir + "/slots";
  ::mkdir(folder.c_str(), 0777);
  const std::string path = folder + "/" + std::to_string(options_.slot);
  slot_file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (slot_file_ >= 0 && ::flock(slot_file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return false;
  }
  listen_on_socket();
  write_slot_file();
  return true;
}

void SlotHolder::write_slot_file() {
  if (slot_file_ < 0) return;
  SlotFile file;
  file.slot = options_.slot;
  file.shim = self_;
  file.socket = options_.socket;
  if (attempt_ != nullptr) {
    file.attempt = attempt_->id();
    file.pid = attempt_->main_pid();
    file.start_ticks = attempt_->start_ticks();
  }
  const auto text = encode_slot_file(file);
  if (text) static_cast<void>(::pwrite(slot_file_, text->data(), text->size(), 0) < 0);
}

void SlotHolder::listen_on_socket() {
  if (listener_ >= 0) ::close(std::exchange(listener_, -1));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (options_.socket.empty() || options_.socket.size() >= sizeof address.sun_path) return;
  std::memcpy(address.sun_path, options_.socket.c_str(), options_.socket.size() + 1);
  listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener_ < 0) return;
  ::unlink(options_.socket.c_str());  // of a shim of this slot that was killed
  if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener_, 4) != 0) {
    ::close(std::exchange(listener_, -1));
  }
}

int SlotHolder::run() {
  if (!take_slot()) return 1;
  for (;;) {
    const std::int64_t now = monotonic_ms();
    if (std::exchange(end_signal, 0) != 0) {  // the system goes down, or a newer seedbed takes over
      leave_when_idle_ = true;
      waiting_.reset();
      if (attempt_ != nullptr) attempt_->stop(false, now);
    }
    if (std::exchange(child_signal, 0) != 0) reap(now);
    if (std::exchange(controller_ready_, false)) read_controller(now);
    if (std::exchange(listener_ready_, false)) accept_controller(now);
    std::int64_t next = INT64_MAX;
    if (attempt_ != nullptr) next = attempt_->tick(now);
    if (waiting_ && attempt_->gone()) {
      begin(*std::exchange(waiting_, std::nullopt), std::move(waiting_locks_), now);
      continue;
    }
    if (flush_at_ != 0 && now >= flush_at_) flush();
    if (may_leave(now)) break;
    wait(wait_ms(now, next));
  }
  flush();
  if (!options_.socket.empty() && listener_ >= 0) ::unlink(options_.socket.c_str());
  return 0;
}

bool SlotHolder::may_leave(std::int64_t now) const {
  if (attempt_ != nullptr && (!attempt_->gone() || attempt_->record_missing())) return false;
  if (leave_when_idle_) return true;
  return controller_ < 0 && (attempt_ == nullptr || now - orphan_since_ >= kLingerMs);
}

int SlotHolder::wait_ms(std::int64_t now, std::int64_t next) const {
  if (flush_at_ != 0) next = std::min(next, flush_at_);
  const bool idle = attempt_ == nullptr || attempt_->gone();
  if (controller_ < 0 && idle) next = std::min(next, orphan_since_ + kLingerMs);
  if (next == INT64_MAX) return -1;
  return static_cast<int>(std::clamp<std::int64_t>(next - now, 0, 60'000));
}

void SlotHolder::wait(int timeout_ms) {
  pollfd watched[2] = {{controller_, POLLIN, 0}, {listener_, POLLIN, 0}};  // negative: ignored
  timespec timeout{timeout_ms / 1000, timeout_ms % 1000 * 1'000'000L};
  if (::ppoll(watched, 2, timeout_ms < 0 ? nullptr : &timeout, &waiting_mask()) > 0) {
    controller_ready_ = watched[0].revents != 0;
    listener_ready_ = watched[1].revents != 0;
  }
}

void SlotHolder::reap(std::int64_t now) {
  for (;;) {
    int status = 0;
    rusage usage{};
    const pid_t pid = ::wait4(-1, &status, WNOHANG, &usage);
    if (pid > 0) {
      if (attempt_ != nullptr) attempt_->child_ended(pid, status, usage, now);
      continue;
    }
    // No children at all means no descendants either: all of them would come to us.
    if (pid < 0 && errno == ECHILD && attempt_ != nullptr) {
      const bool was_gone = attempt_->gone();
      attempt_->no_children_left();
      if (!was_gone && attempt_->gone()) orphan_since_ = now;
    }
    return;
  }
}

void SlotHolder::read_controller(std::int64_t now) {
  static char buffer[65536];
  while (controller_ >= 0) {
    const ssize_t got = receive(buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) return lose_controller(now);
    input_.feed({buffer, static_cast<std::size_t>(got)});
    while (const auto frame = input_.next()) {
      auto message = decode_message(*frame);
      if (message) handle(std::move(*message), now);  // others are a newer controller's: skipped
    }
    if (input_.bad()) return lose_controller(now);
    // Bytes with descriptors come by themselves. Else poll tells if there is more.
    if (static_cast<std::size_t>(got) < sizeof buffer && !more_expected_) return;
  }
}

ssize_t SlotHolder::receive(char* buffer, std::size_t size) {
  alignas(cmsghdr) char control[CMSG_SPACE(kDescriptorsAtOnce * sizeof(int))];
  iovec bytes{buffer, size};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t got = ::recvmsg(controller_, &message, MSG_CMSG_CLOEXEC);
  more_expected_ = false;
  if (got <= 0) return got;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(header) + i * sizeof(int), sizeof number);
      locks_.add(number);
    }
    more_expected_ = true;
  }
  return got;
}

void SlotHolder::lose_controller(std::int64_t now) {
  if (controller_ >= 0) ::close(std::exchange(controller_, -1));
  input_ = FrameBuffer();
  locks_.release();  // of an order that did not come whole
  output_.clear();
  flush_at_ = 0;
  orphan_since_ = now;
  if (listener_ >= 0 && ::access(options_.socket.c_str(), F_OK) != 0) {
    listen_on_socket();  // somebody tidied the runtime folder
  }
}

void SlotHolder::accept_controller(std::int64_t now) {
  const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (connection < 0) return;
  if (!is_ours(connection)) {
    ::close(connection);
    return;
  }
  // The controller before is gone. What it still asked for is done first: the answer to the new one
  // then says all that can come of it.
  while (controller_ >= 0) {
    const int before = controller_;
    read_controller(now);
    if (controller_ == before) lose_controller(now);
  }
  controller_ = connection;
  leave_when_idle_ = false;
}

void SlotHolder::handle(Message&& message, std::int64_t now) {
  if (std::holds_alternative<ControllerHello>(message)) {
    ShimHello hello;
    hello.slot = options_.slot;
    hello.shim = self_;
    if (attempt_ != nullptr) {
      hello.state = attempt_->state();
      hello.attempt = attempt_->id();
    }
    tell(hello);
    if (attempt_ != nullptr) {
      attempt_->freeze(false, now);  // every run begins unpaused
      attempt_->tell_again();
    }
    flush();
  } else if (auto* order = std::get_if<StartOrder>(&message)) {
    HeldLocks locks = locks_.take(order->locks);  // the first that came are the first order's
    if (attempt_ == nullptr || attempt_->gone()) {
      begin(std::move(*order), std::move(locks), now);
    } else if (!waiting_) {
      waiting_ = std::move(*order);
      waiting_locks_ = std::move(locks);
    } else {
      tell(DidNotStartNews{order->attempt, "its slot is taken twice over"});
    }
  } else if (auto* stop = std::get_if<StopOrder>(&message)) {
    if (attempt_ != nullptr && attempt_->id() == stop->attempt) attempt_->stop(stop->pruning, now);
  } else if (auto* kill = std::get_if<KillOrder>(&message)) {
    if (attempt_ != nullptr && attempt_->id() == kill->attempt) attempt_->kill(now);
  } else if (auto* freeze = std::get_if<FreezeOrder>(&message)) {
    if (attempt_ != nullptr && attempt_->id() == freeze->attempt) {
      attempt_->freeze(freeze->frozen, now);
    }
  } else if (std::holds_alternative<LeaveWhenIdle>(message)) {
    leave_when_idle_ = true;
  } else if (std::holds_alternative<EndAllAndLeave>(message)) {
    leave_when_idle_ = true;
    waiting_.reset();
    waiting_locks_.release();
    if (attempt_ != nullptr) attempt_->kill(now);
  }
}

void SlotHolder::begin(StartOrder&& order, HeldLocks locks, std::int64_t now) {
  attempt_ = std::make_unique<Attempt>(std::move(order), std::move(locks), self_, kills_,
                                       [this](const Message& message) { tell(message); });
  attempt_->start(now);
  if (attempt_->main_pid() != 0) {
    write_slot_file();
  } else {
    orphan_since_ = now;
  }
}

void SlotHolder::tell(const Message& message) {
  if (controller_ < 0) return;
  output_ += encode_message(message);
  const bool may_wait =
      std::holds_alternative<RunningNews>(message) || std::holds_alternative<EndedNews>(message);
  // `running` waits a moment for `ended`, and `ended` for `tree gone` in the same turn, so that a
  // very short trial wakes the controller once.
  if (may_wait) {
    const std::int64_t delay = std::holds_alternative<RunningNews>(message) ? kNewsDelayMs : 0;
    const std::int64_t at = monotonic_ms() + delay;
    flush_at_ = flush_at_ == 0 ? at : std::min(flush_at_, at);
  } else {
    flush();
  }
}

void SlotHolder::flush() {
  flush_at_ = 0;
  if (output_.empty() || controller_ < 0) return;
  const ssize_t sent =
      ::send(controller_, output_.data(), output_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  // News are few and small: a controller whose queue is full of them does not read any more.
  const bool whole = sent == static_cast<ssize_t>(output_.size());
  output_.clear();
  if (!whole) {
    ::shutdown(controller_, SHUT_RDWR);
    controller_ready_ = true;
  }
}

}  // namespace seedbed::shim
