#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/environment.h"
#include "machine/devices.h"
#include "machine/machine.h"
#include "study/study_spec.h"

namespace seedbed {

/// What a run has to lend, and what each of its trials asks for.
struct StudyLending {
  Machine machine;
  /// The GPUs, when the study asks for them; empty: seedbed does not manage devices here, and
  /// trials see what the user sees.
  std::optional<DeviceSet> devices;
  std::optional<GpuReport> report;  ///< what the drivers told, when they were asked
  Request request;
  Inventory inventory;
  std::vector<std::string> warnings;  ///< told once at the start

  /// `2 cores`, `64 cores seen, 4 usable (quota); 4 GPUs (NVML, driver 535.54)`.
  [[nodiscard]] std::string describe() const;
};

/// Reads the machine and, if any are asked for, its GPUs (`gpus_by_hand`: `--gpus`, as
/// choose_devices reads it; devices are managed then, even if no trial gets one). Where GPUs are
/// asked for and cores are not, each trial gets its even part of them. Errors: devices that are not
/// there.
[[nodiscard]] Result<StudyLending> lend_machine(const StudySpec& spec,
                                                std::optional<std::uint32_t> slots,
                                                const std::string& gpus_by_hand,
                                                const Variables& surroundings);

/// The amounts of the spec as a request.
[[nodiscard]] Request request_of(const ResourceSpec& resources);

}  // namespace seedbed
