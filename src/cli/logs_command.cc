#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>

#include "base/text.h"
#include "cli/invocation.h"
#include "env/posix/files.h"
#include "results/study_reader.h"

namespace seedbed {
namespace {

struct LogsOptions {
  std::string trial;
  std::uint32_t attempt = 0;
  bool follow = false, raw = false;
};

/// Bytes of a log made safe for a terminal, line by line: valid UTF-8, no control characters.
std::string safe_lines(std::string_view bytes) {
  std::string text;
  const std::vector<std::string_view> lines = split(bytes, '\n');
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) text += '\n';
    std::string_view line = lines[i];
    if (line.ends_with('\r')) line.remove_suffix(1);
    text += one_line(line);
  }
  return text;
}

/// Copies what is new in the log to standard output; false when it cannot be written any more.
bool copy_new(int descriptor, bool raw) {
  std::array<char, 65536> buffer{};
  for (;;) {
    const ssize_t count = read(descriptor, buffer.data(), buffer.size());
    if (count <= 0) return std::fflush(stdout) == 0;
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(count));
    const std::string safe = raw ? std::string() : safe_lines(bytes);
    const std::string_view shown = raw ? bytes : std::string_view(safe);
    if (std::fwrite(shown.data(), 1, shown.size(), stdout) != shown.size()) return false;
  }
}

Result<int> logs(const Invocation& invocation, const LogsOptions& options) {
  auto trials = read_trial_numbers({options.trial});
  if (!trials) return propagate(trials);
  auto dir = find_study(invocation);
  if (!dir) return propagate(dir);
  auto reader = StudyReader::open(*dir);
  if (!reader) return propagate(reader);
  auto details = reader->trial(trials->front());
  if (!details) return propagate(details);
  if (details->attempts.empty()) {
    return fail(ErrorCode::usage,
                fmt::format("trial {} has not been started yet", trials->front()));
  }
  const std::uint32_t attempt =
      options.attempt > 0 ? options.attempt : details->attempts.back().attempt;
  const std::string path = details->folder_path() + "/attempt-" + std::to_string(attempt) + ".log";
  Descriptor log(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!log) return tl::unexpected(file_error(path, errno));
  constexpr std::chrono::milliseconds kPeriod{200};
  for (;;) {
    // Asked before reading: what was written until then is read below.
    bool live = false;
    if (options.follow) {
      auto now = reader->trial(trials->front());
      live =
          now && now->row.state == TrialState::running && now->attempts.back().attempt == attempt;
    }
    if (!copy_new(log.get(), options.raw)) return 0;
    if (!live) return 0;
    std::this_thread::sleep_for(kPeriod);
  }
}

}  // namespace

void add_logs_command(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<LogsOptions>();
  CLI::App* command = app.add_subcommand("logs", "The output of a trial");
  command->add_option("TRIAL", options->trial, "Its number")->required();
  command->add_option("--attempt", options->attempt, "Which attempt (default: the latest)");
  command->add_flag("-f,--follow", options->follow, "Go on until the attempt ends");
  command->add_flag("--raw", options->raw, "The bytes as they are, colours and all");
  add_study_options(*command, invocation, false);
  command->callback([&invocation, options] {
    invocation.action = [&invocation, options] { return logs(invocation, *options); };
  });
}

}  // namespace seedbed
