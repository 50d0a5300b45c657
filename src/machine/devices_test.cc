#include "machine/devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace seedbed {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Surroundings = EnvironmentVariables;

GpuReport cards(int count) {
  GpuReport report;
  report.source = "NVML, driver 1";
  for (int i = 0; i < count; ++i) {
    Gpu gpu;
    gpu.index = i;
    gpu.uuid = "GPU-" + std::string(1, static_cast<char>('a' + i)) + "000";
    gpu.memory = 16;
    report.gpus.push_back(gpu);
  }
  return report;
}

DeviceSet must_choose(const GpuReport& report, const Surroundings& surroundings,
                      const std::string& by_hand = "") {
  auto set = choose_devices(report, surroundings, by_hand);
  EXPECT_TRUE(set) << set.error().message;
  return set ? *set : DeviceSet();
}

std::string refusal(const GpuReport& report, const Surroundings& surroundings,
                    const std::string& by_hand) {
  auto set = choose_devices(report, surroundings, by_hand);
  EXPECT_FALSE(set);
  return set ? "" : set.error().message;
}

std::vector<std::string> words(const DeviceSet& set) {
  std::vector<std::string> found;
  for (const Device& device : set.devices) found.push_back(device.word);
  return found;
}

std::vector<std::string> visible(const std::string& text, int count = 8) {
  return words(must_choose(cards(count), {{"CUDA_VISIBLE_DEVICES", text}}));
}

TEST(Devices, WithoutAVariableEveryCardIsHandedOutByItsIndex) {
  const DeviceSet set = must_choose(cards(3), {});
  EXPECT_THAT(words(set), ElementsAre("0", "1", "2"));
  EXPECT_EQ(set.devices[2].uuid, "GPU-c000");
  EXPECT_EQ(set.devices[2].index, 2);
  EXPECT_THAT(set.warnings, IsEmpty());
}

TEST(Devices, CaseF2_TheVisibleOnesAreTheSetAndKeepTheirWords) {
  EXPECT_THAT(visible("4,5,6,7"), ElementsAre("4", "5", "6", "7"));
  EXPECT_THAT(visible(" 4 ,5"), ElementsAre("4", "5"));
  const DeviceSet set = must_choose(cards(8), {{"CUDA_VISIBLE_DEVICES", "5,GPU-b0"}});
  EXPECT_THAT(words(set), ElementsAre("5", "GPU-b0"));
  EXPECT_EQ(set.devices[0].uuid, "GPU-f000");
  EXPECT_EQ(set.devices[1].uuid, "GPU-b000") << "a beginning that fits one is enough";
}

TEST(Devices, CaseF2_NoneMeansNone) {
  EXPECT_THAT(visible(""), IsEmpty());
  EXPECT_THAT(visible("-1"), IsEmpty());
  EXPECT_THAT(visible("NoDevFiles"), IsEmpty());
  EXPECT_THAT(visible("1,-1,2"), ElementsAre("1"));
}

TEST(Devices, CaseF2_DoublesAndImpossibleOnesAreTold) {
  DeviceSet set = must_choose(cards(4), {{"CUDA_VISIBLE_DEVICES", "2,2"}});
  EXPECT_THAT(words(set), ElementsAre("2"));
  EXPECT_THAT(set.warnings, ElementsAre(HasSubstr("`2` is there twice")));
  set = must_choose(cards(4), {{"CUDA_VISIBLE_DEVICES", "2,GPU-c000"}});
  EXPECT_THAT(words(set), ElementsAre("2")) << "the same card by another word";
  set = must_choose(cards(4), {{"CUDA_VISIBLE_DEVICES", "0,9,1"}});
  EXPECT_THAT(words(set), ElementsAre("0"));
  EXPECT_THAT(set.warnings, ElementsAre(HasSubstr("`9` names no device here")));
  set = must_choose(cards(4), {{"CUDA_VISIBLE_DEVICES", "GPU-"}});
  EXPECT_THAT(words(set), IsEmpty()) << "fits several";
}

TEST(Devices, WithoutADriverTheVariableIsBelieved) {
  const DeviceSet set = must_choose({}, {{"CUDA_VISIBLE_DEVICES", "4,MIG-x,GPU-y"}});
  EXPECT_THAT(words(set), ElementsAre("4", "MIG-x", "GPU-y"));
  EXPECT_THAT(set.warnings, IsEmpty());
}

TEST(Devices, ByHandANumberOrAList) {
  EXPECT_THAT(words(must_choose({}, {}, "4")), ElementsAre("0", "1", "2", "3"));
  EXPECT_THAT(words(must_choose({}, {}, "0,2")), ElementsAre("0", "2"));
  EXPECT_THAT(words(must_choose({}, {}, "2,")), ElementsAre("2"));
  EXPECT_THAT(words(must_choose({}, {}, "GPU-x")), ElementsAre("GPU-x"));
  EXPECT_THAT(words(must_choose({}, {}, "0")), IsEmpty());
  EXPECT_THAT(words(must_choose(cards(4), {}, "2")), ElementsAre("0", "1"));
  EXPECT_THAT(words(must_choose(cards(4), {}, "3,1")), ElementsAre("3", "1"));
  EXPECT_THAT(words(must_choose(cards(4), {}, "all")), ElementsAre("0", "1", "2", "3"));
  EXPECT_THAT(words(must_choose(cards(8), {{"CUDA_VISIBLE_DEVICES", "4,5,6"}}, "2")),
              ElementsAre("4", "5"));
}

TEST(Devices, ByHandIsNeverMoreThanWhatIsVisible) {
  EXPECT_THAT(refusal(cards(4), {}, "5"), HasSubstr("4 are there"));
  EXPECT_THAT(refusal(cards(4), {}, "0,7"), HasSubstr("`7` is no device here"));
  EXPECT_THAT(refusal(cards(8), {{"CUDA_VISIBLE_DEVICES", "4,5"}}, "0,4"),
              HasSubstr("`0` is not among the visible ones"));
  EXPECT_THAT(refusal(cards(8), {{"CUDA_VISIBLE_DEVICES", ""}}, "1"), HasSubstr("0 are there"));
  EXPECT_THAT(refusal({}, {}, "1,1"), HasSubstr("twice"));
  for (const char* text : {"x", "-1", "1.5", ",", "0,x", "99999", "cuda:0"}) {
    EXPECT_THAT(refusal({}, {}, text), HasSubstr("write a number of devices")) << text;
  }
}

TEST(Devices, ACardThatIsCutUpIsHandedOutBySlices) {
  GpuReport report = cards(2);
  Gpu slice;
  slice.index = 0;
  slice.uuid = "MIG-1";
  slice.parent = "GPU-a000";
  report.gpus.insert(report.gpus.begin() + 1, slice);
  const DeviceSet set = must_choose(report, {});
  EXPECT_THAT(words(set), ElementsAre("MIG-1", "1"));
}

TEST(Devices, OneThatIsLostIsLeftOutAndTold) {
  GpuReport report = cards(2);
  report.gpus[0].problem = "GPU is lost";
  const DeviceSet set = must_choose(report, {});
  EXPECT_THAT(words(set), ElementsAre("1"));
  EXPECT_THAT(set.warnings, ElementsAre("GPU 0 is left out: GPU is lost"));
}

TEST(Devices, CaseF4_CountedByBusUnlessTheUserHasSetTheOrder) {
  DeviceSet set = must_choose(cards(2), {});
  EXPECT_EQ(device_variables(set, {{"GPU-b000", 1}}, {}),
            (Surroundings{{"CUDA_VISIBLE_DEVICES", "1"}, {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}}));
  const Surroundings fastest = {{"CUDA_DEVICE_ORDER", "FASTEST_FIRST"}};
  set = must_choose(cards(2), fastest);
  EXPECT_THAT(words(set), ElementsAre("GPU-a000", "GPU-b000")) << "an index would say nothing";
  EXPECT_EQ(device_variables(set, {{"GPU-b000", 1}}, fastest),
            (Surroundings{{"CUDA_VISIBLE_DEVICES", "GPU-b000"}}));
}

TEST(Devices, BusyIsWhereSomebodyElseComputes) {
  GpuReport report = cards(4);
  report.gpus[0].processes = {{1, std::nullopt}};  // init is no trial
  report.gpus[1].processes.emplace();
  report.gpus[2].problem = "GPU is lost";
  const auto devices = must_choose(cards(4), {}).devices;
  EXPECT_EQ(busy_devices(report, devices), (std::set<std::string>{"GPU-a000", "GPU-c000"}));
  EXPECT_TRUE(busy_devices({}, devices).empty()) << "named by hand, without a driver";
  GpuReport silent;
  silent.problem = "no answer";
  EXPECT_EQ(busy_devices(silent, devices).size(), 4U);
}

TEST(Devices, NoShareIsAnEmptyVariable) {
  EXPECT_EQ(device_variables(must_choose(cards(1), {}), {}, {}).at("CUDA_VISIBLE_DEVICES"), "");
}

TEST(Devices, AmdHasVariablesOfItsOwn) {
  GpuReport report = cards(2);
  report.source = "amdgpu";
  EXPECT_EQ(device_variables(must_choose(report, {}), {{"GPU-b000", 1}}, {}),
            (Surroundings{{"HIP_VISIBLE_DEVICES", "1"}}));
  const Surroundings rocr = {{"ROCR_VISIBLE_DEVICES", "1"}};
  EXPECT_EQ(device_variables(must_choose(report, rocr), {{"GPU-b000", 1}}, rocr),
            (Surroundings{{"ROCR_VISIBLE_DEVICES", "1"}}));
}

TEST(Devices, CaseF8_ACommandMayNameThemInThreeForms) {
  const DeviceSet set = must_choose(cards(8), {{"CUDA_VISIBLE_DEVICES", "4,GPU-f000,MIG-q"}});
  const std::vector<DeviceShare> shares = {{"GPU-e000", 1}, {"GPU-f000", 1}};
  EXPECT_EQ(device_text(set, shares, DeviceForm::physical), "4,5");
  EXPECT_EQ(device_text(set, shares, DeviceForm::uuid), "GPU-e000,GPU-f000");
  EXPECT_EQ(device_text(set, shares, DeviceForm::local), "0,1");
  EXPECT_EQ(device_text(set, {}, DeviceForm::local), "");
}

}  // namespace
}  // namespace seedbed
