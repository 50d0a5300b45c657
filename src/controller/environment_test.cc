#include "controller/environment.h"

#include <gtest/gtest.h>

namespace seedbed {
namespace {

TEST(Environment, CaseJ9_KeepsTheUsersVariablesAndDropsThoseOfAnOuterStudy) {
  const Variables base =
      base_variables({{"PATH", "/bin"}, {"SEEDBED_TRIAL", "3"}, {"OMPI_MCA_btl", "tcp"}});
  EXPECT_EQ(base, (Variables{{"PATH", "/bin"}, {"OMPI_MCA_btl", "tcp"}}));
}

TEST(Environment, InsideARankTheVariablesOfTheRankAreRemoved) {
  const Variables base = base_variables({{"OMPI_COMM_WORLD_RANK", "1"},
                                         {"OMPI_MCA_btl", "tcp"},
                                         {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                                         {"PMIX_RANK", "1"},
                                         {"SLURM_PROCID", "0"},
                                         {"SLURM_JOB_ID", "7"},
                                         {"SLURM_CPU_BIND_LIST", "0x1"},
                                         {"SLURM_TASKS_PER_NODE", "2"}});
  EXPECT_EQ(base, (Variables{{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                             {"SLURM_JOB_ID", "7"},
                             {"SLURM_TASKS_PER_NODE", "2"}}));
}

TEST(Environment, CaseE1_DefaultsFollowTheCoresButNeverOverrideTheUser) {
  const Variables base = {{"OMP_NUM_THREADS", "5"}, {"PYTHONUNBUFFERED", ""}};
  Variables own = {{"MASTER_PORT", "7"}};
  add_default_variables(own, base, 2, "9");
  EXPECT_FALSE(own.contains("OMP_NUM_THREADS"));
  EXPECT_FALSE(own.contains("PYTHONUNBUFFERED"));
  EXPECT_EQ(own["MASTER_PORT"], "7");
  EXPECT_EQ(own["OPENBLAS_NUM_THREADS"], "2");
  EXPECT_EQ(own["NUMBA_NUM_THREADS"], "2");
}

TEST(Environment, CaseE1_FractionsOfACoreGetOneThread) {
  Allocation allocation;
  allocation.cpus = 0.5;
  EXPECT_EQ(threads_for(allocation), 1);
  allocation.cpus = 4;
  EXPECT_EQ(threads_for(allocation), 4);
  allocation.cpus = 2.5;
  EXPECT_EQ(threads_for(allocation), 2);
  allocation.cpus = 8;
  EXPECT_EQ(threads_for(allocation, 4), 2);  // each of four ranks
  EXPECT_EQ(threads_for(allocation, 16), 1);
}

TEST(Environment, ChangesAreWhatIsAddedChangedAndRemoved) {
  const Variables surroundings = {{"A", "1"}, {"B", "1"}, {"C", "1"}, {"E", "1"}};
  const Variables base = {{"A", "1"}, {"B", "1"}};
  const Variables own = {{"A", "1"}, {"B", "2"}, {"D", ""}, {"E", "1"}};
  const std::map<std::string, std::optional<std::string>> expected = {
      {"B", "2"}, {"C", std::nullopt}, {"D", ""}};
  EXPECT_EQ(changes(surroundings, base, own), expected);
}

TEST(Environment, OwnVariablesGoOverTheBase) {
  EXPECT_EQ(to_words({{"A", "1"}, {"B", "1"}}, {{"B", "2"}, {"C", ""}}),
            (std::vector<std::string>{"A=1", "B=2", "C="}));
}

TEST(Environment, ReadsWordsWithOddNames) {
  char first[] = "A=b=c", second[] = "=weird=x", third[] = "EMPTY=";
  char* words[] = {first, second, third, nullptr};
  const Variables variables = surrounding_variables(words);
  EXPECT_EQ(variables.at("A"), "b=c");
  EXPECT_EQ(variables.at("EMPTY"), "");
}

}  // namespace
}  // namespace seedbed
