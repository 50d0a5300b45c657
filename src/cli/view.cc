#include "cli/view.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include "base/text.h"
#include "cli/invocation.h"
#include "controller/control_handler.h"
#include "controller/run_study.h"
#include "env/posix/files.h"
#include "env/posix/posix.h"
#include "env/posix/study_lock.h"
#include "reporters/log_tail.h"
#include "reporters/make_reporter.h"
#include "results/study_reader.h"

namespace seedbed {
namespace {

constexpr int kFrameMs = 200;
constexpr Milliseconds kLastLines{1000};
constexpr Milliseconds kAnswerTimeout{2000};

/// Keys arrive at once and unseen while it lives; Ctrl-C and Ctrl-Z stay signals.
class KeyMode {
 public:
  KeyMode() {
    if (isatty(STDIN_FILENO) != 1 || tcgetattr(STDIN_FILENO, &before_) != 0) return;
    termios keys = before_;
    keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    changed_ = tcsetattr(STDIN_FILENO, TCSANOW, &keys) == 0;
  }
  ~KeyMode() {
    if (changed_) tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  KeyMode(const KeyMode&) = delete;
  KeyMode& operator=(const KeyMode&) = delete;

  [[nodiscard]] bool on() const { return changed_; }

 private:
  termios before_{};
  bool changed_ = false;
};

class View {
 public:
  View(const ViewTarget& target, StudyReader reader)
      : target_(target),
        reader_(std::move(reader)),
        clock_(make_steady_clock()),
        began_(!target.is_our_child),
        output_(make_descriptor_output(STDOUT_FILENO, terminal_words_of_environment())) {
    ReportFacts facts;
    facts.study = target.name;
    facts.study_dir = target.study_dir;
    facts.study_word = study_word(target.study_dir);
    facts.grace = target.grace;
    facts.attached = !target.is_our_child;
    if (facts.attached) facts.run_again = run_again_line(target.study_dir);
    if (auto status = reader_.status(); status && status->unproposed) {
      facts.total = status->total();
      facts.total_is_bound = !status->unproposed_exact;
    }
    LogTail tail = make_log_tail(target.study_dir);
    reporter_ = output_->is_terminal() ? make_live_reporter(*output_, facts, tail)
                                       : make_plain_reporter(*output_, facts, tail);
  }

  Result<int> watch() {
    if (Status ready = watch_signals(); !ready) return propagate(ready);
    open_process();
    for (;;) {
      read_records();
      if (left_) {
        reporter_->left(state_);
        output_->drain(kLastLines);
        return 0;
      }
      reporter_->tick(clock_->wall(), state_);
      if (controller_gone()) return finish();
      wait_for_news();
    }
  }

 private:
  /// The number of another process may be a third one's by now: asked again once it is held on to.
  void open_process() {
    process_ = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, target_.controller, 0)));
    if (target_.is_our_child || !process_) return;
    const auto holder = StudyLock::holder(target_.study_dir);
    if (!holder || holder->pid != target_.controller) process_.reset();
  }

  Status watch_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGTSTP}) sigaddset(&set, signal);
    if (sigprocmask(SIG_BLOCK, &set, nullptr) != 0) {
      return tl::unexpected(file_error("sigprocmask", errno));
    }
    signals_ = Descriptor(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!signals_) return tl::unexpected(file_error("signalfd", errno));
    return {};
  }

  void read_records() {
    std::vector<Entry> entries;
    const auto next =
        reader_.entries_after(position_, [&](const Entry& entry) { entries.push_back(entry); });
    if (!next) {
      // Applied only once all were read: the next look begins where this one did.
      if (std::exchange(trouble_, next.error().message) != next.error().message) {
        reporter_->trouble(next.error().message);
      }
      return;
    }
    trouble_.clear();
    position_ = *next;
    for (const Entry& entry : entries) state_.apply(entry);
    if (!began_) {
      // Our child's run may not be in the record yet: what earlier runs left is nothing to show.
      const auto first = std::find_if(entries.begin(), entries.end(),
                                      [this](const Entry& entry) { return is_beginning(entry); });
      began_ = first != entries.end();
      entries.erase(entries.begin(), first);
    }
    if (!entries.empty()) reporter_->committed(entries, state_);
  }

  /// Of the run that we watch: an earlier one may have had its pid, but not at this time.
  [[nodiscard]] bool is_beginning(const Entry& entry) const {
    const auto* run = std::get_if<RunStarted>(&entry.record);
    return run != nullptr && run->pid == target_.controller && entry.at >= target_.asked_at;
  }

  /// Our child is waited for; another process is asked by its pidfd.
  bool controller_gone() {
    if (target_.is_our_child) {
      int status = 0;
      if (waitpid(target_.controller, &status, WNOHANG) == target_.controller) {
        child_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        return true;
      }
      return false;
    }
    if (!process_) return true;
    pollfd gone{process_.get(), POLLIN, 0};
    return poll(&gone, 1, 0) > 0;
  }

  void wait_for_news() {
    std::array<pollfd, 3> waiting{{{signals_.get(), POLLIN, 0},
                                   {process_.get(), POLLIN, 0},
                                   {keys_.on() ? STDIN_FILENO : -1, POLLIN, 0}}};
    if (poll(waiting.data(), waiting.size(), kFrameMs) <= 0) return;
    if ((waiting[0].revents & POLLIN) != 0) take_signals();
    if ((waiting[2].revents & (POLLIN | POLLHUP)) != 0) take_keys();
  }

  void take_signals() {
    signalfd_siginfo info{};
    while (read(signals_.get(), &info, sizeof info) == sizeof info) {
      const auto signal = static_cast<int>(info.ssi_signo);
      if (signal == SIGHUP || signal == SIGTSTP) {
        left_ = true;  // the window is closed, or put aside: the work goes on
        continue;
      }
      // An own child keeps its number until it is waited for; another's may be taken anew.
      if (process_) {
        syscall(SYS_pidfd_send_signal, process_.get(), signal, nullptr, 0);
      } else if (target_.is_our_child) {
        kill(target_.controller, signal);
      }
    }
  }

  void take_keys() {
    std::array<char, 64> keys{};
    const ssize_t count = read(STDIN_FILENO, keys.data(), keys.size());
    if (count <= 0) {
      left_ = left_ || count == 0 || errno == EIO;
      return;
    }
    for (ssize_t i = 0; i < count; ++i) {
      switch (keys[static_cast<std::size_t>(i)]) {
        case 'q':
          left_ = true;
          break;
        case 'd':
          tell(control_request::stop(true));
          break;
        case 'p':
          tell(control_request::pause(!state_.paused()));
          break;
        default:
          break;
      }
    }
  }

  void tell(const ControlLine& request) {
    // Without an answer nothing has happened, and the view shows that nothing has.
    static_cast<void>(ask_study(target_.study_dir, request, kAnswerTimeout));
  }

  Result<int> finish() {
    read_records();
    reporter_->ended(state_);
    output_->drain(kLastLines);
    if (child_code_) return *child_code_;
    if (state_.run_ended()) return state_.run_ended()->exit_code;
    return fail(ErrorCode::machine, "the controller is gone; the same command continues");
  }

  ViewTarget target_;
  StudyReader reader_;
  std::unique_ptr<Clock> clock_;
  bool began_;  ///< the run's beginning was met, or it is not waited for
  std::unique_ptr<Output> output_;
  std::unique_ptr<Reporter> reporter_;
  KeyMode keys_;
  Descriptor signals_;
  Descriptor process_;
  StudyState state_;
  FollowPosition position_;
  std::string trouble_;  ///< what the last look failed of
  std::optional<int> child_code_;
  bool left_ = false;
};

}  // namespace

Result<int> watch_study(const ViewTarget& target) {
  auto reader = StudyReader::open(target.study_dir);
  if (!reader) return propagate(reader);
  View view(target, std::move(*reader));
  return view.watch();
}

}  // namespace seedbed
