#pragma once

#include <string>
#include <vector>

#include "machine/machine.h"

namespace seedbed {

enum class CheckLevel { ok, warn, bad };

/// One line of `seedbed doctor`.
struct Check {
  std::string name;   ///< `cores`, `memory`, `disk`, `descriptors`, ...
  std::string value;  ///< what was found, for people
  CheckLevel level = CheckLevel::ok;
  std::string remedy;  ///< what helps; empty when all is well

  bool operator==(const Check&) const = default;
};

/// What the doctor looks at besides the machine; the default is this process.
struct DoctorSource {
  std::string studies_dir = ".";  ///< where studies would be written; need not exist
  std::string path;               ///< the PATH to search; empty: that of this process
};

/// Everything that decides how well seedbed will work here, in a fixed order.
[[nodiscard]] std::vector<Check> examine(const Machine& machine, const DoctorSource& source = {});

/// The word used in tables and JSON: ok, warn, bad.
[[nodiscard]] std::string_view check_word(CheckLevel level);

/// The first executable of that name along `path`; empty: none.
[[nodiscard]] std::string find_program(const std::string& name, const std::string& path);

}  // namespace seedbed
