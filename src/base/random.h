#pragma once

#include <cstdint>
#include <string_view>

namespace seedbed {

/// A well mixed 64-bit value of its two arguments (SplitMix64's finaliser, Steele, Lea and Flood,
/// "Fast splittable pseudorandom number generators", 2014). Same on every machine.
[[nodiscard]] std::uint64_t mix(std::uint64_t key, std::uint64_t value);

/// 64-bit hash of text, stable across machines and versions (FNV-1a followed by `mix`).
[[nodiscard]] std::uint64_t hash_text(std::string_view text, std::uint64_t key = 0);

/// Counter-based generator: draw i of stream (key, stream) needs no state and no history.
class Random {
 public:
  Random(std::uint64_t key, std::uint64_t stream) : key_(mix(key, stream)) {}

  [[nodiscard]] std::uint64_t next();                      ///< uniform 64 bits
  [[nodiscard]] double uniform();                          ///< in [0, 1), 53 bits
  [[nodiscard]] std::uint64_t below(std::uint64_t bound);  ///< uniform in [0, bound), unbiased
  [[nodiscard]] double normal();                           ///< standard normal

 private:
  std::uint64_t key_;
  std::uint64_t counter_ = 0;
};

/// A bijection of [0, size) chosen by a key, evaluated point by point in O(1) memory: a Feistel
/// network on the next even power of two with cycle walking. size >= 1.
class KeyedPermutation {
 public:
  KeyedPermutation(std::uint64_t size, std::uint64_t key);

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] std::uint64_t operator()(std::uint64_t index) const;

 private:
  std::uint64_t size_;
  std::uint64_t key_;
  int half_bits_;
};

}  // namespace seedbed
