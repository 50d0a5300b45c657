#pragma once

#include <cstdint>
#include <map>

#include "base/ids.h"

namespace seedbed {

/// Free TCP ports lent to attempts, none twice at a time (case J7).
class FreePorts {
 public:
  /// A port on which nothing listens and that no living attempt holds; 0 when there is none.
  [[nodiscard]] std::uint16_t lend(AttemptId attempt);
  void give_back(AttemptId attempt) { lent_.erase(attempt); }

 private:
  std::map<AttemptId, std::uint16_t> lent_;
};

}  // namespace seedbed
