#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "study/distribution.h"
#include "study/value.h"

namespace seedbed {

/// Numbers of a range: listed, or as a distribution when they are consecutive integers (which
/// expand without a list).
struct NumberSet {
  std::vector<Value> values;
  std::optional<Distribution> distribution;
};

/// Errors here carry what is wrong and the remedy; the caller adds the place. A list holds at most
/// a million values.

/// start, start + step, … below stop, which is excluded (Hydra's range). Computed in decimal, so
/// `range(0.1, 0.6, 0.1)` holds 0.3 itself. Integers when all three are, else floats.
[[nodiscard]] Result<NumberSet> number_range(const Value& start, const Value& stop,
                                             const Value& step);

/// Integers from first to last, both included; equal ends are refused.
[[nodiscard]] Result<Distribution> integer_span(const Value& first, const Value& last);

/// NumPy's linspace and geomspace, ends included: `count` values, printed short. Integers when both
/// ends are integers and all values are whole, else floats.
[[nodiscard]] Result<std::vector<Value>> linear_values(const Value& first, const Value& last,
                                                       const Value& count);
[[nodiscard]] Result<std::vector<Value>> geometric_values(const Value& first, const Value& last,
                                                          const Value& count);

}  // namespace seedbed
