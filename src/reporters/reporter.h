#pragma once

#include <string>
#include <vector>

#include "engine/state.h"

namespace seedbed {

/// What the user sees of a running study. Gets every committed entry after it was applied; all it
/// shows comes from the state. The same reporters serve the controller and a view in another
/// process. Writing may fail (a closed terminal): then it stays silent; it never stops a run.
class Reporter {
 public:
  virtual ~Reporter() = default;
  virtual void committed(const std::vector<Entry>& entries, const StudyState& state) = 0;
  virtual void tick(Timestamp now, const StudyState& state) = 0;  ///< about five times a second
  virtual void trouble(const std::string& text) = 0;  ///< not a record: the disk is full, say
  virtual void ended(const StudyState& state) = 0;    ///< last call: the closing lines
};

}  // namespace seedbed
