#include "machine/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/text.h"

namespace seedbed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

/// A made-up /proc and /sys.
class MachineTest : public testing::Test {
 protected:
  MachineTest() {
    char pattern[] = "/tmp/seedbed-machine-XXXXXX";
    root_ = ::mkdtemp(pattern);
  }
  ~MachineTest() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
  }

  void unified(const std::string& group) {
    write("/proc/self/cgroup", "0::" + group + "\n");
    write("/proc/self/mountinfo",
          "21 26 0:20 / /proc rw,relatime - proc proc rw\n"
          "30 22 0:27 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n");
    std::filesystem::create_directories(root_ + "/sys/fs/cgroup" + group);
  }

  Machine read(const std::string& synthetic, std::optional<std::vector<int>> allowed = {}) {
    return read_machine({root_, synthetic, std::move(allowed)});
  }

  std::string root_;
};

std::vector<int> numbers(const std::vector<Core>& cores) {
  std::vector<int> out;
  for (const Core& core : cores) out.push_back(core.number);
  return out;
}

TEST_F(MachineTest, CaseE2_QuotaNarrowsAndBothNumbersAreSaid) {
  unified("/app");
  write("/sys/fs/cgroup/app/cpu.max", "400000 100000\n");
  Machine machine = read("package:2 core:32 pu:1");
  EXPECT_EQ(machine.usable(), 4);
  EXPECT_EQ(machine.describe(), "64 cores seen, 4 usable (quota)");
  EXPECT_THAT(machine.warnings(), IsEmpty());
}

TEST_F(MachineTest, CaseE2_QuotaIsRoundedDownButNeverToNothing) {
  unified("/");
  write("/sys/fs/cgroup/cpu.max", "399000 100000");
  EXPECT_EQ(read("core:8 pu:1").usable(), 3);
  write("/sys/fs/cgroup/cpu.max", "150000 100000");
  EXPECT_EQ(read("core:8 pu:1").usable(), 1);
  write("/sys/fs/cgroup/cpu.max", "20000 100000");
  Machine small = read("core:8 pu:1");
  EXPECT_EQ(small.usable(), 1);
  EXPECT_THAT(small.warnings(), ElementsAre(HasSubstr("0.2 of a core")));
}

TEST_F(MachineTest, CaseE2_TheSmallestQuotaOfTheHierarchyHolds) {
  unified("/a/b/c");
  write("/sys/fs/cgroup/a/cpu.max", "200000 100000\n");
  write("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  write("/sys/fs/cgroup/a/b/c/cpu.max", "600000 100000\n");
  write("/sys/fs/cgroup/a/memory.max", "max\n");
  write("/sys/fs/cgroup/a/b/memory.max", "1073741824\n");
  write("/sys/fs/cgroup/a/b/c/memory.max", "4294967296\n");
  Machine machine = read("core:8 pu:1");
  EXPECT_EQ(machine.usable(), 2);
  EXPECT_EQ(machine.limits.cpu_quota_file, root_ + "/sys/fs/cgroup/a/cpu.max");
  EXPECT_EQ(machine.limits.memory, 1073741824u);
  EXPECT_EQ(machine.memory(), 1073741824u) << "the total is unknown, the limit is not";
}

TEST_F(MachineTest, CaseE2_StrangeFilesAreNoLimit) {
  for (const std::string& text :
       {std::string(""), std::string("\n"), std::string("max"), std::string("max 100000"),
        std::string("-1 100000"), std::string("0 100000"), std::string("100000 0"),
        std::string("100000 -5"), std::string("99999999999999999999999 1"), std::string("1e5 1e5"),
        std::string("100000 100000 100000"), std::string("nan inf"), std::string("\0\0\0\xff", 4),
        std::string(200'000, '9'), std::string("100000 9223372036854775807")}) {
    unified("/app");
    write("/sys/fs/cgroup/app/cpu.max", text);
    write("/sys/fs/cgroup/app/memory.max", text);
    Machine machine = read("core:8 pu:1");
    EXPECT_EQ(machine.usable(), 8) << text.substr(0, 40);
    EXPECT_FALSE(machine.limits.cpu_quota) << text.substr(0, 40);
    EXPECT_FALSE(machine.limits.memory) << text.substr(0, 40);
  }
}

TEST_F(MachineTest, CaseE2_FolderPipeOrLoopInPlaceOfAFileIsNoLimit) {
  unified("/app");
  std::string folder = root_ + "/sys/fs/cgroup/app/";
  std::filesystem::create_directories(folder + "cpu.max");
  ASSERT_EQ(::mkfifo((folder + "memory.max").c_str(), 0600), 0);
  EXPECT_EQ(read("core:8 pu:1").usable(), 8);
  std::filesystem::remove_all(folder + "cpu.max");
  std::filesystem::create_symlink("cpu.max", folder + "cpu.max");
  EXPECT_EQ(read("core:8 pu:1").usable(), 8);
}

TEST_F(MachineTest, CaseE2_NothingThereAtAll) {
  Machine machine = read("core:8 pu:1");
  EXPECT_EQ(machine.usable(), 8);
  EXPECT_EQ(machine.describe(), "8 cores");
  EXPECT_EQ(machine.memory(), 0u);
}

TEST_F(MachineTest, CaseE2_VersionOneFilesInAMixedHierarchy) {
  write("/proc/self/cgroup", "4:memory:/job/7\n2:cpu,cpuacct:/job/7\n1:name=systemd:/\n0::/\n");
  write("/proc/self/mountinfo",
        "31 30 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
        "34 30 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
        "40 30 0:37 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  std::string cpu = "/sys/fs/cgroup/cpu,cpuacct";
  write(cpu + "/job/7/cpu.cfs_quota_us", "-1\n");
  write(cpu + "/job/7/cpu.cfs_period_us", "100000\n");
  write(cpu + "/job/cpu.cfs_quota_us", "250000\n");
  write(cpu + "/job/cpu.cfs_period_us", "100000\n");
  write("/sys/fs/cgroup/memory/job/7/memory.limit_in_bytes", "9223372036854771712\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "2147483648\n");
  Machine machine = read("core:8 pu:1");
  EXPECT_EQ(machine.usable(), 2);
  EXPECT_EQ(machine.limits.memory, 2147483648u);
}

TEST_F(MachineTest, CaseE2_ContainerSeesOnlyItsOwnPartOfTheHierarchy) {
  // The group's path is the host's, but what is mounted begins at that group.
  write("/proc/self/cgroup", "0::/docker/abc\n");
  write("/proc/self/mountinfo", "30 22 0:27 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
  write("/sys/fs/cgroup/cpu.max", "200000 100000\n");
  EXPECT_EQ(read("core:8 pu:1").usable(), 2);
  // A path above the mounted part, as in a cgroup namespace of another group.
  write("/proc/self/cgroup", "0::/../../other\n");
  EXPECT_EQ(read("core:8 pu:1").usable(), 2);
  // A mount point with a space.
  write("/proc/self/cgroup", "0::/x\n");
  write("/proc/self/mountinfo", "30 22 0:27 / /sys/fs/c\\040group ro - cgroup2 cgroup rw\n");
  write("/sys/fs/c group/x/cpu.max", "300000 100000\n");
  EXPECT_EQ(read("core:8 pu:1").usable(), 3);
}

TEST_F(MachineTest, CaseE2_DamagedTablesAreHarmless) {
  write("/proc/self/cgroup", "0:\n:::\n0\n\n9:cpu:\n");
  write("/proc/self/mountinfo", "1 2 3\n- - - - - - - -\n30 22 0:27 / /x rw - cgroup\n\\\\0\n");
  write("/proc/meminfo", "MemTotal: lots\nMemAvailable: 99999999999999999999 kB\n");
  Machine machine = read("core:2 pu:1");
  EXPECT_EQ(machine.usable(), 2);
  EXPECT_EQ(machine.memory(), 0u);
}

TEST_F(MachineTest, CaseE4_PinnedByAccidentIsSaid) {
  Machine machine = read("core:4 pu:1", std::vector<int>{0});
  EXPECT_EQ(machine.usable(), 1);
  EXPECT_EQ(machine.describe(), "4 cores seen, 1 usable (affinity)");
  EXPECT_THAT(machine.warnings(), ElementsAre(StartsWith("only core 0 of 4 allowed")));
  // The user's own width is kept, with the warning.
  Lending lending = make_lending(machine, Request{}, 4);
  EXPECT_EQ(lending.inventory.slots, 4u);
  EXPECT_TRUE(lending.inventory.shared_cores);
  EXPECT_THAT(lending.warnings, ElementsAre(StartsWith("only core 0 of 4 allowed"),
                                            StartsWith("4 slots share 1 core (1 would fit)")));
}

TEST_F(MachineTest, CaseE4_AffinityAndQuotaTogether) {
  unified("/");
  write("/sys/fs/cgroup/cpu.max", "100000 100000");
  Machine machine = read("core:8 pu:1", std::vector<int>{2, 3, 4, 7});
  EXPECT_EQ(machine.describe(), "8 cores seen, 1 usable (affinity, quota)");
  EXPECT_THAT(machine.warnings(), ElementsAre(StartsWith("only cores 2-4,7 of 8 allowed")));
  // A quota wider than what affinity leaves changes nothing.
  write("/sys/fs/cgroup/cpu.max", "600000 100000");
  EXPECT_EQ(read("core:8 pu:1", std::vector<int>{2, 3}).describe(),
            "8 cores seen, 2 usable (affinity)");
}

TEST_F(MachineTest, WholeCoresComeBeforeHardwareThreads) {
  // hwloc numbers the CPUs of a synthetic machine depth first: core 0 has CPUs 0 and 1.
  Machine machine = read("numa:2 core:2 pu:2");
  EXPECT_THAT(numbers(machine.allowed), ElementsAre(0, 2, 4, 6, 1, 3, 5, 7));
  EXPECT_EQ(machine.seen, 8);
  EXPECT_EQ(machine.physical_seen, 4);
  EXPECT_EQ(machine.allowed[0].core, machine.allowed[4].core);
  EXPECT_EQ(machine.allowed[1].numa, 0);
  EXPECT_EQ(machine.allowed[2].numa, 1);
}

TEST_F(MachineTest, CaseH8_DefaultWidthIsWhatTheMachineCarries) {
  Machine machine = read("core:4 pu:1");
  EXPECT_EQ(make_lending(machine, Request{}, {}).inventory.slots, 4u);
  EXPECT_FALSE(make_lending(machine, Request{}, {}).inventory.shared_cores);
  EXPECT_EQ(make_lending(machine, Request{}, 2).inventory.slots, 2u);
  Request two;
  two.cpus = 2;
  EXPECT_EQ(make_lending(machine, two, {}).inventory.slots, 2u);
  two.ranks = 2;
  EXPECT_EQ(make_lending(machine, two, {}).inventory.slots, 1u);
  Request tenth;
  tenth.cpus = 0.1;
  EXPECT_EQ(make_lending(machine, tenth, {}).inventory.slots, 40u);
  Request third;
  third.cpus = 1.5;
  EXPECT_EQ(make_lending(machine, third, {}).inventory.slots, 2u);
  Request none;
  none.cpus = 0;
  EXPECT_EQ(make_lending(machine, none, {}).inventory.slots, 4u);
}

TEST_F(MachineTest, CaseE2_NothingIsPinnedUnderAQuota) {
  unified("/");
  write("/sys/fs/cgroup/cpu.max", "200000 100000");
  Lending lending = make_lending(read("core:8 pu:1"), Request{}, {});
  EXPECT_EQ(lending.inventory.slots, 2u);
  EXPECT_EQ(lending.inventory.cores.size(), 2u);
  EXPECT_TRUE(lending.inventory.shared_cores);
  EXPECT_THAT(lending.warnings, IsEmpty());
  Request large;
  large.cpus = 4;
  Inventory refusing = make_lending(read("core:8 pu:1"), large, {}).inventory;
  EXPECT_FALSE(Placement(refusing).can_ever_fit(large).has_value());
}

TEST_F(MachineTest, MemoryIsTheSmallerOfMachineAndLimit) {
  write("/proc/meminfo", "MemTotal:        1048576 kB\nMemAvailable:     524288 kB\n");
  EXPECT_EQ(read("core:1 pu:1").memory(), 1073741824u);
  EXPECT_EQ(read("core:1 pu:1").memory_available, 536870912u);
  unified("/");
  write("/sys/fs/cgroup/memory.max", "268435456");
  EXPECT_EQ(read("core:1 pu:1").memory(), 268435456u);
  write("/sys/fs/cgroup/memory.max", "99999999999");
  EXPECT_EQ(read("core:1 pu:1").memory(), 1073741824u);
}

TEST_F(MachineTest, AffinityForeignToTheTopologyStillGivesCores) {
  Machine machine = read("core:2 pu:1", std::vector<int>{40, 41, 42});
  EXPECT_THAT(numbers(machine.allowed), ElementsAre(40, 41, 42));
  EXPECT_EQ(machine.usable(), 3);
  EXPECT_EQ(read("core:2 pu:1", std::vector<int>{}).usable(), 1);
  EXPECT_EQ(read("no topology at all").usable(), 1);
}

TEST(ThisMachine, AgreesWithTheKernel) {
  Machine machine = read_machine();
  cpu_set_t set;
  ASSERT_EQ(::sched_getaffinity(0, sizeof set, &set), 0);
  EXPECT_EQ(static_cast<int>(machine.allowed.size()), CPU_COUNT(&set));
  EXPECT_EQ(machine.seen, ::sysconf(_SC_NPROCESSORS_ONLN));
  EXPECT_GT(machine.memory(), 0u);
}

TEST(FormatCpuList, JoinsRuns) {
  EXPECT_EQ(number_ranges({}), "");
  EXPECT_EQ(number_ranges({3}), "3");
  EXPECT_EQ(number_ranges({8, 0, 2, 1, 3}), "0-3,8");
  EXPECT_EQ(number_ranges({0, 2, 4}), "0,2,4");
}

}  // namespace
}  // namespace seedbed
