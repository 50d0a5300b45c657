#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"
#include "controller/attempt_setup.h"
#include "env/posix/files.h"
#include "machine/doctor.h"

namespace seedbed {
namespace {

std::string search_path(const Variables& variables) {
  const auto path = variables.find("PATH");
  return path == variables.end() ? "/usr/local/bin:/usr/bin:/bin" : path->second;
}

/// The program that a #! line hands the file to: what `env` is to look for, too.
struct Interpreter {
  std::string path;
  std::string sought_by_env;  ///< empty: none
};

Interpreter interpreter_of(std::string_view line) {
  Interpreter found;
  std::vector<std::string_view> words;
  for (const std::string_view word : split(line, ' ')) {
    if (!trim(word).empty()) words.push_back(trim(word));
  }
  if (words.empty()) return found;
  found.path = std::string(words[0].substr(0, words[0].find('\t')));
  const bool by_env = words.size() == 2 && found.path.ends_with("/env");
  if (by_env && !words[1].starts_with('-') && words[1].find_first_of("/=\t") == words[1].npos) {
    found.sought_by_env = std::string(words[1]);
  }
  return found;
}

/// Why a file cannot be executed; empty when it can, as far as can be seen without doing it.
std::string why_not_executable(const std::string& path, const Variables& variables) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return errno_words(errno);
  if (S_ISDIR(info.st_mode)) return "is a directory";
  if (!S_ISREG(info.st_mode)) return "is not a regular file";
  if (access(path.c_str(), X_OK) != 0) {
    return errno == EACCES ? "has no execute permission; chmod +x it, or name its interpreter in "
                             "front (python3 script.py)"
                           : errno_words(errno);
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
  const Interpreter interpreter = interpreter_of(trim(text));
  const std::string& sought = interpreter.sought_by_env;
  if (interpreter.path.empty() || access(interpreter.path.c_str(), X_OK) != 0) {
    return fmt::format("names an interpreter in its #! line that cannot be run: {}",
                       one_line(interpreter.path, 200));
  }
  if (!sought.empty() && find_program(sought, search_path(variables)).empty()) {
    return fmt::format("names an interpreter in its #! line that is not found along PATH: {}",
                       one_line(sought, 200));
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
    const std::string why = why_not_executable(absolute(program, working_dir), variables);
    if (why.empty()) return {};
    return fail(ErrorCode::usage, fmt::format("cannot run {}: {}", shell_quote(program), why));
  }
  std::string first_reason;
  const std::string folders = search_path(variables);
  for (const std::string_view folder : split(folders, ':')) {
    const std::string candidate =
        absolute(folder.empty() ? std::string(".") : std::string(folder), working_dir) + "/" +
        program;
    struct stat info {};
    if (stat(candidate.c_str(), &info) != 0) continue;
    const std::string why = why_not_executable(candidate, variables);
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

std::string_view base_name(std::string_view program) {
  return program.substr(program.find_last_of('/') + 1);
}

bool is_interpreter(std::string_view program) {
  const std::string_view name = base_name(program);
  return name.starts_with("python") || name == "bash" || name == "sh" || name == "Rscript" ||
         name == "julia" || name == "perl" || name == "ruby" || name == "node";
}

/// Where the program stands that the word at `at` starts (`env A=b program`, `nohup program`,
/// `timeout 5m program`); `at` itself when that is no such word, or has options of its own.
std::size_t behind_wrapper(const std::vector<std::string>& argv, std::size_t at) {
  const std::string_view name = base_name(argv[at]);
  std::size_t next = at + 1;
  if (name == "env") {
    while (next < argv.size() && argv[next].find('=') != std::string::npos) ++next;
  } else if (name == "timeout") {
    ++next;
  } else if (name == "nice" && next + 1 < argv.size() && argv[next] == "-n") {
    next += 2;
  } else if (name != "nohup" && name != "setsid" && name != "nice" && name != "stdbuf" &&
             name != "time") {
    return at;
  }
  return next < argv.size() && !argv[next].starts_with('-') ? next : at;
}

Status check_script(const std::string& interpreter, const std::string& script,
                    const std::string& working_dir) {
  if (script.starts_with('-') || script.find_first_of("\n;") != std::string::npos) return {};
  const std::string path = absolute(script, working_dir);
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) {
    return fail(ErrorCode::usage,
                fmt::format("{} cannot open {}: {} (looked in {})", interpreter,
                            shell_quote(script), errno_words(errno), working_dir));
  }
  if (!S_ISDIR(info.st_mode)) return {};
  const bool python = base_name(interpreter).starts_with("python");
  if (python && access((path + "/__main__.py").c_str(), F_OK) == 0) return {};
  return fail(ErrorCode::usage,
              fmt::format("{} cannot run {}: is a directory{}", interpreter, shell_quote(script),
                          python ? " without a __main__.py" : ""));
}

}  // namespace

Status check_program(const std::vector<std::string>& argv, const std::string& working_dir,
                     const Variables& variables) {
  if (argv.empty()) return fail(ErrorCode::usage, "the command is empty");
  std::size_t position = 0;
  for (;;) {
    Status found = check_found(argv[position], working_dir, variables);
    if (!found) return found;
    const std::size_t next = behind_wrapper(argv, position);
    if (next == position) break;
    position = next;
  }
  if (!is_interpreter(argv[position]) || position + 1 >= argv.size()) return {};
  return check_script(argv[position], argv[position + 1], working_dir);
}

}  // namespace seedbed
