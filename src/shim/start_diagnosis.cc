#include "shim/start_diagnosis.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "shim/system.h"

namespace seedbed::shim {
namespace {

constexpr std::string_view kDefaultPath = "/usr/local/bin:/usr/bin:/bin";

std::string_view path_of(const StartOrder& order) {
  for (const std::string& variable : order.environment) {
    if (variable.starts_with("PATH=")) return std::string_view(variable).substr(5);
  }
  return kDefaultPath;
}

// As the program will see it from its working folder.
std::string absolute(const StartOrder& order, std::string_view path) {
  if (path.starts_with('/') || order.working_dir.empty()) return std::string(path);
  if (path.starts_with("./")) path.remove_prefix(2);
  return order.working_dir + "/" + std::string(path);
}

bool is_file(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

bool is_folder(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// The first line of a file, without its line feed; at most what the kernel looks at.
std::string first_line(const std::string& path) {
  const std::string text = read_small_file(path.c_str()).substr(0, 256);
  return text.substr(0, text.find('\n'));
}

struct Shebang {
  std::string interpreter;  // empty: not a script with a first line for the kernel
  std::string argument;
  bool carriage_return = false;
};

Shebang read_shebang(const std::string& path) {
  Shebang found;
  std::string line = first_line(path);
  if (!line.starts_with("#!")) return found;
  if (line.ends_with('\r')) {
    found.carriage_return = true;
    line.pop_back();
  }
  const std::size_t start = line.find_first_not_of(" \t", 2);
  if (start == std::string::npos) return found;
  const std::size_t end = line.find_first_of(" \t", start);
  found.interpreter = line.substr(start, end - start);
  if (end != std::string::npos) {
    const std::size_t argument = line.find_first_not_of(" \t", end);
    if (argument != std::string::npos) found.argument = line.substr(argument);
  }
  return found;
}

std::string carriage_return_words(const std::string& path, const std::string& sought) {
  return path + ": its lines end in CR LF (as on Windows), so the system looks for `" + sought +
         "\\r`; convert it: sed -i 's/\\r$//' " + path;
}

std::string explain_missing(const std::string& path) {
  if (!is_file(path)) return path + ": no such file";
  const Shebang script = read_shebang(path);
  if (script.interpreter.empty()) {
    return path +
           ": is there, but the program loader that it names is not (built for another system?); "
           "see `file " +
           path + "`";
  }
  if (script.carriage_return && script.argument.empty()) {
    return carriage_return_words(path, script.interpreter);
  }
  return path + ": its interpreter " + script.interpreter +
         " (first line) does not exist; correct that line or run it with its interpreter, e.g. "
         "python3 " +
         path;
}

std::string explain_denied(const std::string& path) {
  if (is_folder(path)) return path + ": is a folder, not a program";
  if (is_file(path) && ::access(path.c_str(), X_OK) != 0) {
    return path + ": no execute permission; chmod +x " + path +
           ", or run it with its interpreter, e.g. python3 " + path;
  }
  const Shebang script = read_shebang(path);
  if (!script.interpreter.empty() && ::access(script.interpreter.c_str(), X_OK) != 0) {
    return path + ": its interpreter " + script.interpreter +
           " (first line) may not be executed; correct that line";
  }
  return path +
         ": permission denied (a folder on the way may be closed, or the disk mounted "
         "noexec)";
}

std::string explain_format(const std::string& path) {
  const std::string head = read_small_file(path.c_str()).substr(0, 4);
  if (head.empty()) return path + ": is empty";
  if (head ==
      "\x7f"
      "ELF")
    return path + ": is a program for another kind of processor";
  return path +
         ": is not a program: no `#!` in its first line; put e.g. `#!/usr/bin/env python3` "
         "there, or run it with its interpreter, e.g. python3 " +
         path;
}

}  // namespace

Program find_program(const StartOrder& order) {
  const std::string& name = order.argv[0];
  if (name.empty()) return {"", "the command is empty"};
  if (name.find('/') != std::string::npos) return {name, ""};
  std::string denied;
  std::string_view rest = path_of(order);
  const std::string all(rest);
  for (bool more = true; more;) {
    const std::size_t colon = rest.find(':');
    const std::string_view folder = rest.substr(0, colon);
    more = colon != std::string_view::npos;
    if (more) rest.remove_prefix(colon + 1);
    const std::string path =
        absolute(order, folder.empty() ? name : std::string(folder) + "/" + name);
    if (::access(path.c_str(), X_OK) == 0) {
      if (is_file(path)) return {path, ""};
    } else if (errno == EACCES && denied.empty() && is_file(path)) {
      denied = path;
    }
  }
  if (!denied.empty()) return {"", explain_denied(denied)};
  std::string why = name + ": command not found along PATH (" + all + ")";
  if (is_file(absolute(order, name))) {
    why += "; there is one in the working folder: write ./" + name;
  }
  return {"", why};
}

std::string explain_chdir(const StartOrder& order, int error) {
  return order.working_dir + ": cannot be the working folder: " + error_words(error);
}

std::string explain_exec(const StartOrder& order, const std::string& path, int error) {
  const std::string full = absolute(order, path);
  switch (error) {
    case ENOENT:
      return explain_missing(full);
    case EACCES:
    case EPERM:
      return explain_denied(full);
    case ENOEXEC:
      return explain_format(full);
    case ENOTDIR:
      return full + ": a part of this path is not a folder";
    case E2BIG:
      return full +
             ": the command line and environment are too long for the system (128 KiB for one "
             "argument); pass long values by file (params: file)";
    case ETXTBSY:
      return full + ": is being written just now; start again when that is done";
    default:
      return full + ": " + error_words(error);
  }
}

std::string explain_exit_127(const StartOrder& order) {
  const Program program = find_program(order);
  if (program.path.empty()) return {};
  const std::string full = absolute(order, program.path);
  const Shebang script = read_shebang(full);
  if (!script.interpreter.ends_with("/env") || script.argument.empty()) return {};
  if (script.carriage_return) return carriage_return_words(full, script.argument);
  StartOrder sought = order;
  sought.argv = {script.argument};
  if (script.argument.starts_with('-') || find_program(sought).why.empty()) return {};
  return full + ": its first line asks for `" + script.argument +
         "`, which is not found along PATH; correct that line or run it with its interpreter";
}

}  // namespace seedbed::shim
