#include "machine/nvml.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

// Debian has no NVML header; these declarations follow NVIDIA's published API. Only entry points
// that have been there since the drivers of 2015 are needed; newer ones are used when they are
// there, and what a driver does not know stays blank.

namespace seedbed {
namespace {

using Code = int;
using Handle = void*;

constexpr Code kSuccess = 0;
constexpr Code kInsufficientSize = 7;
constexpr unsigned kTextSize = 96;
constexpr unsigned kMostProcesses = 4096;

struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};

struct Memory {
  unsigned long long total, free, used;
};

struct Utilization {
  unsigned gpu, memory;
};

struct ProcessInfo {  // of version 2 and 3
  unsigned pid;
  unsigned long long used_memory;  // all ones: not told
  unsigned instance, compute_instance;
};

struct LibraryCloser {
  void operator()(void* library) const { ::dlclose(library); }
};

class Nvml {
 public:
  explicit Nvml(void* library) : library_(library) {}

  GpuReport read() {
    GpuReport report;
    const auto init = find<Code()>("nvmlInit_v2");
    const auto shutdown = find<Code()>("nvmlShutdown");
    const auto count_of = find<Code(unsigned*)>("nvmlDeviceGetCount_v2");
    const auto handle_of = find<Code(unsigned, Handle*)>("nvmlDeviceGetHandleByIndex_v2");
    if (init == nullptr || shutdown == nullptr || count_of == nullptr || handle_of == nullptr) {
      report.problem = "the NVIDIA driver's library is older than seedbed can ask";
      return report;
    }
    if (const Code code = init(); code != kSuccess) {
      report.problem = "the NVIDIA driver does not answer: " + words(code);
      return report;
    }
    std::array<char, kTextSize> version{};
    const auto driver = find<Code(char*, unsigned)>("nvmlSystemGetDriverVersion");
    const bool told = driver != nullptr && driver(version.data(), kTextSize - 1) == kSuccess;
    report.source = told ? fmt::format("NVML, driver {}", version.data()) : "NVML";
    unsigned count = 0;
    if (const Code code = count_of(&count); code != kSuccess) {
      report.problem = "the NVIDIA driver does not count its devices: " + words(code);
      count = 0;
    }
    for (unsigned i = 0; i < count; ++i) {
      Gpu gpu;
      gpu.index = static_cast<int>(i);
      Handle handle = nullptr;
      if (const Code code = handle_of(i, &handle); code != kSuccess) {
        gpu.problem = words(code);
        report.gpus.push_back(std::move(gpu));
        continue;
      }
      describe(handle, gpu);
      const std::string card = gpu.uuid;
      report.gpus.push_back(std::move(gpu));
      add_slices(handle, card, static_cast<int>(i), report);
    }
    shutdown();
    return report;
  }

 private:
  template <typename Function>
  Function* find(const char* name) const {
    return reinterpret_cast<Function*>(::dlsym(library_.get(), name));
  }

  [[nodiscard]] std::string words(Code code) const {
    const auto text_of = find<const char*(Code)>("nvmlErrorString");
    const char* text = text_of == nullptr ? nullptr : text_of(code);
    return text == nullptr ? fmt::format("NVML error {}", code) : std::string(text);
  }

  [[nodiscard]] std::string text(const char* function, Handle handle) const {
    const auto ask = find<Code(Handle, char*, unsigned)>(function);
    std::array<char, kTextSize> buffer{};
    if (ask == nullptr || ask(handle, buffer.data(), kTextSize - 1) != kSuccess) return {};
    return buffer.data();
  }

  void describe(Handle handle, Gpu& gpu) const {
    gpu.uuid = text("nvmlDeviceGetUUID", handle);
    if (gpu.uuid.empty()) gpu.problem = "the driver does not tell its UUID";
    gpu.name = text("nvmlDeviceGetName", handle);
    const auto pci = find<Code(Handle, PciInfo*)>("nvmlDeviceGetPciInfo_v3");
    PciInfo place{};
    if (pci != nullptr && pci(handle, &place) == kSuccess) {
      place.bus_id[sizeof place.bus_id - 1] = '\0';
      gpu.bus = place.bus_id;
    }
    const auto memory = find<Code(Handle, Memory*)>("nvmlDeviceGetMemoryInfo");
    Memory bytes{};
    if (memory != nullptr && memory(handle, &bytes) == kSuccess) {
      gpu.memory = bytes.total;
      gpu.memory_used = bytes.used;
    }
    const auto use = find<Code(Handle, Utilization*)>("nvmlDeviceGetUtilizationRates");
    Utilization percent{};
    if (use != nullptr && use(handle, &percent) == kSuccess && percent.gpu <= 100) {
      gpu.busy = static_cast<int>(percent.gpu);
    }
    gpu.processes = processes(handle);
  }

  // Those that compute; what only draws a desktop is in nobody's way.
  [[nodiscard]] std::optional<std::vector<GpuProcess>> processes(Handle handle) const {
    for (const char* name :
         {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"}) {
      const auto ask = find<Code(Handle, unsigned*, ProcessInfo*)>(name);
      if (ask == nullptr) continue;
      std::vector<ProcessInfo> list(64);
      auto count = static_cast<unsigned>(list.size());
      Code code = ask(handle, &count, list.data());
      while (code == kInsufficientSize && list.size() < kMostProcesses) {  // more have come
        list.resize(std::max<std::size_t>(2 * list.size(), count + 8));
        count = static_cast<unsigned>(list.size());
        code = ask(handle, &count, list.data());
      }
      if (code != kSuccess) return std::nullopt;
      std::vector<GpuProcess> all;
      for (unsigned i = 0; i < count && i < list.size(); ++i) all.push_back(process_of(list[i]));
      return all;
    }
    return std::nullopt;
  }

  static GpuProcess process_of(const ProcessInfo& process) {
    GpuProcess one{process.pid, std::nullopt};
    if (process.used_memory != ~0ULL) one.memory = process.used_memory;
    return one;
  }

  void add_slices(Handle card, const std::string& uuid, int index, GpuReport& report) const {
    const auto mode = find<Code(Handle, unsigned*, unsigned*)>("nvmlDeviceGetMigMode");
    const auto most = find<Code(Handle, unsigned*)>("nvmlDeviceGetMaxMigDeviceCount");
    const auto slice_of =
        find<Code(Handle, unsigned, Handle*)>("nvmlDeviceGetMigDeviceHandleByIndex");
    unsigned now = 0;
    unsigned pending = 0;
    unsigned count = 0;
    if (mode == nullptr || most == nullptr || slice_of == nullptr) return;
    if (mode(card, &now, &pending) != kSuccess || now != 1) return;
    if (most(card, &count) != kSuccess) return;
    for (unsigned i = 0; i < count && i < 64; ++i) {
      Handle handle = nullptr;
      if (slice_of(card, i, &handle) != kSuccess) continue;  // that place is empty
      Gpu slice;
      slice.index = index;
      slice.parent = uuid;
      describe(handle, slice);
      report.gpus.push_back(std::move(slice));
    }
  }

  std::unique_ptr<void, LibraryCloser> library_;
};

}  // namespace

GpuReport read_nvml(const std::string& library) {
  void* loaded = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) return {};
  return Nvml(loaded).read();
}

}  // namespace seedbed
