#include "samplers/sobol.h"

#include <array>

#include "base/check.h"
#include "base/random.h"

namespace seedbed {
namespace {

constexpr int kBits = 32;

// One line of the published table: degree of the primitive polynomial, its inner coefficients as a
// number, the first direction integers. Dimension 0 needs none.
struct Line {
  int degree;
  std::uint32_t coefficients;
  std::uint32_t m[9];
};

constexpr Line kLines[kSobolDimensions - 1] = {
    {1, 0, {1}},
    {2, 1, {1, 3}},
    {3, 1, {1, 3, 1}},
    {3, 2, {1, 1, 1}},
    {4, 1, {1, 1, 3, 3}},
    {4, 4, {1, 3, 5, 13}},
    {5, 2, {1, 1, 5, 5, 17}},
    {5, 4, {1, 1, 5, 5, 5}},
    {5, 7, {1, 1, 7, 11, 19}},
    {5, 11, {1, 1, 5, 1, 1}},
    {5, 13, {1, 1, 1, 3, 11}},
    {5, 14, {1, 3, 5, 5, 31}},
    {6, 1, {1, 3, 3, 9, 7, 49}},
    {6, 13, {1, 1, 1, 15, 21, 21}},
    {6, 16, {1, 3, 1, 13, 27, 49}},
    {6, 19, {1, 1, 1, 15, 7, 5}},
    {6, 22, {1, 3, 1, 15, 13, 25}},
    {6, 25, {1, 1, 5, 5, 19, 61}},
    {7, 1, {1, 3, 7, 11, 23, 15, 103}},
    {7, 4, {1, 3, 7, 13, 13, 15, 69}},
    {7, 7, {1, 1, 3, 13, 7, 35, 63}},
    {7, 8, {1, 3, 5, 9, 1, 25, 53}},
    {7, 14, {1, 3, 1, 13, 9, 35, 107}},
    {7, 19, {1, 3, 1, 5, 27, 61, 31}},
    {7, 21, {1, 1, 5, 11, 19, 41, 61}},
    {7, 28, {1, 3, 5, 3, 3, 13, 69}},
    {7, 31, {1, 1, 7, 13, 1, 19, 1}},
    {7, 32, {1, 3, 7, 5, 13, 19, 59}},
    {7, 37, {1, 1, 3, 9, 25, 29, 41}},
    {7, 41, {1, 3, 5, 13, 23, 1, 55}},
    {7, 42, {1, 3, 7, 3, 13, 59, 17}},
    {7, 50, {1, 3, 1, 3, 5, 53, 69}},
    {7, 55, {1, 1, 5, 5, 23, 33, 13}},
    {7, 56, {1, 1, 7, 7, 1, 61, 123}},
    {7, 59, {1, 1, 7, 9, 13, 61, 49}},
    {7, 62, {1, 3, 3, 5, 3, 55, 33}},
    {8, 14, {1, 3, 1, 15, 31, 13, 49, 245}},
    {8, 21, {1, 3, 5, 15, 31, 59, 63, 97}},
    {8, 22, {1, 3, 1, 11, 11, 11, 77, 249}},
    {8, 38, {1, 3, 1, 11, 27, 43, 71, 9}},
    {8, 47, {1, 1, 7, 15, 21, 11, 81, 45}},
    {8, 49, {1, 3, 7, 3, 25, 31, 65, 79}},
    {8, 50, {1, 3, 1, 1, 19, 11, 3, 205}},
    {8, 52, {1, 1, 5, 9, 19, 21, 29, 157}},
    {8, 56, {1, 3, 7, 11, 1, 33, 89, 185}},
    {8, 67, {1, 3, 3, 3, 15, 9, 79, 71}},
    {8, 70, {1, 3, 7, 11, 15, 39, 119, 27}},
    {8, 84, {1, 1, 3, 1, 11, 31, 97, 225}},
    {8, 97, {1, 1, 1, 3, 23, 43, 57, 177}},
    {8, 103, {1, 3, 7, 7, 17, 17, 37, 71}},
    {8, 115, {1, 3, 1, 5, 27, 63, 123, 213}},
    {8, 122, {1, 1, 3, 5, 11, 43, 53, 133}},
    {9, 8, {1, 3, 5, 5, 29, 17, 47, 173, 479}},
    {9, 13, {1, 3, 3, 11, 3, 1, 109, 9, 69}},
    {9, 16, {1, 1, 1, 5, 17, 39, 23, 5, 343}},
    {9, 22, {1, 3, 1, 5, 25, 15, 31, 103, 499}},
    {9, 25, {1, 1, 1, 11, 11, 17, 63, 105, 183}},
    {9, 44, {1, 1, 5, 11, 9, 29, 97, 231, 363}},
    {9, 47, {1, 1, 5, 15, 19, 45, 41, 7, 383}},
    {9, 52, {1, 3, 7, 7, 31, 19, 83, 137, 221}},
    {9, 55, {1, 1, 1, 3, 23, 15, 111, 223, 83}},
    {9, 59, {1, 1, 5, 13, 31, 15, 55, 25, 161}},
    {9, 62, {1, 1, 3, 13, 25, 47, 39, 87, 257}},
};

using Directions = std::array<std::array<std::uint32_t, kBits>, kSobolDimensions>;

Directions make_directions() {
  Directions v{};
  for (int k = 0; k < kBits; ++k) v[0][static_cast<std::size_t>(k)] = 1U << (kBits - 1 - k);
  for (std::size_t d = 1; d < kSobolDimensions; ++d) {
    const Line& line = kLines[d - 1];
    for (int k = 0; k < kBits; ++k) {
      const auto at = [&](int back) -> std::uint32_t {
        return v[d][static_cast<std::size_t>(k - back)];
      };
      std::uint32_t direction = 0;
      if (k < line.degree) {
        direction = line.m[k] << (kBits - 1 - k);
      } else {
        direction = at(line.degree) ^ (at(line.degree) >> line.degree);
        for (int j = 1; j < line.degree; ++j) {
          if (((line.coefficients >> (line.degree - 1 - j)) & 1U) != 0) direction ^= at(j);
        }
      }
      v[d][static_cast<std::size_t>(k)] = direction;
    }
  }
  return v;
}

}  // namespace

std::uint32_t sobol_bits(std::size_t dimension, std::uint32_t index) {
  SEEDBED_CHECK(dimension < kSobolDimensions);
  static const Directions directions = make_directions();
  std::uint32_t bits = 0;
  for (std::size_t k = 0; index != 0; ++k, index >>= 1) {
    if ((index & 1U) != 0) bits ^= directions[dimension][k];
  }
  return bits;
}

double scrambled_sobol(std::size_t dimension, std::uint32_t index, std::uint64_t seed) {
  const std::uint32_t bits = sobol_bits(dimension, index);
  const std::uint64_t key = mix(seed, dimension);
  // Each digit is flipped or not by a coin that belongs to the digits before it: node 1 is the
  // root of the binary tree, 2n and 2n+1 the children of n.
  std::uint64_t scrambled = 0;
  for (int level = 0; level < kBits; ++level) {
    const int shift = kBits - level;
    const std::uint64_t node = (std::uint64_t{1} << level) | (std::uint64_t{bits} >> shift);
    const std::uint64_t digit = (bits >> (shift - 1)) & 1U;
    scrambled = scrambled << 1 | (digit ^ (mix(key, node) & 1U));
  }
  // Below the 32nd digit every point has its own cell: plain random digits.
  const std::uint64_t low = mix(key, (std::uint64_t{1} << kBits) | bits) >> (64 - 21);
  return static_cast<double>(scrambled << 21 | low) * 0x1.0p-53;
}

}  // namespace seedbed
