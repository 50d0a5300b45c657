#pragma once

#include <string>
#include <vector>

#include "engine/state.h"

namespace seedbed {

/// What the user sees of a running study. Gets every committed entry after it was applied; all it
/// shows comes from the state. The same reporters serve the controller and a view in another
/// process. Writing may fail (a closed terminal): then it stays silent; it never stops a run.
///
/// A note (NoteAdded) about the study is shown as a warning, unless its kind is `info` or begins
/// with `info_`; one about a trial always as a note.
class Reporter {
 public:
  virtual ~Reporter() = default;
  virtual void committed(const std::vector<Entry>& entries, const StudyState& state) = 0;
  virtual void tick(Timestamp now, const StudyState& state) = 0;  ///< about five times a second
  virtual void ended(const StudyState& state) = 0;                ///< last call: the closing lines

  /// Something that is not a record: records cannot be written at present, say.
  virtual void trouble(const std::string& /*text*/) {}
  /// Last call instead of `ended`: the view goes, the work goes on (`q`, Ctrl-Z, `--detach`).
  virtual void left(const StudyState& /*state*/) {}
};

}  // namespace seedbed
