#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "study/value.h"

namespace seedbed {

struct Parameter {
  std::string name;  ///< dotted for nested ones: `opt.lr`
  Value value;

  bool operator==(const Parameter&) const = default;
};

/// One point of a space: parameters in the order of the space. A parameter that does not exist at
/// this point (`when`) is not in the list; one that is `!absent` is.
struct Point {
  std::vector<Parameter> parameters;

  [[nodiscard]] const Value* find(std::string_view name) const;

  /// Content identity, independent of the order of parameters: sorted `name=canonical` pairs.
  /// Two trials of a study are the same trial exactly when these are equal. Absent and not
  /// existing are the same here: the program sees no difference.
  [[nodiscard]] std::string identity() const;

  /// Identity without the seed parameter: what replicates share.
  [[nodiscard]] std::string configuration_identity(std::string_view seed_parameter) const;

  bool operator==(const Point&) const = default;
};

}  // namespace seedbed
