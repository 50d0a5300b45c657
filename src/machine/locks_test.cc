#include "machine/locks.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace seedbed {
namespace {

Allocation of_cores(std::vector<int> cores) {
  Allocation allocation;
  allocation.cores = std::move(cores);
  return allocation;
}

std::string own_space() { return "test-" + std::to_string(::getpid()) + "/"; }

TEST(MachineLocks, WhatOneHoldsNobodyElseTakes) {
  MachineLocks one(own_space());
  MachineLocks other(own_space());
  EXPECT_TRUE(one.take({1, 1}, of_cores({0, 1})).empty());
  const Held held = other.take({1, 1}, of_cores({1, 2}));
  EXPECT_EQ(held.cores, (std::set<int>{1}));
  EXPECT_TRUE(other.of({1, 1}).empty()) << "all or nothing";
  other.settle();
  EXPECT_TRUE(one.take({2, 1}, of_cores({2})).empty()) << "the other has let go of 2";
  one.give_back({1, 1});
  EXPECT_FALSE(other.take({1, 1}, of_cores({1})).empty()) << "kept for the next of the same turn";
  one.settle();
  EXPECT_TRUE(other.take({1, 1}, of_cores({0, 1})).empty());
}

TEST(MachineLocks, LongNamesAreToldApartByAHashOfTheWhole) {
  const std::string space = own_space() + std::string(300, 'x');
  MachineLocks one(space);
  MachineLocks same(space);
  MachineLocks other(space + "y");
  ASSERT_TRUE(one.take({1, 1}, of_cores({0})).empty());
  EXPECT_FALSE(same.take({1, 1}, of_cores({0})).empty());
  EXPECT_TRUE(same.take({1, 1}, of_cores({1})).empty());
  EXPECT_TRUE(other.take({1, 1}, of_cores({0, 1})).empty());
  Allocation device;
  device.devices = {{std::string(200, 'd') + "1", 1}};
  Allocation twin;
  twin.devices = {{std::string(200, 'd') + "2", 1}};
  EXPECT_TRUE(one.take({2, 1}, device).empty());
  EXPECT_TRUE(same.take({2, 1}, twin).empty());
  EXPECT_FALSE(same.take({3, 1}, device).empty());
}

TEST(MachineLocks, SharesOfADeviceAreOfOneStudy) {
  MachineLocks one(own_space());
  MachineLocks other(own_space());
  Allocation share;
  share.devices = {{"GPU-a", 0.5}};
  EXPECT_TRUE(one.take({1, 1}, share).empty());
  EXPECT_TRUE(one.take({2, 1}, share).empty());
  EXPECT_EQ(other.take({1, 1}, share).devices, (std::set<std::string>{"GPU-a"}));
  one.give_back({1, 1});
  one.settle();
  EXPECT_FALSE(other.take({1, 1}, share).empty()) << "the second share holds it";
  one.give_back({2, 1});
  one.settle();
  EXPECT_TRUE(other.take({1, 1}, share).empty());
}

TEST(MachineLocks, ALookTellsOthersAndTakesNothing) {
  MachineLocks one(own_space());
  MachineLocks other(own_space());
  Inventory inventory;
  inventory.cores = {{0, 0}, {1, 1}, {2, 2}};
  inventory.devices = {{"0", "GPU-a", 0, 0, -1, ""}, {"1", "GPU-b", 1, 0, -1, ""}};
  Allocation some = of_cores({1});
  some.devices = {{"GPU-b", 1}};
  ASSERT_TRUE(one.take({1, 1}, some).empty());
  EXPECT_TRUE(one.look(inventory, {}).empty()) << "its own are not others'";
  EXPECT_EQ(other.look(inventory, {}), (Held{{1}, {"GPU-b"}}));
  EXPECT_EQ(other.look(inventory, {{1}, {}}), (Held{{}, {"GPU-b"}}));
  inventory.shared_cores = true;
  EXPECT_EQ(other.look(inventory, {}), (Held{{}, {"GPU-b"}}));
  EXPECT_TRUE(one.take({2, 1}, of_cores({0, 2})).empty());
}

TEST(MachineLocks, CaseF5_APassedDescriptorHoldsAfterItsMaker) {
  // A child takes it as a shim would have it; the parent that bound it lets go.
  MachineLocks other(own_space());
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  auto one = std::make_unique<MachineLocks>(own_space());
  ASSERT_TRUE(one->take({1, 1}, of_cores({5})).empty());
  const pid_t child = ::fork();
  if (child == 0) {
    if (::write(ready[1], "x", 1) != 1) ::_exit(1);
    ::pause();
    ::_exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  one.reset();
  EXPECT_EQ(other.take({1, 1}, of_cores({5})).cores, (std::set<int>{5}));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(other.take({1, 1}, of_cores({5})).empty()) << "gone with its last holder";
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(MachineLocks, LongNamesStayApart) {
  MachineLocks one(own_space());
  MachineLocks other(own_space());
  Allocation a, b;
  a.devices = {{std::string(200, 'x') + "a", 1}};
  b.devices = {{std::string(200, 'x') + "b", 1}};
  EXPECT_TRUE(one.take({1, 1}, a).empty());
  EXPECT_TRUE(other.take({1, 1}, b).empty());
  EXPECT_FALSE(other.take({2, 1}, a).empty());
}

}  // namespace
}  // namespace seedbed
