#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "controller/environment.h"
#include "reporters/make_reporter.h"
#include "study/study_spec.h"

namespace seedbed {

/// Everything `seedbed run` has decided before a study is touched.
struct RunRequest {
  StudySpec spec;
  std::string name;
  std::string study_dir;     ///< absolute; made if missing
  std::string command_line;  ///< of seedbed itself, for the lock and the records
  std::string working_dir;   ///< where the user stands
  Variables surroundings;
  std::optional<std::uint32_t> slots;  ///< `--slots`, over the file's
  std::string gpus;                    ///< `--gpus`, as choose_devices reads it
  Milliseconds grace{10'000};
  bool new_command = false;
  bool retry_failed = false;
  bool take_over = false;
  bool drain_on_interrupt = false;

  /// Makes the reporters when it is known what will run.
  std::function<std::vector<std::unique_ptr<Reporter>>(const ReportFacts&)> make_reporters;

  /// Called once the study is held and the first input given: the parent of a detached controller
  /// may stop waiting.
  std::function<void()> on_ready;
};

/// Runs the study to the end of this run and gives the exit code of section 2 of the contract.
/// Errors are those of the start (nothing was started) and of a record that could not be kept.
[[nodiscard]] Result<int> run_study(RunRequest request);

/// The socket on which the controller of a study listens.
[[nodiscard]] Result<std::string> control_socket_path(const std::string& study_dir);

}  // namespace seedbed
