#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "env/posix/study_lock.h"
#include "store/store.h"
#include "study/study_spec.h"

namespace seedbed {

/// A study that this process holds: locked, its record open and folded into an engine.
struct HeldStudy {
  std::string dir;
  StudyLock lock;
  std::unique_ptr<Store> store;
  std::vector<std::string> notes;  ///< what was repaired, a dead holder that was replaced
  std::vector<Entry> entries;      ///< consumed by `fold`
  std::string metric;              ///< whose points `fold` loads; empty: none

  /// Applies the loaded records to an engine and lets go of them, then the points of `metric`,
  /// which may be many more than fit in memory at once.
  [[nodiscard]] Status fold(Engine& engine);
  /// The latest space among the loaded records.
  [[nodiscard]] const SpaceSet* latest_space() const;
  [[nodiscard]] std::uint64_t runs() const;
  /// How the attempt that began last was run (`AttemptStarted::details_json`); empty: none.
  [[nodiscard]] std::string latest_details() const;
};

struct HoldOptions {
  std::string command_line;
  bool create = false;
  bool take_over = false;
  std::string metric;  ///< whose points are loaded
  bool mend = true;    ///< a damaged record is mended; false: it is an error
  Timestamp now;
};

/// Locks and opens a study. Errors: no such study, in use, damaged, no permission.
[[nodiscard]] Result<HeldStudy> hold_study(const std::string& dir, const HoldOptions& options);

/// The engine's fixed parts from what the user asked for.
[[nodiscard]] Result<EngineConfig> engine_config(const StudySpec& spec);
[[nodiscard]] Result<std::vector<std::unique_ptr<Pruner>>> make_pruners(const StudySpec& spec);

/// The record of the present space, when it is not the one the study has already.
[[nodiscard]] std::optional<SpaceSet> changed_space(const StudySpec& spec, const SpaceSet* latest);

/// Refuses another command template under the same name, showing both (contract, section 1).
[[nodiscard]] Status check_same_command(const StudySpec& spec, const SpaceSet* latest,
                                        const std::string& name, bool new_command);

}  // namespace seedbed
