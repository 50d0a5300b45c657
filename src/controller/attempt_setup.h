#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/log.h"
#include "controller/code_version.h"
#include "controller/environment.h"
#include "controller/ports.h"
#include "controller/ranks.h"
#include "machine/devices.h"
#include "study/study_spec.h"

namespace seedbed {

/// What the attempts of one run have in common.
struct SetupContext {
  std::string study_dir;    ///< absolute
  std::string working_dir;  ///< where the user stood (or the snapshot), absolute
  Variables surroundings;
  Milliseconds grace{10'000};
  std::string host;
  CodeVersion code;
  bool pins = false;  ///< trials have cores of their own; one without any runs beside others'
  std::optional<DeviceSet> devices;  ///< empty: devices are not managed
  MpiFindings mpi;                   ///< how ranks are started
  std::string template_text;         ///< content of `template:`, read at the start
  bool write_files = true;           ///< false for `plan`: nothing is made on disk
};

/// The real AttemptSetup: trials/FOLDER with params.json, the W&B parameter file and the filled
/// template; the environment of section 4 of the contract; a free port.
[[nodiscard]] std::unique_ptr<AttemptSetup> make_attempt_setup(const StudySpec& spec,
                                                               SetupContext context);

/// `{"values": {...}, "text": {...}}` of a point: typed values, and the text the program would get
/// on a command line. Numbers keep their spelling where JSON allows it.
[[nodiscard]] std::string params_json(const Point& point);

/// The file W&B's client reads its sweep parameters from.
[[nodiscard]] std::string wandb_params_yaml(const Point& point);

/// Checks before anything starts that the program of the first trial can be found and run (case
/// D16): argv[0] along PATH, and for an interpreter the script that follows it. The error says
/// exactly what is wrong.
[[nodiscard]] Status check_program(const std::vector<std::string>& argv,
                                   const std::string& working_dir, const Variables& variables);

}  // namespace seedbed
