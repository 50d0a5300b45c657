#pragma once

#include <cstdint>
#include <string>

namespace seedbed::shim {

/// Keeps an attempt's log under its limit while the program writes it: when it grows over, its
/// middle is given back to the disk (a hole, which reads as zeros), so that head and tail stay and
/// no offset changes. Where the file system cannot do that, the log is left alone.
class LogKeeper {
 public:
  /// `log`: open for writing; `limit` in bytes, 0: none.
  LogKeeper(int log, std::uint64_t limit) : log_(log), limit_(limit) {}

  /// Looks at the log; a line for people the first time its middle had to go (or could not).
  [[nodiscard]] std::string look();

  [[nodiscard]] std::uint64_t size() const;  ///< bytes ever written
  [[nodiscard]] bool active() const { return limit_ > 0 && !given_up_; }

 private:
  int log_;
  std::uint64_t limit_;
  std::uint64_t hole_end_ = 0;
  bool given_up_ = false;
};

}  // namespace seedbed::shim
