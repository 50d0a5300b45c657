#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "study/value.h"

namespace seedbed {

/// W&B's distributions over numbers. Bounds are values except for log_uniform, whose bounds are
/// natural-log exponents (W&B's meaning).
enum class DistributionKind {
  int_uniform,  ///< integers, both ends included
  uniform,
  q_uniform,
  log_uniform,
  log_uniform_values,
  q_log_uniform,
  q_log_uniform_values,
  inv_log_uniform,
  inv_log_uniform_values,
  normal,
  q_normal,
  log_normal,
  q_log_normal,
  beta,
  q_beta,
};

/// One numeric distribution. A draw is a pure function of a coordinate in [0, 1): the inverse of
/// the cumulative distribution function, so that random and Sobol share it.
struct Distribution {
  DistributionKind kind = DistributionKind::uniform;
  double min = 0, max = 1;      ///< bounds; exponents for the log_uniform kinds without `_values`
  double mu = 0, sigma = 1;     ///< normal kinds
  double a = 1, b = 1;          ///< beta kinds
  double q = 1;                 ///< q_ kinds: results are multiples of q
  bool integer_result = false;  ///< q is an integer (or int_uniform): the value is an integer
  bool log_integer = false;     ///< int_uniform drawn log-uniformly, then rounded (Hydra/Optuna)

  // Draws of reals have 12 significant digits and never leave the bounds. `q_` kinds with bounds
  // give the multiples of q inside them, ends included (W&B's may step outside by up to q/2);
  // `q_uniform` gives each alike, in grids as in draws. min = max is refused except for integers.

  /// Checks bounds and parameters; the error names what is wrong (the caller adds the parameter).
  [[nodiscard]] Status validate() const;
  [[nodiscard]] Value draw(double unit) const;
  /// int_uniform and q_uniform have countably few values.
  [[nodiscard]] bool finite() const;
  [[nodiscard]] std::uint64_t size() const;
  [[nodiscard]] Value at(std::uint64_t index) const;
  /// For the plan: `log-uniform 1e-05 … 0.1`.
  [[nodiscard]] std::string describe() const;
  /// A likely misunderstanding, for one warning by the reader; empty when there is none.
  [[nodiscard]] std::string doubt() const;
};

}  // namespace seedbed
