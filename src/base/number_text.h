#pragma once

#include <string>

namespace seedbed {

// How numbers look to people, the same in every table and line. Machines (JSON, CSV, records) get
// format_number, which has every digit.

/// A mean, or a value in a table: integers below 1e15 in full, others with at most six significant
/// digits, so that 0.9763000000000001 is `0.9763`; `nan`, `inf`, `-inf`.
[[nodiscard]] std::string number_text(double value);

/// A value as it was reported and is kept, with every digit; integers below 1e15 without a point.
[[nodiscard]] std::string stored_number_text(double value);

}  // namespace seedbed
