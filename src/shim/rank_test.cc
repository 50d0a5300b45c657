#include "shim/rank.h"

#include <gtest/gtest.h>

#include <map>

#include "shim/rank_file.h"

namespace seedbed::shim {
namespace {

std::map<std::string, const char*> variables;
const char* get(const char* name) {
  const auto found = variables.find(name);
  return found == variables.end() ? nullptr : found->second;
}

TEST(Rank, IdentityComesFromTheLauncherThatIsNearest) {
  variables = {};
  EXPECT_EQ(rank_identity(get).rank, -1);
  variables = {{"PMI_RANK", "2"}, {"PMI_SIZE", "4"}, {"SLURM_PROCID", "0"}};
  EXPECT_EQ(rank_identity(get).rank, 2);
  EXPECT_EQ(rank_identity(get).size, 4);
  EXPECT_FALSE(rank_identity(get).open_mpi);
  variables["OMPI_COMM_WORLD_RANK"] = "1";
  variables["OMPI_COMM_WORLD_SIZE"] = "3";
  EXPECT_EQ(rank_identity(get).rank, 1);
  EXPECT_EQ(rank_identity(get).size, 3);
  EXPECT_TRUE(rank_identity(get).open_mpi);
  variables = {{"PMIX_RANK", "x"}};
  EXPECT_EQ(rank_identity(get).rank, -1);
}

TEST(Rank, CaseG7_LinesWrittenInPiecesStayWholeAndAreMarked) {
  RankLines lines("[rank 2] ");
  EXPECT_EQ(lines.take("rank"), "");
  EXPECT_EQ(lines.take(" 2 loss=2\nnext"), "[rank 2] rank 2 loss=2\n");
  EXPECT_EQ(lines.take("\n\n"), "[rank 2] next\n\n");
  EXPECT_EQ(lines.take("\r 10%\r 20%"), "\r[rank 2]  10%\r");
  EXPECT_EQ(lines.finish(), "[rank 2]  20%\n");
  EXPECT_EQ(lines.finish(), "");
  RankLines first("");
  EXPECT_EQ(first.take("loss=0\nacc"), "loss=0\n");
  EXPECT_EQ(first.finish(), "acc\n");
  const std::string long_text(70'000, 'x');
  EXPECT_EQ(lines.take(long_text), "[rank 2] " + long_text);
}

TEST(Rank, CaseG3_ALibraryOfTheOtherMpiIsSeen) {
  const std::string start = "7f00-7f01 r-xp 00000000 08:01 77    /usr/lib/";
  const std::string open_mpi = start + "libmpi.so.40.30.4\n",
                    mpich = start + "libmpich.so.12.2.2\n";
  const std::string intel = "7f00 r-xp 1 /opt/intel/mpi/lib/release/libmpi.so.12.0.0\n";
  const std::string other = start + "libc.so.6\n7ffd-7ffe rw-p 00000000 00:00 0   [stack]\n";
  EXPECT_EQ(foreign_mpi(other, true), std::nullopt);
  EXPECT_EQ(foreign_mpi(other + open_mpi, true), "");
  EXPECT_EQ(foreign_mpi(other + mpich, false), "");
  EXPECT_EQ(foreign_mpi(intel, false), "");
  EXPECT_EQ(foreign_mpi(other + mpich, true), "/usr/lib/libmpich.so.12.2.2");
  EXPECT_EQ(foreign_mpi(intel + other, true), "/opt/intel/mpi/lib/release/libmpi.so.12.0.0");
  EXPECT_EQ(foreign_mpi(open_mpi, false), "/usr/lib/libmpi.so.40.30.4");
  EXPECT_EQ(foreign_mpi(open_mpi + mpich, false), "");
}

TEST(RankFile, TheFirstEndCounts) {
  const auto facts = parse_rank_facts("library /usr/lib/libmpich.so.12\n" +
                                      rank_end_line({2, OutcomeKind::signalled, 11}) +
                                      rank_end_line({0, OutcomeKind::exited, 3}) + "rank 1 exi");
  EXPECT_EQ(facts.first_end, (RankFacts::End{2, OutcomeKind::signalled, 11}));
  EXPECT_EQ(facts.foreign_library, "/usr/lib/libmpich.so.12");
  for (const char* bad : {"", "rank 1 exited 3", "rank x exited 3\n", "rank 1 exited\n",
                          "rank 1 lost 3\n", "rank 1 exited 3 more\n", "rank -1 exited 3\n"}) {
    EXPECT_FALSE(parse_rank_facts(bad).first_end) << bad;
  }
}

}  // namespace
}  // namespace seedbed::shim
