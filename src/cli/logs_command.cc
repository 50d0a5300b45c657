#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include "base/text.h"
#include "cli/invocation.h"
#include "cli/option_checks.h"
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

/// Bytes at the end that only what follows can explain: the beginning of a character, or a `\r`
/// that may belong to the end of a line.
std::size_t unfinished(std::string_view bytes) {
  if (bytes.ends_with('\r')) return 1;
  constexpr std::size_t kLongest = 4;  // bytes of a character
  for (std::size_t count = 1; count < kLongest && count <= bytes.size(); ++count) {
    const auto byte = static_cast<unsigned char>(bytes[bytes.size() - count]);
    if ((byte & 0xC0U) == 0x80U) continue;  // within a character
    const std::size_t length = byte >= 0xF0U ? 4 : byte >= 0xE0U ? 3 : byte >= 0xC0U ? 2 : 1;
    return length > count ? count : 0;
  }
  return 0;
}

/// Copies a log to standard output. The middle of a log that went over its limit is a hole, which
/// reads as zeros (and is zeros in a copy): a line stands in its place.
class LogPrinter {
 public:
  LogPrinter(int descriptor, bool raw) : descriptor_(descriptor), raw_(raw) {}

  /// Prints what is new; false when it cannot be written any more.
  bool copy_new() {
    std::array<char, 65536> buffer{};
    for (;;) {
      pass_hole();
      const ssize_t count = read(descriptor_, buffer.data(), buffer.size());
      if (count <= 0) break;
      if (!take({buffer.data(), static_cast<std::size_t>(count)})) return false;
    }
    // Holes begin and end at blocks: fewer zeros at the end of the log are the program's own.
    if (zeros_ < kLeastHole && !end_zeros()) return false;
    return std::fflush(stdout) == 0;
  }

  /// Nothing more will come: prints what waited for more; false when it cannot be written.
  bool finish() { return end_piece() && std::fflush(stdout) == 0; }

 private:
  static constexpr std::uint64_t kLeastHole = 4096;

  /// Goes to where the next data are, without reading the zeros before them.
  void pass_hole() {
    const off_t here = lseek(descriptor_, 0, SEEK_CUR);
    if (here < 0) return;
    const off_t data = lseek(descriptor_, here, SEEK_DATA);
    if (data < here) {
      lseek(descriptor_, here, SEEK_SET);
    } else {
      zeros_ += static_cast<std::uint64_t>(data - here);
    }
  }

  bool take(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::size_t begin = std::min(bytes.find_first_not_of('\0'), bytes.size());
      zeros_ += begin;
      bytes.remove_prefix(begin);
      if (bytes.empty()) return true;
      if (!end_zeros()) return false;
      const std::size_t end = std::min(bytes.find('\0'), bytes.size());
      if (!print(bytes.substr(0, end))) return false;
      bytes.remove_prefix(end);
    }
    return true;
  }

  bool end_zeros() {
    const std::uint64_t count = std::exchange(zeros_, 0);
    if (count == 0) return true;
    if (!end_piece()) return false;
    if (count < kLeastHole) return print(std::string(count, '\0'));
    const std::string line =
        fmt::format("… {} bytes not kept: the log went over its limit …\n", count);
    if (raw_) {
      std::fputs(line.c_str(), stderr);
      return true;
    }
    return write(at_line_start_ ? line : "\n" + line);
  }

  bool print(std::string_view bytes) {
    if (raw_) return write(std::string(bytes));
    piece_ += bytes;
    const std::string rest = piece_.substr(piece_.size() - unfinished(piece_));
    piece_.resize(piece_.size() - rest.size());
    const bool written = write(safe_lines(piece_));
    piece_ = rest;
    return written;
  }

  bool end_piece() { return write(safe_lines(std::exchange(piece_, {}))); }

  bool write(const std::string& text) {
    if (!text.empty()) at_line_start_ = text.back() == '\n';
    return std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  }

  int descriptor_;
  bool raw_;
  bool at_line_start_ = true;
  std::uint64_t zeros_ = 0;  // read, not yet shown
  std::string piece_;        // read, shown once the next bytes have come
};

Result<int> logs(const Invocation& invocation, const LogsOptions& options) {
  auto dir = find_study(invocation);
  if (!dir) return propagate(dir);
  auto trials = read_trials(*dir, {options.trial});
  if (!trials) return propagate(trials);
  if (trials->size() != 1) {
    return fail(ErrorCode::usage,
                fmt::format("'{}' names {} trials, and logs shows the output of one; write seedbed "
                            "logs {}",
                            one_line(options.trial, 60), trials->size(), trials->front()));
  }
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
  if (attempt > details->attempts.back().attempt) {
    const std::uint32_t count = details->attempts.back().attempt;
    return fail(ErrorCode::usage,
                fmt::format("trial {} has no attempt {}: it has had {} attempt{}", trials->front(),
                            attempt, count, count == 1 ? "" : "s"));
  }
  const std::string path = details->folder_path() + "/attempt-" + std::to_string(attempt) + ".log";
  Descriptor log(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!log) return tl::unexpected(file_error(path, errno));
  LogPrinter printer(log.get(), options.raw);
  constexpr std::chrono::milliseconds kPeriod{200};
  for (;;) {
    // Asked before reading: what was written until then is read below.
    bool live = false, ended_unseen = false;
    if (options.follow) {
      auto now = reader->trial(trials->front());
      live =
          now && now->row.state == TrialState::running && now->attempts.back().attempt == attempt;
      ended_unseen = live && now->row.ended_unseen;
    }
    const bool last = ended_unseen || !live;
    if (!printer.copy_new() || (last && !printer.finish())) {
      const int cause = errno;
      if (cause == EPIPE) return 0;  // whoever reads has seen enough
      return fail(ErrorCode::machine,
                  "the output could not be written: " + std::generic_category().message(cause));
    }
    if (ended_unseen) {
      std::fprintf(stderr, "seedbed: the attempt has ended; the next run records how\n");
    }
    if (last) return 0;
    std::this_thread::sleep_for(kPeriod);
  }
}

}  // namespace

void add_logs_command(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<LogsOptions>();
  CLI::App* command = app.add_subcommand("logs", "The output of a trial");
  command->add_option("TRIAL", options->trial, "Its number, or the name of its folder")->required();
  whole_number(
      command->add_option("--attempt", options->attempt, "Which attempt (default: the latest)"), 1,
      1'000'000);
  command->add_flag("-f,--follow", options->follow, "Go on until the attempt ends");
  command->add_flag("--raw", options->raw, "The bytes as they are, colours and all");
  add_study_options(*command, invocation, false);
  command->footer("Example:\n  seedbed logs 3 --study digits -f");
  command->callback([&invocation, options] {
    invocation.action = [&invocation, options] { return logs(invocation, *options); };
  });
}

}  // namespace seedbed
