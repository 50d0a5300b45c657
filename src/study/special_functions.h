#pragma once

namespace seedbed {

/// Quantile of the standard normal distribution for 0 < p < 1. Relative error below 1e-14.
/// P. J. Acklam's rational approximation (2003, relative error 1.15e-9), then one step of Halley's
/// method on erfc.
[[nodiscard]] double normal_quantile(double p);

/// Regularised incomplete beta function I_x(a, b) for 0 <= x <= 1, a, b > 0, by its continued
/// fraction (NIST Digital Library of Mathematical Functions, 8.17.22) in the modified Lentz form.
[[nodiscard]] double incomplete_beta(double a, double b, double x);

/// The x with I_x(a, b) = p, 0 <= p <= 1: bisection over the doubles themselves, so that it cannot
/// miss and also finds quantiles near 1e-300.
[[nodiscard]] double beta_quantile(double p, double a, double b);

}  // namespace seedbed
