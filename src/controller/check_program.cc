#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "controller/attempt_setup.h"

namespace seedbed {
namespace {

/// Why a file cannot be executed; empty when it can, as far as can be seen without doing it.
std::string why_not_executable(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return std::strerror(errno);
  if (S_ISDIR(info.st_mode)) return "is a directory";
  if (!S_ISREG(info.st_mode)) return "is not a regular file";
  if (access(path.c_str(), X_OK) != 0) {
    return errno == EACCES ? "has no execute permission; chmod +x it, or name its interpreter in "
                             "front (python3 script.py)"
                           : std::strerror(errno);
  }
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return {};  // execute-only is fine
  char head[256];
  const ssize_t count = read(descriptor, head, sizeof head);
  close(descriptor);
  std::string_view text(head, count > 0 ? static_cast<std::size_t>(count) : 0);
  if (!text.starts_with("#!")) {
    return text.starts_with(
               "\x7f"
               "ELF") ||
                   text.empty()
               ? ""
               : "is a text file without a #! line; name its interpreter in front (python3 "
                 "script.py)";
  }
  text = text.substr(2, text.find('\n') - 2);
  if (text.ends_with('\r')) {
    return "has Windows line ends (CRLF), so the system looks for an interpreter whose name ends "
           "in a carriage return; convert it with: sed -i 's/\\r$//' FILE";
  }
  const std::string_view line = trim(text);
  const std::string interpreter(line.substr(0, line.find_first_of(" \t")));
  if (interpreter.empty() || access(interpreter.c_str(), X_OK) != 0) {
    return fmt::format("names an interpreter in its #! line that cannot be run: {}",
                       one_line(interpreter, 200));
  }
  return {};
}

std::string absolute(const std::string& path, const std::string& working_dir) {
  return path.starts_with('/') ? path : working_dir + "/" + path;
}

Status check_found(const std::string& program, const std::string& working_dir,
                   const Variables& variables) {
  if (program.empty()) return fail(ErrorCode::usage, "the command's program name is empty");
  if (program.find('/') != std::string::npos) {
    const std::string why = why_not_executable(absolute(program, working_dir));
    if (why.empty()) return {};
    return fail(ErrorCode::usage, fmt::format("cannot run {}: {}", shell_quote(program), why));
  }
  const auto path = variables.find("PATH");
  const std::string folders =
      path == variables.end() ? "/usr/local/bin:/usr/bin:/bin" : path->second;
  std::string first_reason;
  for (const std::string_view folder : split(folders, ':')) {
    const std::string candidate =
        absolute(folder.empty() ? std::string(".") : std::string(folder), working_dir) + "/" +
        program;
    struct stat info {};
    if (stat(candidate.c_str(), &info) != 0) continue;
    const std::string why = why_not_executable(candidate);
    if (why.empty()) return {};
    if (first_reason.empty()) first_reason = candidate + " " + why;
  }
  if (!first_reason.empty()) {
    return fail(ErrorCode::usage,
                fmt::format("cannot run {}: {}", shell_quote(program), first_reason));
  }
  return fail(
      ErrorCode::usage,
      fmt::format("cannot run {}: not found along PATH; for a file in this folder write ./{}",
                  shell_quote(program), program));
}

bool is_interpreter(std::string_view program) {
  const std::string_view name = program.substr(program.find_last_of('/') + 1);
  return name.starts_with("python") || name == "bash" || name == "sh" || name == "Rscript" ||
         name == "julia" || name == "perl" || name == "ruby" || name == "node";
}

}  // namespace

Status check_program(const std::vector<std::string>& argv, const std::string& working_dir,
                     const Variables& variables) {
  if (argv.empty()) return fail(ErrorCode::usage, "the command is empty");
  std::size_t position = 0;
  // `env python3 x.py` and `env A=b program` are the ways sweep files start programs.
  if (argv[0] == "env" || argv[0] == "/usr/bin/env") {
    position = 1;
    while (position < argv.size() && argv[position].find('=') != std::string::npos) ++position;
    if (position >= argv.size() || argv[position].starts_with('-')) position = 0;
  }
  if (Status found = check_found(argv[position], working_dir, variables); !found) return found;
  if (is_interpreter(argv[position]) && position + 1 < argv.size()) {
    const std::string& script = argv[position + 1];
    struct stat info {};
    const bool looks_like_file =
        !script.starts_with('-') && script.find_first_of("\n;") == std::string::npos;
    if (looks_like_file && stat(absolute(script, working_dir).c_str(), &info) != 0) {
      return fail(ErrorCode::usage,
                  fmt::format("{} cannot open {}: {} (looked in {})", argv[position],
                              shell_quote(script), std::strerror(errno), working_dir));
    }
  }
  return {};
}

}  // namespace seedbed
