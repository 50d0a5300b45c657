#include "controller/ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace seedbed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Ranks, CaseG4_ARankHasCoresOfItsOwnThatAreNeighbours) {
  RankPlan plan;
  plan.ranks = 2;
  // Two hardware threads a core, numbered as most machines do: all first ones, then all second.
  for (int i = 0; i < 8; ++i) plan.cores.push_back(Core{i, i % 4, 0, 0});
  EXPECT_EQ(rank_cores({0, 1, 2, 3}, plan), "0,1;2,3");
  EXPECT_EQ(rank_cores({0, 1, 2, 3, 4, 5, 6, 7}, plan), "0,4,1,5;2,6,3,7");
  plan.ranks = 4;
  EXPECT_EQ(rank_cores({3, 2, 1, 0}, plan), "0;1;2;3");
  EXPECT_EQ(rank_cores({0, 1}, plan), "") << "two ranks a core: all of them on both";
  EXPECT_EQ(rank_cores({}, plan), "");
}

TEST(Ranks, CaseG4_BindingIsOffUnlessTheUserHasSaid) {
  Variables own;
  add_unbinding_variables(own, {{"PRTE_MCA_hwloc_default_binding_policy", "core"}});
  EXPECT_EQ(own, (Variables{{"OMPI_MCA_hwloc_base_binding_policy", "none"}}));
}

class FindMpi : public testing::Test {
 protected:
  FindMpi() {
    char pattern[] = "/tmp/seedbed-ranks-XXXXXX";
    folder_ = ::mkdtemp(pattern);
    request_.ranks = 4;
    inventory_.cores.resize(4);
    environment_ = {"PATH=" + folder_ + ":/usr/bin:/bin"};
  }
  ~FindMpi() override { std::filesystem::remove_all(folder_); }

  void launcher(const std::string& name, const std::string& version) {
    std::ofstream(folder_ + "/" + name) << "#!/bin/sh\necho '" << version << "'\n";
    ::chmod((folder_ + "/" + name).c_str(), 0755);
  }
  Result<MpiFindings> find(std::vector<std::string> argv, bool is_root = false) {
    return find_mpi({spec_, request_, inventory_, std::move(argv), environment_, folder_, "",
                     is_root, "/opt/seedbed-shim"});
  }

  std::string folder_;
  StudySpec spec_;
  Request request_;
  Inventory inventory_;
  std::vector<std::string> environment_;
};

TEST_F(FindMpi, TheDefaultOneStartsAProgramThatNeedsNone) {
  launcher("mpirun", "HYDRA build details: Version: 4.1");
  const auto found = find({"/bin/sh", "-c", "true"});
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_TRUE(found->plan);
  EXPECT_EQ(found->plan->launcher.name(), "MPICH 4.1");
  EXPECT_THAT(found->plan->words,
              ElementsAre(folder_ + "/mpirun", "-np", "4", HasSubstr("seedbed-shim"), "rank"));
}

TEST_F(FindMpi, CaseG9_TheNamedOneGoesBeforeTheDefault) {
  launcher("mpirun", "HYDRA build details: Version: 4.1");
  launcher("mine", "Intel(R) MPI Library for Linux* OS, Version 2021.11");
  spec_.resources.mpi = "mine";
  EXPECT_EQ(find({"/bin/true"})->plan->launcher.name(), "Intel MPI 2021.11");
  request_.ranks = 1;
  EXPECT_THAT(find({"/bin/true"})->warnings, ElementsAre(HasSubstr("no effect without `ranks`")));
  request_.ranks = 4;
  spec_.resources.mpi.clear();
  const auto by_variable = find_mpi({spec_,
                                     request_,
                                     inventory_,
                                     {"/bin/true"},
                                     environment_,
                                     folder_,
                                     "mine",
                                     false,
                                     "/opt/seedbed-shim"});
  EXPECT_EQ(by_variable->plan->launcher.name(), "Intel MPI 2021.11");
  spec_.resources.mpi = folder_ + "/none";
  EXPECT_THAT(find({"/bin/true"}).error().message, HasSubstr("is not found"));
}

TEST_F(FindMpi, CaseG2_RootIsRefusedOnceAndBeforeTheStart) {
  launcher("mpirun", "mpirun (Open MPI) 4.1.4");
  EXPECT_TRUE(find({"/bin/true"}, false));
  const auto refused = find({"/bin/true"}, true);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::machine);
  request_.ranks = 1;
  EXPECT_TRUE(find({"/bin/true"}, true));
  EXPECT_FALSE(find({"mpirun", "-np", "2", "x"}, true)) << "the user's own";
  EXPECT_TRUE(find({"mpirun", "--allow-run-as-root", "-np", "2", "x"}, true));
}

TEST_F(FindMpi, CaseG4_OnesOwnMpirunWithMoreRanksThanCoresIsTold) {
  launcher("mpirun", "mpirun (Open MPI) 4.1.4");
  request_.ranks = 1;
  const auto found = find({"env", "A=1", "mpirun", "-np", "4", "./x"});
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->plan);
  EXPECT_TRUE(found->unbind);
  EXPECT_THAT(found->warnings, ElementsAre(HasSubstr("starts 4 ranks (mpirun) on 1 core")));
  request_.cpus = 4;
  EXPECT_TRUE(find({"mpirun", "-np", "4", "./x"})->warnings.empty());
  request_.ranks = 2;
  EXPECT_EQ(find({"mpirun", "-np", "4", "./x"}).error().code, ErrorCode::usage);
}

}  // namespace
}  // namespace seedbed
