#include "machine/gpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "env/posix/files.h"
#include "env/posix/temporary_dir_test.h"

namespace seedbed {
namespace {

using ::testing::HasSubstr;

class Gpus : public ::testing::Test {
 protected:
  Gpus() { ::setenv("SEEDBED_FAKE_NVML", (dir / "state").c_str(), 1); }
  ~Gpus() override { ::unsetenv("SEEDBED_FAKE_NVML"); }

  GpuReport read(const std::string& state) {
    EXPECT_TRUE(write_file(dir / "state", state));
    return read_gpus(dir.path(), SEEDBED_FAKE_NVML_LIBRARY);
  }
  void put(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(dir / path).parent_path());
    EXPECT_TRUE(write_file(dir / path, text));
  }

  TemporaryDir dir;
};

TEST_F(Gpus, WithoutADriverThereAreNone) {
  const GpuReport report = read_gpus(dir.path(), dir / "no-such-library.so");
  EXPECT_EQ(report, GpuReport());
}

TEST_F(Gpus, CardsAreReadWithWhatTheDriverTells) {
  put("sys/bus/pci/devices/0000:65:00.0/numa_node", "1\n");
  const GpuReport report = read(
      "driver 535.54\n"
      "gpu uuid=GPU-a name=Card bus=00000000:65:00.0 memory=17179869184 used=1024 busy=7\n"
      "gpu uuid=GPU-b\n"
      "process gpu=0 pid=11 memory=1000\n"
      "process gpu=0 pid=12\n");
  EXPECT_EQ(report.source, "NVML, driver 535.54");
  EXPECT_EQ(report.problem, "");
  ASSERT_EQ(report.gpus.size(), 2U);
  const Gpu& first = report.gpus[0];
  EXPECT_EQ(first.index, 0);
  EXPECT_EQ(first.uuid, "GPU-a");
  EXPECT_EQ(first.name, "Card");
  EXPECT_EQ(first.bus, "00000000:65:00.0");
  EXPECT_EQ(first.memory, std::uint64_t{16} << 30U);
  EXPECT_EQ(first.memory_used, 1024U);
  EXPECT_EQ(first.busy, 7);
  EXPECT_EQ(first.numa, 1);
  EXPECT_EQ(first.processes, (std::vector<GpuProcess>{{11, 1000}, {12, std::nullopt}}));
  const Gpu& second = report.gpus[1];  // one that answers `[N/A]` to nearly everything
  EXPECT_EQ(second.uuid, "GPU-b");
  EXPECT_EQ(second.memory, 0U);
  EXPECT_FALSE(second.memory_used || second.busy);
  EXPECT_EQ(second.numa, -1);
}

TEST_F(Gpus, MoreProcessesThanThereIsRoomForAreAskedForAgain) {
  std::string state = "gpu uuid=GPU-a\n";
  for (int pid = 1; pid <= 300; ++pid) state += "process gpu=0 pid=" + std::to_string(pid) + "\n";
  EXPECT_EQ(read(state).gpus.at(0).processes->size(), 300U);
}

TEST_F(Gpus, OneThatFellOffTheBusLeavesTheOthersAlone) {
  const GpuReport report = read("gpu uuid=GPU-a\ngpu error=15\ngpu uuid=GPU-c\n");
  ASSERT_EQ(report.gpus.size(), 3U);
  EXPECT_EQ(report.gpus[0].problem, "");
  EXPECT_EQ(report.gpus[1].problem, "GPU is lost");
  EXPECT_EQ(report.gpus[1].index, 1);
  EXPECT_EQ(report.gpus[2].uuid, "GPU-c");
}

TEST_F(Gpus, ADriverThatDoesNotAnswerIsAProblemAndNoDevice) {
  const GpuReport report = read("gpu uuid=GPU-a\ninit 9\n");
  EXPECT_TRUE(report.gpus.empty());
  EXPECT_THAT(report.problem, HasSubstr("Driver Not Loaded"));
}

TEST_F(Gpus, SlicesFollowTheirCard) {
  const GpuReport report = read(
      "gpu uuid=GPU-a memory=100\ngpu uuid=GPU-b memory=100\n"
      "slice gpu=0 uuid=MIG-x memory=40\nslice gpu=0 uuid=MIG-y memory=40\n");
  std::vector<std::string> uuids;
  for (const Gpu& gpu : report.gpus) uuids.push_back(gpu.uuid + "<" + gpu.parent);
  EXPECT_EQ(uuids, (std::vector<std::string>{"GPU-a<", "MIG-x<GPU-a", "MIG-y<GPU-a", "GPU-b<"}));
  EXPECT_EQ(report.gpus[1].memory, 40U);
}

TEST_F(Gpus, AmdTellsByFiles) {
  const std::string card = "sys/bus/pci/devices/0000:03:00.0/";
  put(card + "vendor", "0x1002\n");
  put(card + "mem_info_vram_total", "17163091968\n");
  put(card + "mem_info_vram_used", "5\n");
  put(card + "gpu_busy_percent", "99\n");
  put(card + "unique_id", "0123456789abcdef\n");
  put(card + "numa_node", "-1\n");
  put("sys/bus/pci/devices/0000:04:00.0/vendor", "0x1002\n");  // its sound device
  put("sys/bus/pci/devices/0000:05:00.0/vendor", "0x8086\n");
  const GpuReport report = read_gpus(dir.path(), dir / "no-such-library.so");
  EXPECT_EQ(report.source, "amdgpu");
  ASSERT_EQ(report.gpus.size(), 1U);
  EXPECT_EQ(report.gpus[0].uuid, "GPU-0123456789abcdef");
  EXPECT_EQ(report.gpus[0].memory, 17163091968U);
  EXPECT_EQ(report.gpus[0].busy, 99);
  EXPECT_EQ(report.gpus[0].numa, -1);
}

TEST_F(Gpus, TheReportGoesThroughJsonUnchanged) {
  const GpuReport report = read(
      "driver 1\ngpu uuid=GPU-a name=\xff bus=00000000:01:00.0 memory=5 used=1 busy=0\n"
      "gpu error=15\nprocess gpu=0 pid=7\nslice gpu=0 uuid=MIG-z\n");
  auto back = parse_gpu_report(gpu_report_json(report));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->gpus.at(0).name, "\xef\xbf\xbd");  // not UTF-8: replaced
  back->gpus[0].name = report.gpus[0].name;
  EXPECT_EQ(*back, report);
  EXPECT_FALSE(parse_gpu_report(""));
  EXPECT_FALSE(parse_gpu_report("{}"));
  EXPECT_FALSE(parse_gpu_report(R"({"source":"","problem":"","gpus":[{"index":"x"}]})"));
}

}  // namespace
}  // namespace seedbed
