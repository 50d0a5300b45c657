#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace seedbed {

/// Oddities for people: each is kept once, and there are never many.
class Notes {
 public:
  void add(std::string text) {
    if (std::find(told_.begin(), told_.end(), text) != told_.end()) return;
    if (told_.size() >= kMost) return;
    told_.push_back(text);
    if (told_.size() == kMost) text += " (no more notes of this file)";
    fresh_.push_back(std::move(text));
  }

  [[nodiscard]] std::vector<std::string> take() { return std::exchange(fresh_, {}); }

 private:
  static constexpr std::size_t kMost = 20;
  std::vector<std::string> told_, fresh_;
};

}  // namespace seedbed
