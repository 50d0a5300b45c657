#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "machine/gpus.h"
#include "resources/resources.h"

// Which GPUs a study may hand out: what the driver tells, within what the surroundings allow.

namespace seedbed {

using EnvironmentVariables = std::map<std::string, std::string, std::less<>>;

struct DeviceSet {
  std::vector<Device> devices;
  /// The variable that shows devices to a program: CUDA_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES or
  /// ROCR_VISIBLE_DEVICES.
  std::string variable = "CUDA_VISIBLE_DEVICES";
  std::string origin;                 ///< one line: where they come from
  std::vector<std::string> warnings;  ///< told once at the start

  /// The device of that id; null: not in the set.
  [[nodiscard]] const Device* find(const std::string& id) const;
};

/// The set to hand out.
///
/// `by_hand` (`--gpus`): empty or `all`: every one that is visible; a number: the first so many; a
/// list with a comma, or UUIDs: those. Devices named by hand need no driver that confirms them.
///
/// A visible-device variable in the surroundings is the set, its words unchanged (indices, UUIDs,
/// MIG slices). As CUDA reads it: an empty one, -1 and NoDevFiles mean none; a word that names
/// nothing ends the list. What is doubled or names nothing is told. Without such a variable the set
/// is what the driver tells: cards by index, and the slices in place of a card that is cut up.
///
/// Errors (`usage`): `--gpus` that is no such list, names what is not visible, or asks for more
/// than is there.
[[nodiscard]] Result<DeviceSet> choose_devices(const GpuReport& report,
                                               const EnvironmentVariables& surroundings,
                                               const std::string& by_hand);

/// Ids of the devices that nothing new should go to: a program computes there that no seedbed has
/// started (one of another user, too), or its driver does not answer. A process that cannot be seen
/// from here, in another container say, is somebody's. The CUDA MPS server is nobody's.
[[nodiscard]] std::set<std::string> busy_devices(const GpuReport& report,
                                                 const std::vector<Device>& devices);

/// What a trial with these shares finds in its environment: the visible-device variable (empty
/// without a share) and the order in which CUDA counts, unless the user has set that.
[[nodiscard]] EnvironmentVariables device_variables(const DeviceSet& set,
                                                    const std::vector<DeviceShare>& shares,
                                                    const EnvironmentVariables& surroundings);

/// `0,1`: one of the three forms in which a command may name its devices.
enum class DeviceForm {
  physical,  ///< as the driver counts; its word where that is unknown
  uuid,      ///< its word where the UUID is unknown
  local,     ///< 0…k-1: as the program itself counts them
};
[[nodiscard]] std::string device_text(const DeviceSet& set, const std::vector<DeviceShare>& shares,
                                      DeviceForm form);

}  // namespace seedbed
