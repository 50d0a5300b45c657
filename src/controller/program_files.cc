#include "controller/program_files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>

#include "base/random.h"
#include "base/text.h"
#include "env/posix/files.h"

namespace seedbed {
namespace {

constexpr std::size_t kMostFiles = 500;
constexpr std::size_t kLargestModule = 4 << 20;  // bytes

bool is_file(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

std::string folder_of(const std::string& path) { return path.substr(0, path.find_last_of('/')); }

/// `a as b` names a; what is no name gives nothing.
std::string_view first_name(std::string_view words) {
  words = trim(words);
  words = words.substr(0, words.find_first_of(" \t;#"));
  const bool name = std::all_of(words.begin(), words.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '.' || c >= 0x80;
  });
  return name ? words : std::string_view();
}

/// Takes one line off the text: a logical one, that goes on after a backslash and inside ( ).
std::string take_line(std::string_view& text) {
  std::string line;
  for (bool open = true; open && !text.empty();) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view part = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    part = trim(part.substr(0, part.find('#')));
    const bool goes_on = part.ends_with('\\');
    if (goes_on) part.remove_suffix(1);
    line.append(part).push_back(' ');
    const bool imports = line.starts_with("from ") || line.starts_with("import ");
    const bool bracket = line.find('(') != line.npos && line.find(')') == line.npos;
    open = imports && (goes_on || bracket);
  }
  return line;
}

void add_import_line(std::string_view line, std::vector<std::string>& modules) {
  if (line.starts_with("import ")) {
    for (const std::string_view part : split(line.substr(7), ',')) {
      const std::string_view name = first_name(part);
      if (!name.empty()) modules.emplace_back(name);
    }
    return;
  }
  if (!line.starts_with("from ")) return;
  const std::size_t import = line.find(" import ");
  if (import == line.npos) return;
  const std::string from(first_name(line.substr(5, import - 5)));
  if (from.empty()) return;
  modules.push_back(from);
  std::string names(line.substr(import + 8));
  std::erase_if(names, [](char c) { return c == '(' || c == ')'; });
  for (const std::string_view part : split(names, ',')) {
    const std::string_view name = first_name(part);
    if (name.empty()) continue;
    modules.push_back(from + (from.ends_with('.') ? "" : ".") + std::string(name));
  }
}

/// The files that a module's name stands for, those of the packages around it too.
std::vector<std::string> files_of(std::string_view module, const std::string& importer,
                                  const std::string& root) {
  std::string base = root;
  if (module.starts_with('.')) {
    base = folder_of(importer);
    module.remove_prefix(1);
    for (; module.starts_with('.'); module.remove_prefix(1)) base = folder_of(base);
  }
  std::vector<std::string> files;
  for (const std::string_view part : split(module, '.')) {
    if (part.empty()) break;
    base.append("/").append(part);
    for (const char* ending : {".py", "/__init__.py"}) {
      if (is_file(base + ending)) files.push_back(base + ending);
    }
  }
  return files;
}

}  // namespace

std::vector<std::string> imported_modules(std::string_view text) {
  std::vector<std::string> modules;
  while (!text.empty()) add_import_line(take_line(text), modules);
  return modules;
}

const std::vector<std::string>& ProgramFiles::imports_of(const File& file,
                                                         const std::string& root) {
  Imports& known = imports_[file.path];
  if (known.hash == file.hash) return known.paths;
  known = {file.hash, {}};
  const auto text = read_file(file.path, kLargestModule);
  if (!text) return known.paths;
  for (const std::string& module : imported_modules(*text)) {
    for (std::string& path : files_of(module, file.path, root)) {
      known.paths.push_back(std::move(path));
    }
  }
  return known.paths;
}

std::vector<ProgramFiles::File> ProgramFiles::look(const std::string& program,
                                                   const std::string& root) {
  std::vector<File> files{{program, hashes_.hash(program)}};
  std::set<std::string> seen{program};
  for (std::size_t at = 0; at < files.size(); ++at) {
    if (!files[at].path.ends_with(".py") || files[at].hash.empty()) continue;
    const std::vector<std::string> imports = imports_of(files[at], root);
    for (const std::string& path : imports) {
      if (files.size() >= kMostFiles || !seen.insert(path).second) continue;
      files.push_back({path, hashes_.hash(path)});
    }
  }
  return files;
}

std::string ProgramFiles::together(const std::vector<File>& files) {
  if (files.size() == 1) return files.front().hash;
  std::uint64_t hash = 0;
  // By content alone: a copy of the folder elsewhere runs the same.
  for (const File& file : files) hash = hash_text(file.hash, hash);
  return fmt::format("{:016x}", hash);
}

}  // namespace seedbed
