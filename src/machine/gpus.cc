#include "machine/gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "env/posix/command.h"
#include "env/posix/files.h"
#include "machine/nvml.h"

namespace seedbed {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::size_t kSmallFile = 4096;
constexpr const char* kAmd = "0x1002";

std::string line_of(const fs::path& path) {
  const auto text = read_file(path.string(), kSmallFile);
  return text ? std::string(trim(*text)) : std::string();
}

template <typename Number>
std::optional<Number> number_of(const fs::path& path) {
  const std::string text = line_of(path);
  Number number{};
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size()) {
    return std::nullopt;
  }
  return number;
}

// AMD's kernel driver tells of its devices by files: /sys/bus/pci/devices/BUS with `vendor`, and
// below it, for a graphics device, drm/card*, mem_info_vram_total, gpu_busy_percent, unique_id.
GpuReport read_amd(const std::string& root) {
  GpuReport report;
  std::error_code error;
  std::vector<fs::path> places;
  for (fs::directory_iterator at(root + "/sys/bus/pci/devices", error), end; !error && at != end;
       at.increment(error)) {
    if (line_of(at->path() / "vendor") != kAmd) continue;
    if (!fs::exists(at->path() / "mem_info_vram_total", error)) continue;
    places.push_back(at->path());
  }
  std::sort(places.begin(), places.end());
  for (const fs::path& place : places) {
    Gpu gpu;
    gpu.index = static_cast<int>(report.gpus.size());
    gpu.bus = place.filename().string();
    const std::string id = line_of(place / "unique_id");
    if (!id.empty()) gpu.uuid = "GPU-" + id;
    gpu.name = line_of(place / "product_name");
    gpu.memory = number_of<std::uint64_t>(place / "mem_info_vram_total").value_or(0);
    gpu.memory_used = number_of<std::uint64_t>(place / "mem_info_vram_used");
    gpu.busy = number_of<int>(place / "gpu_busy_percent");
    gpu.numa = number_of<int>(place / "numa_node").value_or(-1);
    report.gpus.push_back(std::move(gpu));
  }
  if (!report.gpus.empty()) report.source = "amdgpu";
  return report;
}

// NVML gives the bus with a domain of eight digits, /sys with four.
int numa_of_bus(const std::string& root, std::string bus) {
  std::transform(bus.begin(), bus.end(), bus.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  const std::size_t colon = bus.find(':');
  if (colon == std::string::npos) return -1;
  if (colon > 4) bus.erase(0, colon - 4);
  return number_of<int>(fs::path(root + "/sys/bus/pci/devices") / bus / "numa_node").value_or(-1);
}

template <typename T>
void put(Json& json, const char* key, const T& value, const T& blank) {
  if (value != blank) json[key] = value;
}

Json gpu_json(const Gpu& gpu) {
  Json json = Json::object();
  put(json, "index", gpu.index, -1);
  put(json, "uuid", gpu.uuid, std::string());
  put(json, "name", gpu.name, std::string());
  put(json, "bus", gpu.bus, std::string());
  put(json, "parent", gpu.parent, std::string());
  put(json, "memory", gpu.memory, std::uint64_t{0});
  if (gpu.memory_used) json["memory_used"] = *gpu.memory_used;
  if (gpu.busy) json["busy"] = *gpu.busy;
  put(json, "numa", gpu.numa, -1);
  put(json, "problem", gpu.problem, std::string());
  if (!gpu.processes) return json;
  json["processes"] = Json::array();
  for (const GpuProcess& process : *gpu.processes) {
    Json one = {{"pid", process.pid}};
    if (process.memory) one["memory"] = *process.memory;
    json["processes"].push_back(std::move(one));
  }
  return json;
}

Gpu gpu_of(const Json& json) {
  Gpu gpu;
  gpu.index = json.value("index", -1);
  gpu.uuid = json.value("uuid", "");
  gpu.name = json.value("name", "");
  gpu.bus = json.value("bus", "");
  gpu.parent = json.value("parent", "");
  gpu.memory = json.value("memory", std::uint64_t{0});
  if (json.contains("memory_used")) gpu.memory_used = json["memory_used"].get<std::uint64_t>();
  if (json.contains("busy")) gpu.busy = json["busy"].get<int>();
  gpu.numa = json.value("numa", -1);
  gpu.problem = json.value("problem", "");
  if (!json.contains("processes")) return gpu;
  gpu.processes.emplace();
  for (const Json& one : json["processes"]) {
    GpuProcess process{one.at("pid").get<std::int64_t>(), std::nullopt};
    if (one.contains("memory")) process.memory = one["memory"].get<std::uint64_t>();
    gpu.processes->push_back(process);
  }
  return gpu;
}

}  // namespace

GpuReport read_gpus(const std::string& root, const std::string& library) {
  GpuReport report = read_nvml(library);
  if (report.source.empty() && report.problem.empty()) return read_amd(root);
  for (Gpu& gpu : report.gpus) {
    if (!gpu.bus.empty()) gpu.numa = numa_of_bus(root, gpu.bus);
  }
  return report;
}

GpuReport ask_gpus(Milliseconds limit, const std::atomic<bool>* given_up) {
  CommandOptions options;
  options.working_dir = "/";
  options.timeout = limit;
  options.given_up = given_up;
  GpuReport silent;
  const auto answer = run_command({"/proc/self/exe", kGpuReportCommand}, options);
  if (!answer || answer->exit_code != 0) {
    silent.problem = fmt::format("the GPU driver gave no answer within {}", format_duration(limit));
    return silent;
  }
  auto report = parse_gpu_report(answer->output);
  if (report) return std::move(*report);
  silent.problem = report.error().message;
  return silent;
}

std::string gpu_report_json(const GpuReport& report) {
  Json json = {{"source", report.source}, {"problem", report.problem}, {"gpus", Json::array()}};
  for (const Gpu& gpu : report.gpus) json["gpus"].push_back(gpu_json(gpu));
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<GpuReport> parse_gpu_report(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    GpuReport report;
    report.source = json.at("source").get<std::string>();
    report.problem = json.at("problem").get<std::string>();
    for (const Json& gpu : json.at("gpus")) report.gpus.push_back(gpu_of(gpu));
    return report;
  } catch (const Json::exception& error) {
    return fail(ErrorCode::machine,
                std::string("the answer about the GPUs cannot be read: ") + error.what());
  }
}

}  // namespace seedbed
