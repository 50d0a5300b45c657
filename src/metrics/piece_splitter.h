#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "metrics/state_text.h"

namespace seedbed {

/// Longest piece that is matched as a whole, in bytes.
inline constexpr std::size_t kLongestPiece = 64 * 1024;

/// Cuts a stream of bytes into pieces at line feeds (and carriage returns, if asked), in memory of
/// at most two pieces. The pieces do not depend on how the stream is cut. Empty pieces are left
/// out.
///
/// A piece that would be longer than kLongestPiece is given in parts: each the first kLongestPiece
/// bytes, shortened to the last blank among its last 4096 bytes if there is one.
class PieceSplitter {
 public:
  explicit PieceSplitter(bool at_carriage_return) : at_carriage_return_(at_carriage_return) {}

  /// `take(piece, whole)`: `whole` is false for the parts of a piece that was too long.
  template <typename Take>
  void feed(std::string_view bytes, Take&& take) {
    // The next line feed and carriage return are remembered: looking for each from every piece
    // would be quadratic where one of the two is rare.
    const char* at = bytes.data();
    const char* const end = at + bytes.size();
    const char* line_feed = find(at, end, '\n');
    const char* carriage_return = at_carriage_return_ ? find(at, end, '\r') : end;
    while (at != end) {
      const char* stop = std::min(line_feed, carriage_return);
      const std::string_view head(at, static_cast<std::size_t>(stop - at));
      if (carry_.empty() && stop != end && head.size() <= kLongestPiece) {
        if (!head.empty() || in_parts_) take(head, !in_parts_);
        in_parts_ = false;
      } else {
        append(head, stop != end, take);
      }
      if (stop == end) return;
      at = stop + 1;
      if (stop == line_feed) {
        line_feed = find(at, end, '\n');
      } else {
        carriage_return = find(at, end, '\r');
      }
    }
  }

  /// What is pending is a piece now.
  template <typename Take>
  void finish(Take&& take) {
    if (!carry_.empty() || in_parts_) take(std::string_view(carry_), !in_parts_);
    clear();
  }

  void clear() {
    carry_.clear();
    in_parts_ = false;
  }

  void save(StateWriter& state) const {
    state.text(carry_);
    state.flag(in_parts_);
  }
  void load(StateReader& state) {
    carry_ = state.text();
    in_parts_ = state.flag();
  }

 private:
  [[nodiscard]] static const char* find(const char* at, const char* end, char c) {
    const void* found =
        at == end ? nullptr : std::memchr(at, c, static_cast<std::size_t>(end - at));
    return found ? static_cast<const char*>(found) : end;
  }

  template <typename Take>
  void append(std::string_view head, bool ended, Take& take) {
    while (carry_.size() + head.size() > kLongestPiece) {
      const std::size_t room = kLongestPiece - carry_.size();
      carry_.append(head.substr(0, room));
      head.remove_prefix(room);
      const std::size_t blank = carry_.find_last_of(" \t");
      const bool near = blank != std::string::npos && blank + 4096 >= kLongestPiece && blank > 0;
      const std::size_t cut = near ? blank : kLongestPiece;
      take(std::string_view(carry_).substr(0, cut), false);
      carry_.erase(0, cut);
      in_parts_ = true;
    }
    carry_.append(head);
    if (!ended) return;
    if (!carry_.empty() || in_parts_) take(std::string_view(carry_), !in_parts_);
    clear();
  }

  bool at_carriage_return_;
  bool in_parts_ = false;
  std::string carry_;
};

}  // namespace seedbed
