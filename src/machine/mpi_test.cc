#include "machine/mpi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace seedbed {
namespace {

using testing::HasSubstr;

// What the programs print; Open MPI 4.1.4 and MPICH 4.0.2 as Debian has them, the others after
// their documents.
constexpr const char* kOpenMpi4 =
    "mpirun (Open MPI) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/\n";
constexpr const char* kOpenMpi5 =
    "mpirun (Open MPI) 5.0.3\n\nReport bugs to https://www.open-mpi.org/community/help/\n";
constexpr const char* kMpich =
    "HYDRA build details:\n    Version:                                 4.0.2\n"
    "    Release Date:                            Thu Apr  7 12:34:45 CDT 2022\n"
    "    Process Manager:                         pmi\n";
constexpr const char* kIntel =
    "Intel(R) MPI Library for Linux* OS, Version 2021.11 Build 20231005 (id: 74c4a23)\n"
    "Copyright 2003-2023, Intel Corporation.\n";

MpiLauncher launcher(const char* text) {
  MpiLauncher made;
  made.path = "/usr/bin/mpirun";
  read_mpi_version(text, made);
  return made;
}

std::string words(const char* text, const RankStart& start) {
  return join(rank_words(launcher(text), start), " ");
}

TEST(Mpi, KindAndVersionOfEachLauncher) {
  EXPECT_EQ(launcher(kOpenMpi4).name(), "Open MPI 4.1.4");
  EXPECT_EQ(launcher(kOpenMpi4).major, 4);
  EXPECT_EQ(launcher(kOpenMpi5).name(), "Open MPI 5.0.3");
  EXPECT_EQ(launcher("Open MPI 5.0.3").major, 5);
  EXPECT_EQ(launcher("prterun (PRRTE) 3.0.4").name(), "Open MPI");
  EXPECT_EQ(launcher("prterun (PRRTE) 3.0.4").major, 5);
  EXPECT_EQ(launcher("mpirun (OpenRTE) 2.1.1").major, 2);
  EXPECT_EQ(launcher(kMpich).name(), "MPICH 4.0.2");
  EXPECT_EQ(launcher("HYDRA build details:\n").name(), "MPICH");
  EXPECT_EQ(launcher(kIntel).name(), "Intel MPI 2021.11");
  EXPECT_EQ(launcher("Intel(R) MPI").kind, MpiKind::intel);
  EXPECT_EQ(launcher("something else 1.0").kind, MpiKind::unknown);
  EXPECT_EQ(launcher("").name(), "an unknown MPI");
  EXPECT_EQ(launcher(kMpich).family(), launcher(kIntel).family());
  EXPECT_NE(launcher(kMpich).family(), launcher(kOpenMpi5).family());
}

TEST(Mpi, CaseG9_OnlyFlagsThatTheLauncherKnows) {
  const RankStart four{4, false, false};
  EXPECT_EQ(words(kOpenMpi4, four), "/usr/bin/mpirun --bind-to none --host localhost:4 -np 4");
  EXPECT_EQ(words(kOpenMpi5, four), "/usr/bin/mpirun --bind-to none --host localhost:4 -np 4");
  EXPECT_EQ(words("mpirun (Open MPI) 1.10.7", four),
            "/usr/bin/mpirun --bind-to none --oversubscribe -np 4");
  EXPECT_EQ(words(kMpich, four), "/usr/bin/mpirun -np 4");
  EXPECT_EQ(words(kIntel, four), "/usr/bin/mpirun -genv I_MPI_PIN off -np 4");
  EXPECT_EQ(words("nobody knows", four), "/usr/bin/mpirun -n 4");
}

TEST(Mpi, CaseG1_RanksThatShareCoresYield) {
  const RankStart shared{8, true, false};
  EXPECT_EQ(words(kOpenMpi4, shared),
            "/usr/bin/mpirun --bind-to none --host localhost:8 --mca mpi_yield_when_idle 1 -np 8");
  EXPECT_EQ(words(kMpich, shared), "/usr/bin/mpirun -np 8");
}

TEST(Mpi, HostsOfASurroundingJobAreLeftAlone) {
  const RankStart inside{2, false, true};
  EXPECT_THAT(words(kOpenMpi4, inside), HasSubstr("--mca ras ^slurm"));
  EXPECT_THAT(words(kOpenMpi5, inside), HasSubstr("--prtemca ras ^slurm"));
  EXPECT_EQ(words(kMpich, inside), "/usr/bin/mpirun -launcher fork -hosts localhost -np 2");
  EXPECT_EQ(words(kIntel, inside),
            "/usr/bin/mpirun -genv I_MPI_PIN off -bootstrap fork -hosts localhost -np 2");
  EXPECT_TRUE(inside_scheduler({{"SLURM_JOB_ID", "7"}}));
  EXPECT_FALSE(inside_scheduler({{"PATH", "/bin"}}));
}

TEST(Mpi, CaseG3_TheLibraryThatAProgramIsLinkedWith) {
  const std::string rest = "\tlinux-vdso.so.1 (0x7ffc)\n\tlibc.so.6 => /lib/libc.so.6 (0x7f00)\n";
  EXPECT_EQ(mpi_library(rest), std::nullopt);
  EXPECT_EQ(mpi_library(rest + "\tlibmpi.so.40 => /lib/x86_64-linux-gnu/libmpi.so.40 (0x7f)\n"),
            (MpiLibrary{"/lib/x86_64-linux-gnu/libmpi.so.40", MpiFamily::open_mpi}));
  EXPECT_EQ(mpi_library("\tlibmpich.so.12 => /lib/libmpich.so.12 (0x7f)\n" + rest),
            (MpiLibrary{"/lib/libmpich.so.12", MpiFamily::mpich}));
  EXPECT_EQ(mpi_library("\tlibmpi.so.12 => /opt/intel/libmpi.so.12 (0x7f)\n"),
            (MpiLibrary{"/opt/intel/libmpi.so.12", MpiFamily::mpich}));
  EXPECT_EQ(mpi_library("\tlibmpi.so.40 => not found\n"),
            (MpiLibrary{"libmpi.so.40", MpiFamily::open_mpi}));
}

TEST(Mpi, CaseG2_RootNeedsBothVariables) {
  const MpiLauncher open_mpi = launcher(kOpenMpi4);
  MpiVariables variables;
  EXPECT_TRUE(refuses_root(open_mpi, variables, true));
  EXPECT_FALSE(refuses_root(open_mpi, variables, false));
  EXPECT_FALSE(refuses_root(launcher(kMpich), variables, true));
  variables["OMPI_ALLOW_RUN_AS_ROOT"] = "1";
  EXPECT_TRUE(refuses_root(open_mpi, variables, true));
  variables["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1";
  EXPECT_FALSE(refuses_root(open_mpi, variables, true));
  EXPECT_THAT(root_remedy(open_mpi), HasSubstr("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"));
}

TEST(Mpi, CaseG3_CopiesThatDoNotKnowEachOtherAreFound) {
  const MpiLauncher open_mpi = launcher(kOpenMpi4);
  EXPECT_EQ(rank_trouble(open_mpi, 2, 0, "seedbed-rank 1 2\nseedbed-rank 0 2\n"), std::nullopt);
  EXPECT_EQ(rank_trouble(open_mpi, 2, 0, "a banner\n[1] seedbed-rank 1 2\nseedbed-rank 0 2\n"),
            std::nullopt);
  EXPECT_THAT(rank_trouble(open_mpi, 2, 0, "seedbed-rank -1 -1\nseedbed-rank -1 -1\n").value(),
              HasSubstr("started 2 processes for 2 ranks, and none of them knew"));
  EXPECT_THAT(rank_trouble(open_mpi, 2, 0, "seedbed-rank 0 1\nseedbed-rank 0 1\n").value(),
              HasSubstr("rank 0 of 1"));
  EXPECT_THAT(rank_trouble(open_mpi, 2, 0, "seedbed-rank 0 2\n").value(),
              HasSubstr("started 1 process for 2 ranks"));
  EXPECT_THAT(
      rank_trouble(open_mpi, 2, 1, "-----\nThere are not enough slots\n-----\nmore\n").value(),
      HasSubstr("exit code 1: There are not enough slots / more"));
}

TEST(Mpi, NamesOfLaunchers) {
  for (const char* word : {"mpirun", "/opt/ompi/bin/mpiexec", "mpirun.mpich", "mpiexec.hydra"}) {
    EXPECT_TRUE(is_mpi_launcher(word)) << word;
  }
  for (const char* word : {"python3", "mpirunner", "", "/usr/bin/env", "srun"}) {
    EXPECT_FALSE(is_mpi_launcher(word)) << word;
  }
}

}  // namespace
}  // namespace seedbed
