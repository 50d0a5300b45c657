// A library with NVML's entry points and no driver: the machine that it tells of stands in the file
// $SEEDBED_FAKE_NVML, which is read anew at every call, so that a test can change it meanwhile.
//
//   driver 535.54                                       # one thing a line
//   gpu uuid=GPU-a name=Card bus=00000000:01:00.0 memory=17179869184 used=0 busy=0
//   gpu error=15                                        # fell off the bus
//   slice gpu=0 uuid=MIG-b memory=1073741824            # GPU 0 is cut up
//   process gpu=0 pid=4711 memory=1000
//   init 9                                              # nvmlInit fails with that code
//   hang                                                # nvmlInit never comes back

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

using Fields = std::map<std::string, std::string>;

struct State {
  std::string driver = "0";
  int init = 0;
  bool hangs = false;
  std::vector<Fields> gpus, slices, processes;
};

State state() {
  State state;
  const char* path = std::getenv("SEEDBED_FAKE_NVML");
  std::ifstream file(path == nullptr ? "" : path);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string what, word;
    words >> what;
    if (what == "driver") words >> state.driver;
    if (what == "init") words >> state.init;
    if (what == "hang") state.hangs = true;
    Fields fields;
    while (words >> word) {
      const std::size_t equals = word.find('=');
      if (equals != std::string::npos) fields[word.substr(0, equals)] = word.substr(equals + 1);
    }
    if (what == "gpu") state.gpus.push_back(fields);
    if (what == "slice") state.slices.push_back(fields);
    if (what == "process") state.processes.push_back(fields);
  }
  return state;
}

constexpr int kUnknown = 3;  // NVML_ERROR_NOT_SUPPORTED
constexpr int kInsufficientSize = 7;

// Handles: 1 + index of a GPU, 1000 + index of a slice.
const Fields* fields_of(const State& state, void* handle) {
  const auto number = reinterpret_cast<std::size_t>(handle);
  if (number >= 1000 && number - 1000 < state.slices.size()) return &state.slices[number - 1000];
  if (number >= 1 && number - 1 < state.gpus.size()) return &state.gpus[number - 1];
  return nullptr;
}

int text(void* handle, const char* key, char* buffer, unsigned size) {
  const State now = state();
  const Fields* fields = fields_of(now, handle);
  if (fields == nullptr || !fields->contains(key)) return kUnknown;
  std::strncpy(buffer, fields->at(key).c_str(), size - 1);
  return 0;
}

unsigned long long number(const Fields& fields, const char* key) {
  const auto found = fields.find(key);
  return found == fields.end() ? 0 : std::stoull(found->second);
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's.
extern "C" {

int nvmlInit_v2() {
  const State now = state();
  while (now.hangs) ::pause();
  return now.init;
}
int nvmlShutdown() { return 0; }

const char* nvmlErrorString(int code) {
  return code == 15 ? "GPU is lost" : code == 9 ? "Driver Not Loaded" : "Unknown Error";
}

int nvmlSystemGetDriverVersion(char* buffer, unsigned size) {
  std::strncpy(buffer, state().driver.c_str(), size - 1);
  return 0;
}

int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(state().gpus.size());
  return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** handle) {
  const State now = state();
  if (index >= now.gpus.size()) return 2;
  if (const int code = static_cast<int>(number(now.gpus[index], "error")); code != 0) return code;
  *handle = reinterpret_cast<void*>(static_cast<std::size_t>(index) + 1);
  return 0;
}

int nvmlDeviceGetUUID(void* handle, char* buffer, unsigned size) {
  return text(handle, "uuid", buffer, size);
}
int nvmlDeviceGetName(void* handle, char* buffer, unsigned size) {
  return text(handle, "name", buffer, size);
}

int nvmlDeviceGetPciInfo_v3(void* handle, void* info) {
  return text(handle, "bus", static_cast<char*>(info) + 16 + 5 * sizeof(unsigned), 32);
}

int nvmlDeviceGetMemoryInfo(void* handle, unsigned long long* memory) {
  const State now = state();
  const Fields* fields = fields_of(now, handle);
  if (fields == nullptr || !fields->contains("memory")) return kUnknown;
  memory[0] = number(*fields, "memory");
  memory[2] = number(*fields, "used");
  memory[1] = memory[0] - memory[2];
  return 0;
}

int nvmlDeviceGetUtilizationRates(void* handle, unsigned* percent) {
  const State now = state();
  const Fields* fields = fields_of(now, handle);
  if (fields == nullptr || !fields->contains("busy")) return kUnknown;
  percent[0] = static_cast<unsigned>(number(*fields, "busy"));
  percent[1] = 0;
  return 0;
}

struct ProcessInfo {
  unsigned pid;
  unsigned long long memory;
  unsigned instance, compute_instance;
};

int nvmlDeviceGetComputeRunningProcesses_v3(void* handle, unsigned* count, ProcessInfo* list) {
  const State now = state();
  const auto index = reinterpret_cast<std::size_t>(handle) - 1;
  std::vector<ProcessInfo> found;
  for (const Fields& process : now.processes) {
    if (number(process, "gpu") != index) continue;
    const bool told = process.contains("memory");
    found.push_back({static_cast<unsigned>(number(process, "pid")),
                     told ? number(process, "memory") : ~0ULL, 0, 0});
  }
  const bool fits = found.size() <= *count;
  if (fits) std::memcpy(list, found.data(), found.size() * sizeof(ProcessInfo));
  *count = static_cast<unsigned>(found.size());
  return fits ? 0 : kInsufficientSize;
}

int nvmlDeviceGetMigMode(void* handle, unsigned* now_on, unsigned* pending) {
  const State now = state();
  *now_on = *pending = 0;
  for (const Fields& slice : now.slices) {
    if (number(slice, "gpu") + 1 == reinterpret_cast<std::size_t>(handle)) *now_on = *pending = 1;
  }
  return 0;
}

int nvmlDeviceGetMaxMigDeviceCount(void*, unsigned* count) {
  *count = 7;
  return 0;
}

int nvmlDeviceGetMigDeviceHandleByIndex(void* card, unsigned index, void** slice) {
  const State now = state();
  unsigned seen = 0;
  for (std::size_t i = 0; i < now.slices.size(); ++i) {
    if (number(now.slices[i], "gpu") + 1 != reinterpret_cast<std::size_t>(card)) continue;
    if (seen++ != index) continue;
    *slice = reinterpret_cast<void*>(1000 + i);
    return 0;
  }
  return 6;  // NVML_ERROR_NOT_FOUND
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
