#pragma once

#include <memory>
#include <optional>

#include "controller/ports.h"
#include "env/event_loop.h"
#include "machine/devices.h"

namespace seedbed {

/// The gate of this machine: locks on cores and devices, and, where devices are managed, a look at
/// the drivers every few seconds in a process of its own. A device on which a program computes that
/// no seedbed has started is others'; so is one whose driver does not answer, until it does.
[[nodiscard]] std::unique_ptr<ResourceGate> make_local_gate(EventLoop& loop, Inventory inventory,
                                                            std::optional<GpuReport> first_report);

}  // namespace seedbed
