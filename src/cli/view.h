#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "base/time.h"

namespace seedbed {

/// A running study to look at.
struct ViewTarget {
  std::string study_dir;
  std::string name;
  pid_t controller = 0;
  bool is_our_child = false;  ///< then its exit code is ours
  Milliseconds grace{10'000};
  Timestamp asked_at;  ///< of our child: when it was started
};

/// The live view of a study whose controller is another process: reads the records, shows them,
/// passes INT and TERM on as steps of the ladder. `q`, Ctrl-Z and the view's death leave the work.
/// Returns the run's exit code, or 0 when the user left.
[[nodiscard]] Result<int> watch_study(const ViewTarget& target);

}  // namespace seedbed
