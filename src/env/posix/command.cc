#include "env/posix/command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <optional>
#include <thread>

#include "env/posix/files.h"

extern char** environ;

namespace seedbed {
namespace {

constexpr Milliseconds kDeathLimit{1000};

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> list;
  list.reserve(words.size() + 1);
  for (const std::string& word : words) list.push_back(const_cast<char*>(word.c_str()));
  list.push_back(nullptr);
  return list;
}

/// Reads until the end, the limit or the deadline; true when the end was reached.
bool read_all(int descriptor, Milliseconds timeout, std::size_t limit,
              const std::atomic<bool>* given_up, std::string& output) {
  constexpr Milliseconds kLook{100};  // whether anybody still waits
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  std::array<char, 65536> buffer{};
  for (;;) {
    const auto left =
        std::chrono::duration_cast<Milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0 || output.size() > limit) return false;
    if (given_up != nullptr && *given_up) return false;
    pollfd waiting{descriptor, POLLIN, 0};
    const Milliseconds pause = given_up == nullptr ? left : std::min(left, kLook);
    const int ready = poll(&waiting, 1, static_cast<int>(pause.count()));
    if (ready < 0 && errno != EINTR) return false;
    if (ready <= 0) continue;
    const ssize_t count = read(descriptor, buffer.data(), buffer.size());
    if (count == 0) return true;
    if (count < 0 && errno != EINTR) return false;
    if (count > 0) output.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

/// Its status; nothing after `limit`: a process that is stuck in a driver does not even die of
/// KILL, and is left to the system.
std::optional<int> wait_for(pid_t pid, Milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  for (Milliseconds pause{1};; pause = std::min(2 * pause, Milliseconds(50))) {
    int status = 0;
    const pid_t ended = waitpid(pid, &status, WNOHANG);
    if (ended == pid) return status;
    if (ended < 0 && errno != EINTR) return std::nullopt;
    if (std::chrono::steady_clock::now() >= deadline) return std::nullopt;
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace

Result<CommandOutput> run_command(const std::vector<std::string>& argv,
                                  const std::string& working_dir, Milliseconds timeout,
                                  std::size_t output_limit) {
  CommandOptions options;
  options.working_dir = working_dir;
  options.timeout = timeout;
  options.output_limit = output_limit;
  return run_command(argv, options);
}

Result<CommandOutput> run_command(const std::vector<std::string>& argv,
                                  const CommandOptions& options) {
  const Milliseconds timeout = options.timeout;
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) {
    return fail(ErrorCode::machine, std::string("pipe: ") + errno_words(errno));
  }
  const std::vector<char*> words = pointers(argv);
  const std::vector<char*> variables = pointers(options.environment);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], 1);
  if (options.with_errors) {
    posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], 2);
  } else {
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  }
  posix_spawn_file_actions_addchdir_np(&actions, options.working_dir.c_str());
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t pid = 0;
  const int spawned = posix_spawnp(&pid, words[0], &actions, &attributes, words.data(),
                                   options.environment.empty() ? environ : variables.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(pipe_ends[1]);
  if (spawned != 0) {
    close(pipe_ends[0]);
    return fail(ErrorCode::machine, argv[0] + ": " + errno_words(spawned));
  }
  CommandOutput result;
  const bool complete =
      read_all(pipe_ends[0], timeout, options.output_limit, options.given_up, result.output);
  close(pipe_ends[0]);
  if (!complete) kill(-pid, SIGKILL);
  const auto status = wait_for(pid, complete ? timeout : kDeathLimit);
  if (!status && complete) {
    kill(-pid, SIGKILL);
    static_cast<void>(wait_for(pid, kDeathLimit));
  }
  if (!complete || !status) {
    return fail(ErrorCode::machine, argv[0] + " gave no complete answer in time");
  }
  result.exit_code = WIFEXITED(*status) ? WEXITSTATUS(*status) : 128 + WTERMSIG(*status);
  return result;
}

}  // namespace seedbed
