#include "machine/devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "base/text.h"
#include "env/posix/files.h"

namespace seedbed {
namespace {

using Surroundings = EnvironmentVariables;

constexpr int kMostDevices = 1024;

std::optional<int> whole_number(std::string_view text) {
  int number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size()) {
    return std::nullopt;
  }
  return number;
}

const std::string* value_of(const Surroundings& surroundings, const char* name) {
  const auto found = surroundings.find(name);
  return found == surroundings.end() ? nullptr : &found->second;
}

bool is_amd(const GpuReport& report) { return report.source == "amdgpu"; }

std::string variable_for(const GpuReport& report, const Surroundings& surroundings) {
  const bool nvidia = !report.source.empty() && !is_amd(report);
  if (nvidia || value_of(surroundings, "CUDA_VISIBLE_DEVICES") != nullptr) {
    return "CUDA_VISIBLE_DEVICES";
  }
  for (const char* name : {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"}) {
    if (value_of(surroundings, name) != nullptr) return name;
  }
  return is_amd(report) ? "HIP_VISIBLE_DEVICES" : "CUDA_VISIBLE_DEVICES";
}

/// CUDA may count the fastest first, where an index says nothing about what NVML calls so.
bool counts_by_bus(const Surroundings& surroundings) {
  const std::string* order = value_of(surroundings, "CUDA_DEVICE_ORDER");
  return order == nullptr || *order == "PCI_BUS_ID";
}

Device device_of(const Gpu& gpu, std::string word) {
  return {std::move(word), gpu.uuid, gpu.parent.empty() ? gpu.index : -1,
          gpu.memory,      gpu.numa, gpu.name};
}

/// Devices by the words of a list.
class WordReader {
 public:
  WordReader(const GpuReport& report, const Surroundings& surroundings)
      : report_(report), by_bus_(counts_by_bus(surroundings)) {}

  /// Nothing when the word names no device that is there. Without a driver that tells, every
  /// index and every UUID is taken for one.
  [[nodiscard]] std::optional<Device> read(std::string_view word) const {
    const bool driver_tells = !report_.gpus.empty();
    const auto index = whole_number(word);
    if (index) {
      if (*index < 0 || *index >= kMostDevices) return std::nullopt;
      if (!driver_tells) return Device{std::string(word), "", *index, 0, -1, ""};
      for (const Gpu& gpu : report_.gpus) {
        if (gpu.index != *index || !gpu.parent.empty()) continue;
        if (by_bus_) return device_of(gpu, std::string(word));
        return Device{std::string(word), "", -1, 0, -1, ""};
      }
      return std::nullopt;
    }
    if (!word.starts_with("GPU-") && !word.starts_with("MIG-")) return std::nullopt;
    if (!driver_tells) return Device{std::string(word), std::string(word), -1, 0, -1, ""};
    std::optional<Device> found;
    for (const Gpu& gpu : report_.gpus) {  // a beginning that fits only one is enough
      if (!gpu.uuid.starts_with(word)) continue;
      if (found) return std::nullopt;
      found = device_of(gpu, std::string(word));
    }
    return found;
  }

 private:
  const GpuReport& report_;
  bool by_bus_;
};

void read_visible(const std::string& text, const WordReader& reader, DeviceSet& set) {
  set.origin = fmt::format("{}={}", set.variable, text);
  std::set<std::string> seen;
  for (const std::string_view part : split(text, ',')) {
    const std::string word(trim(part));
    if (word == "-1" || word == "NoDevFiles" || (word.empty() && set.devices.empty())) return;
    const auto device = reader.read(word);
    if (!device) {
      set.warnings.push_back(
          fmt::format("{}: `{}` names no device here; it and what follows is "
                      "left out, as a program would",
                      set.origin, word));
      return;
    }
    if (!seen.insert(device->id()).second) {
      set.warnings.push_back(
          fmt::format("{}: `{}` is there twice and counts once", set.origin, word));
      continue;
    }
    set.devices.push_back(*device);
  }
}

void take_all(const GpuReport& report, const Surroundings& surroundings, DeviceSet& set) {
  set.origin = report.source;
  std::set<std::string> cut_up;
  for (const Gpu& gpu : report.gpus) {
    if (!gpu.parent.empty()) cut_up.insert(gpu.parent);
  }
  for (const Gpu& gpu : report.gpus) {
    if (!gpu.problem.empty()) {
      set.warnings.push_back(fmt::format("GPU {} is left out: {}", gpu.index, gpu.problem));
      continue;
    }
    if (cut_up.contains(gpu.uuid)) continue;
    const bool by_uuid = !gpu.parent.empty() || !counts_by_bus(surroundings);
    set.devices.push_back(device_of(gpu, by_uuid ? gpu.uuid : std::to_string(gpu.index)));
  }
}

Error wrong(const std::string& by_hand, const std::string& why) {
  return Error{ErrorCode::usage,
               fmt::format("--gpus {}: {}; write a number of devices (4), a list (0,2 or 0,), or "
                           "UUIDs",
                           by_hand, why)};
}

Status take_by_hand(const std::string& by_hand, bool any_known, const WordReader& reader,
                    DeviceSet& set) {
  const auto count = whole_number(by_hand);
  if (count) {
    if (*count < 0 || *count > kMostDevices) {
      return tl::unexpected(wrong(by_hand, "no number of devices"));
    }
    const auto wanted = static_cast<std::size_t>(*count);
    if (any_known && wanted > set.devices.size()) {
      return fail(ErrorCode::usage,
                  fmt::format("--gpus {}: {} {} there ({})", by_hand, set.devices.size(),
                              set.devices.size() == 1 ? "is" : "are", set.origin));
    }
    if (any_known) {
      set.devices.resize(wanted);
    } else {
      for (int i = 0; i < *count; ++i) set.devices.push_back({std::to_string(i), "", i, 0, -1, ""});
    }
    set.origin = "--gpus " + by_hand;
    return {};
  }
  std::vector<Device> chosen;
  for (const std::string_view part : split(by_hand, ',')) {
    const std::string word(trim(part));
    if (word.empty() && !chosen.empty()) continue;  // `0,`
    const auto device = reader.read(word);
    if (!device) return tl::unexpected(wrong(by_hand, fmt::format("`{}` is no device here", word)));
    const auto same = [&](const Device& one) { return one.id() == device->id(); };
    if (std::any_of(chosen.begin(), chosen.end(), same)) {
      return tl::unexpected(wrong(by_hand, fmt::format("`{}` is there twice", word)));
    }
    if (any_known && std::none_of(set.devices.begin(), set.devices.end(), same)) {
      return tl::unexpected(
          wrong(by_hand, fmt::format("`{}` is not among the visible ones ({})", word, set.origin)));
    }
    chosen.push_back(*device);
  }
  set.devices = std::move(chosen);
  set.origin = "--gpus " + by_hand;
  return {};
}

// Its environment says which trial it is of. Of another user's we cannot read that; his seedbed
// holds the device's lock in that case.
bool is_of_seedbed(std::int64_t pid) {
  const std::string folder = "/proc/" + std::to_string(pid);
  const auto name = read_file(folder + "/comm", 4096);
  if (name && trim(*name) == "nvidia-cuda-mps") return true;  // comm is cut at 15
  const auto environment = read_file(folder + "/environ", 4 << 20);
  if (!environment) return false;
  const std::string_view text = *environment;
  return text.starts_with("SEEDBED_TOKEN=") ||
         text.find(std::string_view("\0SEEDBED_TOKEN=", 15)) != std::string_view::npos;
}

}  // namespace

std::set<std::string> busy_devices(const GpuReport& report, const std::vector<Device>& devices) {
  std::set<std::string> busy;
  if (report.source.empty() && report.problem.empty()) return busy;  // no driver: named by hand
  for (const Device& device : devices) {
    if (device.uuid.empty()) continue;
    const auto gpu = std::find_if(report.gpus.begin(), report.gpus.end(),
                                  [&](const Gpu& one) { return one.uuid == device.uuid; });
    if (gpu == report.gpus.end() || !gpu->problem.empty()) {
      busy.insert(device.id());
      continue;
    }
    if (!gpu->processes) continue;
    const bool others = std::any_of(gpu->processes->begin(), gpu->processes->end(),
                                    [](const GpuProcess& one) { return !is_of_seedbed(one.pid); });
    if (others) busy.insert(device.id());
  }
  return busy;
}

const Device* DeviceSet::find(const std::string& id) const {
  const auto found = std::find_if(devices.begin(), devices.end(),
                                  [&](const Device& device) { return device.id() == id; });
  return found == devices.end() ? nullptr : &*found;
}

Result<DeviceSet> choose_devices(const GpuReport& report, const Surroundings& surroundings,
                                 const std::string& by_hand) {
  DeviceSet set;
  set.variable = variable_for(report, surroundings);
  if (!report.problem.empty()) set.warnings.push_back(report.problem);
  const WordReader reader(report, surroundings);
  const std::string* visible = value_of(surroundings, set.variable.c_str());
  if (visible != nullptr) {
    read_visible(*visible, reader, set);
  } else {
    take_all(report, surroundings, set);
  }
  if (by_hand.empty() || by_hand == "all") return set;
  const bool any_known = visible != nullptr || !report.gpus.empty();
  if (Status taken = take_by_hand(by_hand, any_known, reader, set); !taken) return propagate(taken);
  return set;
}

Surroundings device_variables(const DeviceSet& set, const std::vector<DeviceShare>& shares,
                              const Surroundings& surroundings) {
  Surroundings variables;
  std::vector<std::string> words;
  for (const DeviceShare& share : shares) {
    const Device* device = set.find(share.device);
    words.push_back(device == nullptr ? share.device : device->word);
  }
  variables[set.variable] = join(words, ",");
  const bool cuda = set.variable == "CUDA_VISIBLE_DEVICES";
  if (cuda && value_of(surroundings, "CUDA_DEVICE_ORDER") == nullptr) {
    variables["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID";
  }
  return variables;
}

std::string device_text(const DeviceSet& set, const std::vector<DeviceShare>& shares,
                        DeviceForm form) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const Device* device = set.find(shares[i].device);
    if (form == DeviceForm::local) {
      words.push_back(std::to_string(i));
    } else if (device == nullptr) {
      words.push_back(shares[i].device);
    } else if (form == DeviceForm::uuid) {
      words.push_back(device->id());
    } else {
      words.push_back(device->index >= 0 ? std::to_string(device->index) : device->word);
    }
  }
  return join(words, ",");
}

}  // namespace seedbed
