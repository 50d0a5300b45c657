#include "study/special_functions.h"

#include <math.h>  // lgamma_r: std::lgamma writes a global

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

namespace seedbed {
namespace {

// Lower half of the normal quantile, p <= 0.5, before refinement.
double acklam(double p) {
  constexpr double kA[] = {-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                           1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
  constexpr double kB[] = {-5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02,
                           6.680131188771972e+01, -1.328068155288572e+01};
  constexpr double kC[] = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                           -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
  constexpr double kD[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                           3.754408661907416e+00};
  constexpr double kTail = 0.02425;
  if (p < kTail) {
    const double q = std::sqrt(-2 * std::log(p));
    return (((((kC[0] * q + kC[1]) * q + kC[2]) * q + kC[3]) * q + kC[4]) * q + kC[5]) /
           ((((kD[0] * q + kD[1]) * q + kD[2]) * q + kD[3]) * q + 1);
  }
  const double q = p - 0.5;
  const double r = q * q;
  return (((((kA[0] * r + kA[1]) * r + kA[2]) * r + kA[3]) * r + kA[4]) * r + kA[5]) * q /
         (((((kB[0] * r + kB[1]) * r + kB[2]) * r + kB[3]) * r + kB[4]) * r + 1);
}

double log_gamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  constexpr double kEnough = 1e-15;
  constexpr int kMaxTerms = 100000;
  const auto guarded = [](double value) { return std::fabs(value) < kTiny ? kTiny : value; };
  double c = 1;
  double d = 1 / guarded(1 - (a + b) * x / (a + 1));
  double fraction = d;
  for (int m = 1; m <= kMaxTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / guarded(1 + even * d);
    c = guarded(1 + even / c);
    fraction *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / guarded(1 + odd * d);
    c = guarded(1 + odd / c);
    const double step = d * c;
    fraction *= step;
    if (std::fabs(step - 1) < kEnough) break;
  }
  return fraction;
}

}  // namespace

double normal_quantile(double p) {
  const bool upper = p > 0.5;
  const double tail = upper ? 1 - p : p;
  double x = acklam(tail);
  const double miss = 0.5 * std::erfc(-x / std::numbers::sqrt2) - tail;
  const double step = miss * std::sqrt(2 * std::numbers::pi) * std::exp(x * x / 2);
  x -= step / (1 + x * step / 2);
  return upper ? -x : x;
}

double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * std::log(x) +
                                b * std::log1p(-x));
  // The fraction converges fast on the left of the mean; the other side is its mirror image.
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double beta_quantile(double p, double a, double b) {
  if (p <= 0) return 0;
  if (p >= 1) return 1;
  auto low = std::bit_cast<std::uint64_t>(0.0);
  auto high = std::bit_cast<std::uint64_t>(1.0);
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (incomplete_beta(a, b, std::bit_cast<double>(middle)) < p) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return std::bit_cast<double>(high);
}

}  // namespace seedbed
