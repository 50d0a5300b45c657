#include "machine/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace seedbed {
namespace {

using testing::HasSubstr;

const Check& find(const std::vector<Check>& checks, std::string_view name) {
  static const Check none;
  for (const Check& check : checks) {
    if (check.name == name) return check;
  }
  return none;
}

Machine small_machine() {
  Machine machine;
  machine.seen = machine.physical_seen = 4;
  for (int i = 0; i < 4; ++i) machine.allowed.push_back(Core{i, i, 0, 0});
  machine.memory_total = std::uint64_t{8} << 30;
  machine.memory_available = std::uint64_t{4} << 30;
  return machine;
}

class DoctorTest : public testing::Test {
 protected:
  DoctorTest() {
    char pattern[] = "/tmp/seedbed-doctor-XXXXXX";
    folder_ = ::mkdtemp(pattern);
  }
  ~DoctorTest() override { std::filesystem::remove_all(folder_); }

  void program(const std::string& name, mode_t mode = 0755, const std::string& lines = "") {
    std::ofstream(folder_ + "/" + name) << "#!/bin/sh\n" << lines;
    ::chmod((folder_ + "/" + name).c_str(), mode);
  }

  std::string folder_;
};

TEST_F(DoctorTest, EveryTroubleHasARemedy) {
  Machine machine = small_machine();
  machine.allowed.resize(1);
  machine.memory_available = 1 << 20;
  machine.limits.memory = std::uint64_t{1} << 30;
  machine.limits.memory_file = "/sys/fs/cgroup/memory.max";
  auto checks = examine(machine, {folder_, folder_});
  EXPECT_EQ(find(checks, "cores").level, CheckLevel::warn);
  EXPECT_THAT(find(checks, "cores").value, HasSubstr("4 cores seen, 1 usable (affinity)"));
  EXPECT_EQ(find(checks, "memory").level, CheckLevel::warn);
  EXPECT_THAT(find(checks, "memory").value, HasSubstr("/sys/fs/cgroup/memory.max"));
  EXPECT_EQ(find(checks, "python").level, CheckLevel::warn);
  for (const Check& check : checks) {
    EXPECT_FALSE(check.name.empty());
    EXPECT_FALSE(check.value.empty());
    EXPECT_TRUE(check.level == CheckLevel::ok || !check.remedy.empty()) << check.name;
  }
}

TEST_F(DoctorTest, CaseE2_QuotaAndItsFileAreShown) {
  Machine machine = small_machine();
  machine.limits.cpu_quota = 2.5;
  machine.limits.cpu_quota_file = "/sys/fs/cgroup/app/cpu.max";
  Check cores = find(examine(machine, {folder_, folder_}), "cores");
  EXPECT_EQ(cores.value,
            "4 cores seen, 2 usable (quota), quota 2.5 from /sys/fs/cgroup/app/cpu.max");
  EXPECT_THAT(cores.remedy, HasSubstr("rounded down"));
}

TEST_F(DoctorTest, ProgramsAreFoundAlongThePath) {
  program("python3");
  program("mpirun.mpich");
  std::filesystem::create_symlink("mpirun.mpich", folder_ + "/mpirun");
  program("sbatch", 0644);  // not executable: not found
  std::filesystem::create_directories(folder_ + "/x/python3");
  auto checks = examine(small_machine(), {folder_, "/nonexistent:" + folder_ + "/x:" + folder_});
  EXPECT_EQ(find(checks, "python").value, folder_ + "/python3");
  EXPECT_THAT(find(checks, "MPI").value, HasSubstr("mpirun.mpich"));
  EXPECT_EQ(find(checks, "Slurm").value, "not found");
}

TEST_F(DoctorTest, EveryMpiIsToldWithItsVersionTheDefaultFirst) {
  program("mpirun.mpich", 0755, "echo 'HYDRA build details:'; echo '    Version:     4.0.2'\n");
  program("mpirun", 0755, "echo 'Intel(R) MPI Library for Linux* OS, Version 2021.11 Build 1'\n");
  const Check check = find(examine(small_machine(), {folder_, folder_}), "MPI");
  EXPECT_EQ(check.value, "Intel MPI 2021.11 at " + folder_ +
                             "/mpirun, the default, MPICH 4.0.2 at " + folder_ + "/mpirun.mpich");
  EXPECT_EQ(check.level, CheckLevel::ok);
}

TEST_F(DoctorTest, DiskOfAFolderThatIsNotThereYet) {
  Check disk = find(examine(small_machine(), {folder_ + "/studies/new", folder_}), "disk");
  EXPECT_THAT(disk.value, HasSubstr("free in " + folder_));
  EXPECT_NE(find(examine(small_machine(), {"relative/none", folder_}), "disk").value, "unknown");
}

TEST_F(DoctorTest, CaseD14_LowDescriptorLimitIsNamed) {
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  struct rlimit low = before;
  low.rlim_cur = 100;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  Check check = find(examine(small_machine(), {folder_, folder_}), "descriptors");
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(check.value, "100");
  EXPECT_EQ(check.level, CheckLevel::warn);
  EXPECT_THAT(check.remedy, HasSubstr("ulimit -n"));
}

}  // namespace
}  // namespace seedbed
