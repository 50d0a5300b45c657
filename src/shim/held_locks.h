#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace seedbed::shim {

/// Descriptors whose being open says that a core or a device is lent.
class HeldLocks {
 public:
  HeldLocks() = default;
  explicit HeldLocks(std::vector<int> descriptors) : descriptors_(std::move(descriptors)) {}
  HeldLocks(HeldLocks&& other) noexcept
      : descriptors_(std::exchange(other.descriptors_, std::vector<int>())) {}
  HeldLocks& operator=(HeldLocks&& other) noexcept {
    std::swap(descriptors_, other.descriptors_);
    return *this;
  }
  HeldLocks(const HeldLocks&) = delete;
  HeldLocks& operator=(const HeldLocks&) = delete;
  ~HeldLocks() { release(); }

  void add(int descriptor) { descriptors_.push_back(descriptor); }

  /// The first `count` of them, or as many as there are.
  [[nodiscard]] HeldLocks take(std::size_t count) {
    const auto end =
        descriptors_.begin() + static_cast<std::ptrdiff_t>(std::min(count, descriptors_.size()));
    HeldLocks taken(std::vector<int>(descriptors_.begin(), end));
    descriptors_.erase(descriptors_.begin(), end);
    return taken;
  }

  void release() {
    for (const int descriptor : std::exchange(descriptors_, std::vector<int>())) {
      ::close(descriptor);
    }
  }

 private:
  std::vector<int> descriptors_;
};

}  // namespace seedbed::shim
