#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <ctime>

#include "reporters/output.h"

namespace seedbed {
namespace {

// A pipe that polls writable has a free page; a terminal that does has room for at least this much
// (N_TTY's wake-up mark). Larger pieces could block the one loop of the controller.
constexpr std::size_t kPipePiece = 4096;
constexpr std::size_t kTerminalPiece = 256;

/// Blocks SIGPIPE in this thread for one write and swallows the one that the write raised. The
/// process's own disposition stays as it is.
class NoSigpipe {
 public:
  NoSigpipe() {
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoSigpipe() {
    if (raised_ && !was_pending_) {
      const timespec now{0, 0};
      while (sigtimedwait(&pipe_, nullptr, &now) < 0 && errno == EINTR) {
      }
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoSigpipe(const NoSigpipe&) = delete;
  NoSigpipe& operator=(const NoSigpipe&) = delete;

  void raised() { raised_ = true; }

 private:
  sigset_t pipe_;
  sigset_t before_;
  bool was_pending_ = false;
  bool raised_ = false;
};

class DescriptorOutput final : public Output {
 public:
  DescriptorOutput(int descriptor, const TerminalWords& words, std::size_t backlog_limit)
      : descriptor_(descriptor), backlog_limit_(backlog_limit) {
    gone_ = descriptor < 0;  // poll would pass over it in silence
    const bool terminal = ::isatty(descriptor) == 1;
    is_terminal_ = terminal && !words.term.empty() && words.term != "dumb";
    colour_ = is_terminal_ && words.no_color.empty();
    struct stat about {};
    waits_ = ::fstat(descriptor, &about) != 0 || !S_ISREG(about.st_mode);
    piece_ = terminal ? kTerminalPiece : kPipePiece;
  }

  bool write(std::string_view bytes) override {
    if (gone_) return false;
    pass_on();
    if (gone_) return false;
    if (bytes.empty()) return true;
    if (waiting() + bytes.size() > backlog_limit_) {
      ++dropped_;
      return true;
    }
    if (torn_) {  // the half line that a full disk left is closed, so that this one stays whole
      pending_ += '\n';
      torn_ = false;
    }
    pending_ += bytes;
    pass_on();
    return !gone_;
  }

  [[nodiscard]] bool busy() const override { return waiting() > 0; }
  [[nodiscard]] std::uint64_t dropped() const override { return dropped_; }

  void drain(Milliseconds limit) override {
    const auto end = std::chrono::steady_clock::now() + limit;
    pass_on();
    while (!gone_ && waiting() > 0) {
      const auto left =
          std::chrono::ceil<Milliseconds>(end - std::chrono::steady_clock::now()).count();
      if (left <= 0) return;
      wait_writable(static_cast<int>(std::min<std::int64_t>(left, 1000)));
      pass_on();
    }
  }

  [[nodiscard]] std::size_t width() const override {
    const winsize size = window();
    return size.ws_col > 0 ? size.ws_col : 80;
  }
  [[nodiscard]] std::size_t height() const override {
    const winsize size = window();
    return size.ws_row > 0 ? size.ws_row : 24;
  }
  [[nodiscard]] bool is_terminal() const override { return is_terminal_; }
  [[nodiscard]] bool colour() const override { return colour_; }

 private:
  [[nodiscard]] std::size_t waiting() const { return pending_.size() - passed_; }

  [[nodiscard]] winsize window() const {
    winsize size{};
    if (::ioctl(descriptor_, TIOCGWINSZ, &size) != 0) return winsize{};
    return size;
  }

  bool wait_writable(int timeout_ms) const {
    pollfd one{descriptor_, POLLOUT, 0};
    // An error on the descriptor counts as writable: the write then says which.
    return ::poll(&one, 1, timeout_ms) > 0 && one.revents != 0;
  }

  void pass_on() {
    if (waiting() == 0) return;
    NoSigpipe guard;
    while (waiting() > 0) {
      if (waits_ && !wait_writable(0)) break;
      const std::size_t piece = waits_ ? std::min(piece_, waiting()) : waiting();
      const ssize_t written = ::write(descriptor_, pending_.data() + passed_, piece);
      if (written > 0) {
        passed_ += static_cast<std::size_t>(written);
        continue;
      }
      if (written < 0 && (errno == EINTR)) continue;
      if (written < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
      failed(guard, written < 0 ? errno : ENOSPC);
      return;
    }
    if (passed_ == pending_.size()) {
      pending_.clear();
      passed_ = 0;
    } else if (passed_ > 64U * 1024) {
      pending_.erase(0, passed_);
      passed_ = 0;
    }
  }

  void failed(NoSigpipe& guard, int error) {
    if (error == EPIPE) guard.raised();
    if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
      ++dropped_;
      torn_ = torn_ || (passed_ > 0 && pending_[passed_ - 1] != '\n');
    } else {
      gone_ = true;
    }
    pending_.clear();
    passed_ = 0;
  }

  int descriptor_;
  std::size_t backlog_limit_;
  std::size_t piece_ = kPipePiece;
  bool is_terminal_ = false;
  bool colour_ = false;
  bool waits_ = true;  ///< a full pipe or a stopped terminal can make a write wait
  bool gone_ = false;
  bool torn_ = false;
  std::string pending_;
  std::size_t passed_ = 0;  ///< bytes of `pending_` already written
  std::uint64_t dropped_ = 0;
};

}  // namespace

TerminalWords terminal_words_of_environment() {
  const auto word = [](const char* name) {
    const char* text = std::getenv(name);
    return std::string(text == nullptr ? "" : text);
  };
  return TerminalWords{word("TERM"), word("NO_COLOR")};
}

std::unique_ptr<Output> make_descriptor_output(int descriptor, const TerminalWords& words,
                                               std::size_t backlog_limit) {
  return std::make_unique<DescriptorOutput>(descriptor, words, backlog_limit);
}

}  // namespace seedbed
