#include "base/random.h"

#include <bit>
#include <cmath>
#include <numbers>

#include "base/check.h"

namespace seedbed {

std::uint64_t mix(std::uint64_t key, std::uint64_t value) {
  std::uint64_t z = key + (value + 1) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

std::uint64_t hash_text(std::string_view text, std::uint64_t key) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  }
  return mix(key, hash);
}

std::uint64_t Random::next() { return mix(key_, counter_++); }

double Random::uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

std::uint64_t Random::below(std::uint64_t bound) {
  SEEDBED_CHECK(bound > 0);
  // Rejects the incomplete last block, so that every value is equally likely.
  const std::uint64_t rejected = (0 - bound) % bound;
  std::uint64_t draw = next();
  while (draw < rejected) draw = next();
  return draw % bound;
}

double Random::normal() {
  // Box and Muller, "A note on the generation of random normal deviates", 1958.
  const double radius = std::sqrt(-2.0 * std::log1p(-uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

KeyedPermutation::KeyedPermutation(std::uint64_t size, std::uint64_t key)
    : size_(size), key_(key), half_bits_(1) {
  SEEDBED_CHECK(size >= 1);
  while (half_bits_ < 32 && ((size - 1) >> (2 * half_bits_)) != 0) ++half_bits_;
}

std::uint64_t KeyedPermutation::operator()(std::uint64_t index) const {
  SEEDBED_CHECK(index < size_);
  constexpr int kRounds = 6;
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  // The network permutes at most four times as many numbers as there are; those outside are sent
  // round again, which keeps it a bijection of [0, size).
  do {
    std::uint64_t left = index >> half_bits_;
    std::uint64_t right = index & mask;
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      const std::uint64_t next_right = left ^ (mix(mix(key_, round), right) & mask);
      left = right;
      right = next_right;
    }
    index = (left << half_bits_) | right;
  } while (index >= size_);
  return index;
}

}  // namespace seedbed
