#pragma once

#include <string>

#include "machine/gpus.h"

namespace seedbed {

/// Asks NVML, loaded at run time. An empty report without a problem where there is no such library;
/// a report with one where it is and does not answer. Each device is asked by itself: one that fell
/// off the bus carries its problem and leaves the others alone.
[[nodiscard]] GpuReport read_nvml(const std::string& library);

}  // namespace seedbed
