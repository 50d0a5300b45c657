#include "cli/detached.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "env/posix/files.h"

namespace seedbed {
namespace {

constexpr char kReady = 'R';
constexpr char kFailed = 'E';

/// Standard streams of the controller lead nowhere: a terminal that closes must not matter.
void leave_terminal() {
  const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nowhere < 0) return;
  for (int descriptor = 0; descriptor <= 2; ++descriptor) dup2(nowhere, descriptor);
  if (nowhere > 2) close(nowhere);
}

void tell(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(descriptor, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

[[noreturn]] void be_controller(RunRequest request, Descriptor news) {
  setsid();
  bool told = false;
  request.make_reporters = [](const ReportFacts&) {
    return std::vector<std::unique_ptr<Reporter>>();
  };
  request.on_ready = [&] {
    tell(news.get(), std::string(1, kReady));
    news.reset();
    told = true;
    leave_terminal();
  };
  const Result<int> result = run_study(std::move(request));
  int code = 0;
  if (result) {
    code = *result;
  } else {
    code = exit_code(result.error().code);
    if (!told) {
      tell(news.get(), fmt::format("{}{}{}", kFailed, static_cast<int>(result.error().code),
                                   result.error().message));
    }
  }
  std::_Exit(code);
}

}  // namespace

Result<pid_t> start_detached(RunRequest request, HeldSignals& held) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return fail(ErrorCode::machine, std::string("pipe: ") + std::strerror(errno));
  }
  Descriptor heard(ends[0]);
  Descriptor news(ends[1]);
  const pid_t pid = fork();
  if (pid < 0) return fail(ErrorCode::machine, std::string("fork: ") + std::strerror(errno));
  if (pid == 0) {
    held.release();
    heard.reset();
    be_controller(std::move(request), std::move(news));
  }
  news.reset();
  std::string text;
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t count = read(heard.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  if (!text.empty() && text[0] == kReady) return pid;
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (text.size() >= 2 && text[0] == kFailed) {
    return tl::unexpected(Error{static_cast<ErrorCode>(text[1] - '0'), text.substr(2)});
  }
  return fail(ErrorCode::internal, "the controller died before it was at work");
}

}  // namespace seedbed
