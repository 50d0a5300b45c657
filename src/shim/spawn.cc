#include "shim/spawn.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <vector>

#include "shim/start_diagnosis.h"
#include "shim/system.h"

namespace seedbed::shim {
namespace {

constexpr int kMaxCpus = 8192;
constexpr int kNiceness = 10;
constexpr std::size_t kWordBits = 8 * sizeof(unsigned long);

// What the child needs, prepared before it exists: it may only make system calls. It shares our
// memory, so its answers are written here too.
struct ChildTask {
  const char* program = nullptr;
  char* const* argv = nullptr;
  char* const* environment = nullptr;
  const char* working_dir = nullptr;
  int log = -1;
  pid_t shim = 0;
  bool nice = false;
  std::size_t cpu_bytes = 0;  // 0: not bound
  unsigned long cpus[kMaxCpus / kWordBits] = {};
  // answers
  volatile int bind_error = 0;
  volatile int chdir_error = 0;
  volatile int exec_error = 0;
  volatile std::int64_t began_ns = 0;
};

std::int64_t boot_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

int run_child(void* argument) {
  auto& task = *static_cast<ChildTask*>(argument);
  task.began_ns = boot_ns();
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != task.shim) ::_exit(127);  // the shim died before that was set
  ::dup2(task.log, 1);
  ::dup2(task.log, 2);
  if (task.cpu_bytes > 0 &&
      ::sched_setaffinity(0, task.cpu_bytes, reinterpret_cast<cpu_set_t*>(task.cpus)) != 0) {
    task.bind_error = errno;
  }
  if (task.nice) ::setpriority(PRIO_PROCESS, 0, kNiceness);  // it runs all the same if not
  if (::chdir(task.working_dir) != 0) {
    task.chdir_error = errno;
    ::_exit(127);
  }
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  ::sigaction(SIGTERM, &plain, nullptr);  // ours would run in memory that is not the child's own
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(task.program, task.argv, task.environment);
  task.exec_error = errno;
  ::_exit(127);
}

void set_cpus(ChildTask& task, const std::vector<int>& cores) {
  for (const int core : cores) {
    if (core < 0 || core >= kMaxCpus) continue;
    const auto bit = static_cast<std::size_t>(core);
    task.cpus[bit / kWordBits] |= 1UL << (bit % kWordBits);
    task.cpu_bytes = sizeof task.cpus;
  }
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> list;
  list.reserve(words.size() + 1);
  for (const std::string& word : words) list.push_back(const_cast<char*>(word.c_str()));
  list.push_back(nullptr);
  return list;
}

// The kernel notes the start in ticks of its boot clock. We looked at that clock just before and
// just after: mostly both are the same tick, which saves reading /proc.
std::uint64_t start_ticks(pid_t pid, std::int64_t before_ns, std::int64_t after_ns) {
  static const std::int64_t tick_ns = 1'000'000'000 / ::sysconf(_SC_CLK_TCK);
  const std::int64_t tick = before_ns / tick_ns;
  if (tick == after_ns / tick_ns) return static_cast<std::uint64_t>(tick);
  return start_ticks_of(pid);
}

}  // namespace

Spawned spawn(const StartOrder& order, int log) {
  Spawned result;
  const Program program = find_program(order);
  if (!program.why.empty()) {
    result.why = program.why;
    return result;
  }
  const std::vector<char*> argv = pointers(order.argv);
  const std::vector<char*> environment = pointers(order.environment);
  ChildTask task;
  task.program = program.path.c_str();
  task.argv = argv.data();
  task.environment = environment.data();
  task.working_dir = order.working_dir.empty() ? "." : order.working_dir.c_str();
  task.log = log;
  task.shim = ::getpid();
  task.nice = order.nice;
  set_cpus(task, order.cores);

  alignas(64) static char stack[65536];  // one child at a time uses it, and only until its exec
  const std::int64_t before_ns = boot_ns();
  const pid_t pid =
      ::clone(run_child, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &task);
  if (pid < 0) {
    result.why = std::string("the machine refuses one more process (") + error_words(errno) +
                 "); see `ulimit -u` and the pids limit of the container, or use fewer --slots";
    return result;
  }
  if (task.chdir_error != 0 || task.exec_error != 0) {
    ::waitpid(pid, nullptr, 0);
    result.why = task.chdir_error != 0 ? explain_chdir(order, task.chdir_error)
                                       : explain_exec(order, program.path, task.exec_error);
    return result;
  }
  result.pid = pid;
  result.bind_error = task.bind_error;
  result.start_ticks = start_ticks(pid, before_ns, task.began_ns);
  return result;
}

}  // namespace seedbed::shim
