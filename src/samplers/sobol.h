#pragma once

#include <cstddef>
#include <cstdint>

namespace seedbed {

/// Dimensions for which direction numbers are at hand.
inline constexpr std::size_t kSobolDimensions = 64;

/// Point `index` of the plain Sobol sequence in one dimension, as a 32-bit fraction. The first 2^m
/// points of any dimension lie one in each interval of length 2^-m.
/// Directions: S. Joe and F. Y. Kuo, "Constructing Sobol sequences with better two-dimensional
/// projections", 2008 (their table new-joe-kuo-6).
[[nodiscard]] std::uint32_t sobol_bits(std::size_t dimension, std::uint32_t index);

/// The same, scrambled by nested uniform permutations of the binary digits (A. B. Owen, "Randomly
/// permuted (t,m,s)-nets and (t,s)-sequences", 1995), chosen by the seed; in [0, 1), 53 bits. Keeps
/// what makes the sequence even, and each point alone is uniform.
[[nodiscard]] double scrambled_sobol(std::size_t dimension, std::uint32_t index,
                                     std::uint64_t seed);

}  // namespace seedbed
