#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

// The GPUs of this machine, as their drivers tell of them. A driver may answer after a minute or
// never, so the question is asked in a process of its own, with a time limit.

namespace seedbed {

struct GpuProcess {
  std::int64_t pid = 0;
  std::optional<std::uint64_t> memory;  ///< bytes on the device

  bool operator==(const GpuProcess&) const = default;
};

/// What a driver does not tell is blank.
struct Gpu {
  int index = -1;  ///< in PCI order, as nvidia-smi counts
  std::string uuid, name;
  std::string bus;           ///< `00000000:65:00.0`
  std::string parent;        ///< of a MIG slice: the UUID of its card
  std::uint64_t memory = 0;  ///< bytes
  std::optional<std::uint64_t> memory_used;
  std::optional<int> busy;  ///< percent of the time in which it computed
  int numa = -1;
  std::optional<std::vector<GpuProcess>> processes;
  std::string problem;  ///< why it cannot be used: `GPU is lost`

  bool operator==(const Gpu&) const = default;
};

struct GpuReport {
  std::string source;     ///< `NVML, driver 535.54`, `amdgpu`; empty: no driver here
  std::vector<Gpu> gpus;  ///< in PCI order; slices after their card
  std::string problem;    ///< why the driver told nothing; empty when it did, or there is none

  bool operator==(const GpuReport&) const = default;
};

/// Asks the drivers: NVML where its library can be loaded (`library`, by the loader's rules), else
/// AMD's by /sys below `root`. May hang as long as a driver does.
[[nodiscard]] GpuReport read_gpus(const std::string& root = "",
                                  const std::string& library = "libnvidia-ml.so.1");

/// The same in a process of its own: this program with the word kGpuReportCommand, which prints
/// `gpu_report_json(read_gpus())`. Nothing within `limit` is a report with a problem. `given_up`:
/// see CommandOptions.
[[nodiscard]] GpuReport ask_gpus(Milliseconds limit, const std::atomic<bool>* given_up = nullptr);
inline constexpr const char* kGpuReportCommand = "gpu-report";

[[nodiscard]] std::string gpu_report_json(const GpuReport& report);
[[nodiscard]] Result<GpuReport> parse_gpu_report(const std::string& text);

}  // namespace seedbed
