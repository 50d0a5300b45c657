#include "env/posix/signals.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "env/posix/files.h"

namespace seedbed {
namespace {

class SignalfdSource : public SignalSource {
 public:
  SignalfdSource(EventLoop& loop, Descriptor source, sigset_t before,
                 std::function<void(int)> callback)
      : loop_(loop), source_(std::move(source)), before_(before), callback_(std::move(callback)) {
    loop_.watch_readable(source_.get(), [this] { drain(); });
  }
  ~SignalfdSource() override {
    loop_.unwatch(source_.get());
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  void drain() {
    signalfd_siginfo info{};
    while (::read(source_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      callback_(static_cast<int>(info.ssi_signo));
    }
  }

  EventLoop& loop_;
  Descriptor source_;
  sigset_t before_;
  std::function<void(int)> callback_;
};

}  // namespace

Result<std::unique_ptr<SignalSource>> SignalSource::make(EventLoop& loop,
                                                         const std::vector<int>& signals,
                                                         std::function<void(int)> callback) {
  sigset_t wanted, before;
  sigemptyset(&wanted);
  for (const int signal : signals) sigaddset(&wanted, signal);
  Descriptor source(::signalfd(-1, &wanted, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!source) return tl::unexpected(file_error("signals", errno));
  pthread_sigmask(SIG_BLOCK, &wanted, &before);
  return std::make_unique<SignalfdSource>(loop, std::move(source), before, std::move(callback));
}

HeldSignals::HeldSignals(const std::vector<int>& signals) {
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int signal : signals) sigaddset(&wanted, signal);
  held_ = pthread_sigmask(SIG_BLOCK, &wanted, &before_) == 0;
}

void HeldSignals::release() {
  if (std::exchange(held_, false)) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void ignore_signal(int signal) { ::signal(signal, SIG_IGN); }

}  // namespace seedbed
