#include "shim/rank.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "shim/rank_file.h"
#include "shim/system.h"

namespace seedbed::shim {
namespace {

constexpr std::size_t kLongestLine = 65536;
constexpr int kForwarded[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT};
// When to look which MPI the program has loaded, after its start: Python imports take their time.
constexpr std::int64_t kLooks[] = {100, 300, 1000, 3000, 10'000, 30'000};

int number_of(const char* text) {
  if (text == nullptr) return -1;
  const std::string_view word(text);
  int number = -1;
  const auto read = std::from_chars(word.data(), word.data() + word.size(), number);
  return read.ec == std::errc() && read.ptr == word.data() + word.size() ? number : -1;
}

const char* variable(const char* name) { return std::getenv(name); }

std::string text_of(const char* name) {
  const char* text = variable(name);
  return text == nullptr ? std::string() : std::string(text);
}

/// `0,4;1,5` → {0, 4} for rank 0.
void bind_to_cores(std::string_view all, int rank) {
  for (; rank > 0; --rank) {
    const std::size_t end = all.find(';');
    if (end == std::string_view::npos) return;
    all.remove_prefix(end + 1);
  }
  all = all.substr(0, all.find(';'));
  constexpr int kMaxCpus = 8192;
  cpu_set_t* set = CPU_ALLOC(kMaxCpus);
  if (set == nullptr) return;
  const std::size_t bytes = CPU_ALLOC_SIZE(kMaxCpus);
  CPU_ZERO_S(bytes, set);
  while (!all.empty()) {
    int number = -1;
    const auto read = std::from_chars(all.data(), all.data() + all.size(), number);
    if (read.ec != std::errc()) break;
    if (number >= 0 && number < kMaxCpus) CPU_SET_S(static_cast<std::size_t>(number), bytes, set);
    all.remove_prefix(std::min(all.size(), static_cast<std::size_t>(read.ptr - all.data()) + 1));
  }
  // Refused when the cores were taken from us meanwhile: then it stays on all that the trial has.
  if (CPU_COUNT_S(bytes, set) > 0) ::sched_setaffinity(0, bytes, set);
  CPU_FREE(set);
}

std::string whole_file(const char* path) {
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  std::string text;
  std::array<char, 16384> buffer{};
  for (;;) {
    const ssize_t got = ::read(file, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  ::close(file);
  return text;
}

class Rank {
 public:
  Rank() : identity_(rank_identity([](const char* name) { return variable(name); })) {
    if (identity_.rank > 0) lines_ = RankLines("[rank " + std::to_string(identity_.rank) + "] ");
    folder_ = text_of("SEEDBED_TRIAL_DIR");
    attempt_ = text_of("SEEDBED_ATTEMPT");
    bind_to_cores(text_of("SEEDBED_RANK_CORES"), std::max(0, identity_.rank));
  }

  int run(char** argv) {
    if (!folder_.empty()) {
      // By hand (the line of `seedbed show`) there is no log, and the terminal gets the lines.
      log_ = ::open((folder_ + "/attempt-" + attempt_ + ".log").c_str(),
                    O_WRONLY | O_APPEND | O_CLOEXEC);
    }
    if (log_ < 0) log_ = STDOUT_FILENO;
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return trouble("no pipe", errno);
    output_ = ends[0];
    sigset_t waited;
    ::sigemptyset(&waited);
    ::sigaddset(&waited, SIGCHLD);
    for (const int one : kForwarded) ::sigaddset(&waited, one);
    ::sigprocmask(SIG_BLOCK, &waited, nullptr);
    signals_ = ::signalfd(-1, &waited, SFD_CLOEXEC | SFD_NONBLOCK);
    parent_ = static_cast<int>(::syscall(SYS_pidfd_open, ::getppid(), 0));
    const pid_t self = ::getpid();
    child_ = ::fork();
    if (child_ < 0) return trouble("no process", errno);
    if (child_ == 0) become_program(argv, ends[1], self);
    ::close(ends[1]);
    started_ = monotonic_ms();
    watch();
    return end();
  }

 private:
  static int trouble(const char* what, int error) {
    std::fprintf(stderr, "seedbed-shim rank: %s: %s\n", what, error_words(error));
    return 1;
  }

  [[noreturn]] void become_program(char** argv, int output, pid_t holder) const {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != holder) ::_exit(127);
    const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ::dup2(null, 0);
    ::dup2(output, 1);
    ::dup2(output, 2);
    if (identity_.rank > 0 && !folder_.empty()) {
      const std::string own =
          folder_ + "/metrics.rank-" + std::to_string(identity_.rank) + ".jsonl";
      ::setenv("SEEDBED_METRICS", own.c_str(), 1);
    }
    ::unsetenv("SEEDBED_RANK_CORES");
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execvp(argv[0], argv);
    std::fprintf(stderr, "seedbed: %s: %s\n", argv[0], error_words(errno));
    ::_exit(errno == ENOENT ? 127 : 126);
  }

  /// Until the program has ended, or mpirun has.
  void watch() {
    for (;;) {
      pollfd waiting[] = {{output_, POLLIN, 0}, {signals_, POLLIN, 0}, {parent_, POLLIN, 0}};
      ::poll(waiting, parent_ < 0 ? 2 : 3,
             static_cast<int>(std::min<std::int64_t>(until_look(), 60'000)));
      if (waiting[0].revents != 0 && !pass_output()) {
        ::close(std::exchange(output_, -1));  // poll passes over -1
      }
      if (until_look() == 0) look_for_library();
      if (waiting[1].revents != 0) take_signals();
      if (parent_ >= 0 && waiting[2].revents != 0) {
        ::close(std::exchange(parent_, -1));
        orphaned_ = true;
        ::kill(child_, SIGKILL);
      }
      if (::waitpid(child_, &status_, WNOHANG) == child_) return;
    }
  }

  /// One piece; false at the end of the stream.
  bool pass_output() {
    std::array<char, kLongestLine> buffer;
    const ssize_t got = ::read(output_, buffer.data(), buffer.size());
    if (got < 0) return errno == EINTR || errno == EAGAIN;
    if (got == 0) return false;
    write_out(lines_.take({buffer.data(), static_cast<std::size_t>(got)}));
    return true;
  }

  void write_out(std::string_view text) const {
    if (!text.empty()) static_cast<void>(write_all(log_, text));
  }

  void take_signals() const {
    signalfd_siginfo info{};
    while (::read(signals_, &info, sizeof info) == sizeof info) {
      const auto number = static_cast<int>(info.ssi_signo);
      if (number != SIGCHLD) ::kill(child_, number);
    }
  }

  /// Milliseconds until the next look; -1: none is due any more.
  [[nodiscard]] std::int64_t until_look() const {
    if (identity_.rank != 0 || next_look_ == std::size(kLooks)) return -1;
    return std::max<std::int64_t>(0, started_ + kLooks[next_look_] - monotonic_ms());
  }

  void look_for_library() {
    ++next_look_;
    const std::string maps = whole_file(("/proc/" + std::to_string(child_) + "/maps").c_str());
    const auto foreign = foreign_mpi(maps, identity_.open_mpi);
    if (!foreign) return;
    next_look_ = std::size(kLooks);
    if (!foreign->empty()) keep(foreign_library_line(*foreign));
  }

  void keep(const std::string& line) const {
    if (folder_.empty() || log_ == STDOUT_FILENO) return;
    const int file = ::open((folder_ + "/attempt-" + attempt_ + ".ranks").c_str(),
                            O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0) return;
    static_cast<void>(write_all(file, line));
    ::close(file);
  }

  /// Ends as the program did.
  int end() {
    if (output_ >= 0) {
      // What it has written is in the pipe; what its own children may still write is not waited
      // for.
      ::fcntl(output_, F_SETFL, O_NONBLOCK);
      pollfd rest{output_, POLLIN, 0};
      while (::poll(&rest, 1, 0) > 0 && (rest.revents & POLLIN) != 0 && pass_output()) {
      }
    }
    write_out(lines_.finish());
    if (WIFSIGNALED(status_)) {
      const int number = WTERMSIG(status_);
      if (!orphaned_) keep(rank_end_line({identity_.rank, OutcomeKind::signalled, number}));
      die_of(number);
      return 128 + number;
    }
    const int code = WEXITSTATUS(status_);
    if (code == 0 || identity_.rank < 0) return code;
    keep(rank_end_line({identity_.rank, OutcomeKind::exited, code}));
    // Open MPI ends the other ranks now. MPICH's mpirun does so only where one is killed, else it
    // waits for ever for those that wait for this one.
    if (!identity_.open_mpi) die_of(SIGTERM);
    return code;
  }

  static void die_of(int number) {
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);  // the program's own core file is enough
    ::signal(number, SIG_DFL);
    sigset_t one;
    ::sigemptyset(&one);
    ::sigaddset(&one, number);
    ::sigprocmask(SIG_UNBLOCK, &one, nullptr);
    ::raise(number);
  }

  RankIdentity identity_;
  RankLines lines_{""};
  std::string folder_, attempt_;
  int log_ = -1, output_ = -1, signals_ = -1, parent_ = -1;
  pid_t child_ = 0;
  int status_ = 0;
  bool orphaned_ = false;
  std::int64_t started_ = 0;
  std::size_t next_look_ = 0;
};

bool is_line_end(char c) { return c == '\n' || c == '\r'; }

}  // namespace

RankIdentity rank_identity(const char* (*get)(const char* name)) {
  struct Names {
    const char *rank, *size;
    bool open_mpi;
  };
  constexpr Names kNames[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", true},
                              {"PMI_RANK", "PMI_SIZE", false},
                              {"PMIX_RANK", "", false},
                              {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", false}};
  RankIdentity identity;
  for (const Names& names : kNames) {
    identity.rank = number_of(get(names.rank));
    if (identity.rank < 0) continue;
    identity.size = number_of(get(names.size));
    identity.open_mpi = names.open_mpi;
    return identity;
  }
  return identity;
}

std::string RankLines::take(std::string_view bytes) {
  std::string out;
  for (;;) {
    std::size_t end = 0;
    while (end < bytes.size() && !is_line_end(bytes[end])) ++end;
    if (end == bytes.size()) break;
    held_.append(bytes.substr(0, end + 1));
    bytes.remove_prefix(end + 1);
    line(std::exchange(held_, {}), out);
  }
  held_.append(bytes);
  if (held_.size() >= kLongestLine) line(std::exchange(held_, {}), out);
  return out;
}

std::string RankLines::finish() {
  std::string out;
  if (!held_.empty()) line(std::exchange(held_, {}) + "\n", out);
  return out;
}

void RankLines::line(std::string_view text, std::string& out) const {
  if (text.size() > 1 || !is_line_end(text.front())) out += mark_;
  out += text;
}

std::optional<std::string> foreign_mpi(std::string_view maps, bool open_mpi) {
  std::string foreign;
  bool own = false;
  while (!maps.empty()) {
    const std::size_t end = maps.find('\n');
    const std::string_view line = maps.substr(0, end);
    maps.remove_prefix(end == std::string_view::npos ? maps.size() : end + 1);
    const std::size_t path = line.find('/');
    if (path == std::string_view::npos) continue;
    const std::string_view name = line.substr(line.rfind('/') + 1);
    // MPICH and Intel MPI are libmpich or, by their common ABI, libmpi.so.12; Open MPI counts
    // libmpi otherwise.
    const bool mpich = name.starts_with("libmpich.so") || name.starts_with("libmpi.so.12");
    if (!mpich && !name.starts_with("libmpi.so.")) continue;
    if (mpich != open_mpi) {
      own = true;
    } else {
      foreign = line.substr(path);
    }
  }
  if (own) return std::string();
  if (foreign.empty()) return std::nullopt;
  return foreign;
}

int run_rank(char** argv) {
  if (std::string_view(argv[0]) == kRankProbe) {
    const RankIdentity told = rank_identity([](const char* name) { return variable(name); });
    const std::string line =
        "seedbed-rank " + std::to_string(told.rank) + " " + std::to_string(told.size) + "\n";
    return write_all(STDOUT_FILENO, line) == 0 ? 0 : 1;
  }
  return Rank().run(argv);
}

}  // namespace seedbed::shim
