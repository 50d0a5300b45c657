#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "controller/code_version.h"

namespace seedbed {

/// The modules that a Python text names in its `import` lines, dots of relative ones kept:
/// `import a.b, c` gives `a.b` and `c`; `from .x import y` gives `.x` and `.x.y`. Reads lines, so
/// what stands in a string may be taken for an import; what is imported by a call is not seen.
[[nodiscard]] std::vector<std::string> imported_modules(std::string_view text);

/// The files that decide what a program does (case H9): itself and, when it is a Python file, the
/// modules beside it that it imports, and theirs. Installed packages are not looked at.
class ProgramFiles {
 public:
  struct File {
    std::string path;
    std::string hash;  ///< FileHashes::hash
  };

  /// `root`: the folder where Python looks for modules first. The program comes first; at most 500
  /// files. Costs one look at each file unless one has changed.
  [[nodiscard]] std::vector<File> look(const std::string& program, const std::string& root);

  /// One hash for all of them; of a single file its own.
  [[nodiscard]] static std::string together(const std::vector<File>& files);

 private:
  struct Imports {
    std::string hash;  ///< of the file when it was read
    std::vector<std::string> paths;
  };

  const std::vector<std::string>& imports_of(const File& file, const std::string& root);

  FileHashes hashes_;
  std::map<std::string, Imports> imports_;
};

}  // namespace seedbed
