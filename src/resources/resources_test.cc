#include "resources/resources.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/random.h"

namespace seedbed {
namespace {

Inventory machine(int cores, std::uint32_t slots = 1000) {
  Inventory inventory;
  for (int i = 0; i < cores; ++i) inventory.cores.push_back({i, i, 0, 0});
  inventory.slots = slots;
  return inventory;
}

Request cpus(double count) {
  Request request;
  request.cpus = count;
  return request;
}

Allocation must_lend(Placement& placement, const Request& request) {
  const auto allocation = placement.place(request);
  EXPECT_TRUE(allocation.has_value());
  if (!allocation) return {};
  placement.lend(*allocation);
  return *allocation;
}

Device device(const std::string& word, std::uint64_t memory = 0, int numa = -1) {
  Device device;
  device.word = word;
  device.memory = memory;
  device.numa = numa;
  return device;
}

TEST(Placement, WholeCoresAreLentOnceEach) {
  Placement placement(machine(4));
  std::set<int> cores;
  for (int i = 0; i < 4; ++i) {
    const Allocation lent = must_lend(placement, cpus(1));
    ASSERT_EQ(lent.cores.size(), 1U);
    EXPECT_TRUE(cores.insert(lent.cores[0]).second);
    EXPECT_EQ(lent.slot, static_cast<SlotNumber>(i));
  }
  EXPECT_FALSE(placement.place(cpus(1)));
  EXPECT_EQ(placement.shortage(cpus(1)), "1 core needed, 4 of 4 lent");
}

TEST(Placement, GivenBackCoresAndTheLowestSlotAreUsedAgain) {
  Placement placement(machine(3));
  must_lend(placement, cpus(1));
  const Allocation second = must_lend(placement, cpus(1));
  must_lend(placement, cpus(1));
  placement.give_back(second);
  EXPECT_EQ(must_lend(placement, cpus(1)), second);
}

TEST(Placement, FractionsShareACoreLeastLoadedFirst) {
  Placement placement(machine(2));
  std::vector<int> at;
  for (int i = 0; i < 4; ++i) at.push_back(must_lend(placement, cpus(0.5)).cores.at(0));
  EXPECT_EQ(at, (std::vector<int>{0, 1, 0, 1}));
  EXPECT_FALSE(placement.place(cpus(0.5)));
}

TEST(Placement, TenTenthsFillACoreExactly) {
  Placement placement(machine(1));
  for (int i = 0; i < 10; ++i) must_lend(placement, cpus(0.1));
  EXPECT_FALSE(placement.place(cpus(0.1)));
}

TEST(Placement, AFractionBesideWholeCoresIsPacked) {
  Placement placement(machine(6));
  for (int i = 0; i < 4; ++i) must_lend(placement, cpus(1.5));
  EXPECT_FALSE(placement.place(cpus(0.1)));
}

TEST(Placement, CoresAreCountedPerRank) {
  Placement placement(machine(4));
  Request request = cpus(1);
  request.ranks = 4;
  EXPECT_EQ(must_lend(placement, request).cores, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_FALSE(placement.place(cpus(1)));
}

TEST(Placement, SeveralCoresComeFromOneNumaNodeAndHyperthreadsAreAvoided) {
  Inventory inventory;
  for (int i = 0; i < 8; ++i) inventory.cores.push_back({i, i % 2, i / 4, i / 4});
  inventory.slots = 8;
  Placement placement(inventory);
  EXPECT_EQ(must_lend(placement, cpus(1)).cores, (std::vector<int>{0}));
  EXPECT_EQ(must_lend(placement, cpus(1)).cores, (std::vector<int>{1})) << "2 shares a core with 0";
  EXPECT_EQ(must_lend(placement, cpus(2)).cores, (std::vector<int>{2, 3})) << "tightest node";
  EXPECT_EQ(must_lend(placement, cpus(4)).cores, (std::vector<int>{4, 5, 6, 7}));
}

TEST(Placement, SharedCoresPinNothingAndSlotsAloneBound) {
  Inventory inventory = machine(1, 3);
  inventory.shared_cores = true;
  Placement placement(inventory);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(must_lend(placement, cpus(1)).cores.empty());
  EXPECT_FALSE(placement.place(cpus(1)));
  EXPECT_EQ(placement.shortage(cpus(1)), "all 3 slots are taken");
}

TEST(Placement, CaseE6_StatedMemoryBoundsTheTrialsAtOnce) {
  Inventory inventory = machine(8);
  inventory.memory = 10'000;
  Placement placement(inventory);
  Request request = cpus(1);
  request.memory = 4'000;
  must_lend(placement, request);
  must_lend(placement, request);
  EXPECT_FALSE(placement.place(request));
  EXPECT_NE(placement.shortage(request).find("memory"), std::string::npos);
}

TEST(Placement, UnknownMemoryIsNotEnforced) {
  Placement placement(machine(1));
  Request request = cpus(1);
  request.memory = 1ULL << 50;
  EXPECT_TRUE(placement.can_ever_fit(request));
  EXPECT_TRUE(placement.place(request));
}

TEST(Placement, NamedResourcesAreCounted) {
  Inventory inventory = machine(8);
  inventory.named["licence"] = 0.3;
  Placement placement(inventory);
  Request request = cpus(1);
  request.named["licence"] = 0.1;
  for (int i = 0; i < 3; ++i) must_lend(placement, request);
  EXPECT_FALSE(placement.place(request));
}

TEST(Placement, WholeDevicesAreLentOnceAndSharesSpread) {
  Inventory inventory = machine(8);
  inventory.devices = {device("4"), device("5")};
  Placement placement(inventory);
  Request share = cpus(1);
  share.gpus = 0.5;
  std::vector<std::string> at;
  for (int i = 0; i < 4; ++i) at.push_back(must_lend(placement, share).devices.at(0).device);
  EXPECT_EQ(at, (std::vector<std::string>{"4", "5", "4", "5"}));
  EXPECT_FALSE(placement.place(share));
  Request whole = cpus(1);
  whole.gpus = 2;
  Placement empty(inventory);
  EXPECT_EQ(must_lend(empty, whole).devices, (std::vector<DeviceShare>{{"4", 1.0}, {"5", 1.0}}));
  EXPECT_FALSE(empty.place(share));
}

TEST(Placement, ThreeTimesThreeTenthsOfADeviceFitInOne) {
  Inventory inventory = machine(8);
  inventory.devices = {device("0")};
  Placement placement(inventory);
  Request share = cpus(1);
  share.gpus = 0.3;
  for (int i = 0; i < 3; ++i) must_lend(placement, share);
  EXPECT_FALSE(placement.place(share));
}

TEST(Placement, DeviceMemoryTakesItsPartOfADevice) {
  Inventory inventory = machine(8);
  inventory.devices = {device("0", 10'000), device("1", 2'000)};
  Placement placement(inventory);
  Request request = cpus(1);
  request.gpu_memory = 5'000;
  EXPECT_EQ(must_lend(placement, request).devices.at(0).device, "0");
  EXPECT_EQ(must_lend(placement, request).devices.at(0).device, "0");
  EXPECT_FALSE(placement.place(request));
}

TEST(Placement, MemoryOnMixedDevicesGoesWhereItFits) {
  Inventory inventory = machine(8);
  inventory.devices = {device("small", 6), device("large", 24), device("middle", 16)};
  Placement placement(inventory);
  Request request = cpus(1);
  request.gpu_memory = 8;
  std::vector<std::string> at;
  while (auto place = placement.place(request)) {
    at.push_back(place->devices.at(0).device);
    placement.lend(*place);
  }
  std::sort(at.begin(), at.end());
  EXPECT_EQ(at, (std::vector<std::string>{"large", "large", "large", "middle", "middle"}));
}

TEST(Placement, CoresAreOnTheNodeOfTheDevice) {
  Inventory inventory;
  for (int i = 0; i < 8; ++i) inventory.cores.push_back({i, i, i / 4, i / 4});
  inventory.slots = 8;
  inventory.devices = {device("a", 0, 1), device("b", 0, 0)};
  Placement placement(inventory);
  Request request = cpus(1);
  request.gpus = 1;
  const Allocation first = must_lend(placement, request);
  EXPECT_EQ(first.devices.at(0).device, "a");
  EXPECT_EQ(first.cores, (std::vector<int>{4}));
  EXPECT_EQ(must_lend(placement, request).cores, (std::vector<int>{0}));
  Request wide = cpus(2);
  wide.gpus = 1;
  placement.give_back(first);
  EXPECT_EQ(must_lend(placement, wide).cores, (std::vector<int>{4, 5}));
}

TEST(Placement, CaseF5_NothingNewGoesWhereOthersAre) {
  Inventory inventory = machine(4);
  inventory.devices = {device("a"), device("b")};
  Placement placement(inventory);
  placement.set_held({{0, 2}, {"a"}});
  Request request = cpus(1);
  request.gpus = 1;
  const Allocation lent = must_lend(placement, request);
  EXPECT_EQ(lent.cores, (std::vector<int>{1}));
  EXPECT_EQ(lent.devices, (std::vector<DeviceShare>{{"b", 1}}));
  EXPECT_EQ(placement.shortage(request),
            "1 GPU needed, none of 2 has room; others hold 2 cores "
            "and 1 GPU");
  EXPECT_EQ(must_lend(placement, cpus(1)).cores, (std::vector<int>{3}));
  EXPECT_EQ(placement.shortage(cpus(1)),
            "1 core needed, 2 of 4 lent; others hold 2 cores and 1 GPU");
  placement.set_held({});
  EXPECT_EQ(must_lend(placement, request).cores, (std::vector<int>{0}));
}

TEST(Placement, WhatIsHeldAndLentToUsIsCountedOnce) {
  Placement placement(machine(2));
  const Allocation lent = must_lend(placement, cpus(1));
  placement.set_held({{0}, {}});  // the lock of an adopted attempt looks like another's
  EXPECT_EQ(must_lend(placement, cpus(1)).cores, (std::vector<int>{1}));
  placement.give_back(lent);
  EXPECT_FALSE(placement.place(cpus(1)));
  placement.set_held({});
  EXPECT_EQ(must_lend(placement, cpus(1)).cores, (std::vector<int>{0}));
}

TEST(Placement, WhoInsistsRunsUnpinnedBesideOthersButNeverOnTheirDevices) {
  Inventory inventory = machine(2, 2);
  inventory.insists = true;
  inventory.devices = {device("a")};
  Placement placement(inventory);
  placement.set_held({{0, 1}, {"a"}});
  const Allocation lent = must_lend(placement, cpus(1));
  EXPECT_TRUE(lent.cores.empty());
  EXPECT_TRUE(must_lend(placement, cpus(1)).cores.empty());
  EXPECT_FALSE(placement.place(cpus(1))) << "no more slots";
  placement.give_back(lent);
  Request request = cpus(1);
  request.gpus = 1;
  EXPECT_FALSE(placement.place(request));
}

TEST(Placement, FewerSlotsOnlyStopNewPlacements) {
  Placement placement(machine(8, 4));
  std::vector<Allocation> lent;
  for (int i = 0; i < 4; ++i) lent.push_back(must_lend(placement, cpus(1)));
  placement.set_slots(2, cpus(1));
  placement.give_back(lent[0]);
  placement.give_back(lent[1]);
  EXPECT_FALSE(placement.place(cpus(1))) << "slots 2 and 3 are still lent: two at once";
  placement.give_back(lent[2]);
  EXPECT_EQ(must_lend(placement, cpus(1)).slot, 0U);
  placement.set_slots(0, cpus(1));
  EXPECT_FALSE(placement.place(cpus(1)));
}

TEST(Placement, MoreSlotsThanCoresShareThemFromThenOn) {
  Placement placement(machine(2, 1));
  const Allocation pinned = must_lend(placement, cpus(1));
  EXPECT_EQ(pinned.cores.size(), 1U);
  placement.set_slots(3, cpus(1));
  EXPECT_TRUE(must_lend(placement, cpus(1)).cores.empty());
  EXPECT_TRUE(must_lend(placement, cpus(1)).cores.empty());
  EXPECT_FALSE(placement.place(cpus(1))) << "three at once";
  placement.set_slots(2, cpus(1));
  placement.give_back(pinned);
  EXPECT_FALSE(placement.place(cpus(1))) << "the two unpinned ones are still there";
}

TEST(Placement, AdoptedAllocationsOfAnotherInventoryCountWhereTheyCan) {
  Placement placement(machine(2));
  Allocation unpinned;
  unpinned.slot = 7;
  placement.lend(unpinned);
  Allocation foreign;
  foreign.slot = 9;
  foreign.cores = {63};
  placement.lend(foreign);
  must_lend(placement, cpus(1));
  EXPECT_FALSE(placement.place(cpus(1))) << "one of the two cores is in use unpinned";
  placement.give_back(unpinned);
  EXPECT_TRUE(placement.place(cpus(1)));
  placement.give_back(foreign);
}

TEST(Placement, CanEverFitStatesBothNumbers) {
  Inventory inventory = machine(4);
  inventory.memory = 1024;
  inventory.devices = {device("0", 100)};
  const Placement placement(inventory);
  const auto message = [&](const Request& request) {
    const Status status = placement.can_ever_fit(request);
    return status ? std::string() : status.error().message;
  };
  EXPECT_EQ(message(cpus(4)), "");
  EXPECT_NE(message(cpus(5)).find("needs 5 cores, 4 are usable"), std::string::npos);
  Request request = cpus(1);
  request.memory = 2048;
  EXPECT_NE(message(request).find("2.0 KiB"), std::string::npos) << message(request);
  request = cpus(1);
  request.gpus = 2;
  EXPECT_NE(message(request).find("needs 2 GPUs, 1 are there"), std::string::npos);
  request.gpus = 1.5;
  EXPECT_NE(message(request).find("neither a whole number"), std::string::npos);
  request.gpus = 0;
  request.gpu_memory = 200;
  EXPECT_NE(message(request).find("0 are there"), std::string::npos);
  request = cpus(1);
  request.named["tokens"] = 1;
  EXPECT_NE(message(request).find("needs 1 of `tokens`, there are 0"), std::string::npos);
  request = cpus(1);
  request.ranks = 6;  // case G1
  EXPECT_NE(message(request).find("its 6 ranks of 1 core each need 6, 4 are usable"),
            std::string::npos);
  EXPECT_NE(message(request).find("resources: {cpus: 0.5}"), std::string::npos);
  request.ranks = 17;
  EXPECT_NE(message(request).find("resources: {cpus: 0.2}"), std::string::npos);
  request = cpus(1);
  request.ranks = 0;
  EXPECT_NE(message(request), "");
  Inventory shared = inventory;
  shared.shared_cores = true;
  EXPECT_TRUE(Placement(shared).can_ever_fit(cpus(64)));
}

TEST(PlacementDeathTest, LendingTwiceStopsTheProgram) {
  Placement placement(machine(2));
  const Allocation lent = must_lend(placement, cpus(1));
  EXPECT_DEATH(placement.lend(lent), "");
  Allocation same_core = lent;
  same_core.slot = 1;
  EXPECT_DEATH(placement.lend(same_core), "");
  EXPECT_DEATH(
      {
        placement.give_back(lent);
        placement.give_back(lent);
      },
      "");
}

/// Sums over what is lent never exceed what there is, whatever the order of lending and returning.
TEST(PlacementProperty, NothingIsEverLentTwice) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed, 1);
    Inventory inventory = machine(1 + static_cast<int>(random.below(9)),
                                  1 + static_cast<std::uint32_t>(random.below(12)));
    for (Core& core : inventory.cores) core.numa = static_cast<int>(random.below(2));
    for (std::uint64_t i = random.below(4); i > 0; --i) {
      inventory.devices.push_back(device(std::to_string(inventory.devices.size()), 1000));
    }
    inventory.memory = random.below(2) * 5000;
    inventory.named["n"] = static_cast<double>(random.below(4));
    Placement placement(inventory);
    std::map<SlotNumber, Allocation> lent;
    for (int step = 0; step < 200; ++step) {
      if (!lent.empty() && random.below(5) < 2) {
        auto chosen = lent.begin();
        std::advance(chosen, static_cast<long>(random.below(lent.size())));
        placement.give_back(chosen->second);
        lent.erase(chosen);
        continue;
      }
      Request request = cpus(static_cast<double>(random.below(30)) / 10);
      request.ranks = 1 + static_cast<int>(random.below(2));
      const double gpus[] = {0, 0, 0.2, 0.3, 0.5, 1, 2};
      request.gpus = gpus[random.below(7)];
      request.memory = random.below(2000);
      if (random.below(3) == 0) request.named["n"] = static_cast<double>(random.below(3));
      const auto allocation = placement.place(request);
      EXPECT_EQ(allocation.has_value(), placement.shortage(request).empty());
      EXPECT_EQ(Placement(inventory).place(request).has_value(),
                placement.can_ever_fit(request).has_value());
      if (!allocation) continue;
      ASSERT_TRUE(placement.can_ever_fit(request)) << "seed " << seed;
      placement.lend(*allocation);
      ASSERT_TRUE(lent.emplace(allocation->slot, *allocation).second);
      ASSERT_LT(allocation->slot, inventory.slots);

      std::map<int, double> cores;
      std::map<std::string, double> devices;
      double memory = 0, named = 0, total = 0;
      for (const auto& [slot, held] : lent) {
        const double fraction = held.cpus - std::floor(held.cpus + 1e-9);
        for (std::size_t i = 0; i < held.cores.size(); ++i) {
          const bool last = i + 1 == held.cores.size();
          cores[held.cores[i]] += last && fraction > 1e-9 ? fraction : 1;
        }
        std::set<std::string> own;
        for (const DeviceShare& share : held.devices) {
          ASSERT_TRUE(own.insert(share.device).second) << "two shares of one device";
          devices[share.device] += share.share;
        }
        memory += static_cast<double>(held.memory);
        for (const auto& [name, value] : held.named) named += value;
        total += held.cpus;
      }
      for (const auto& [core, load] : cores) ASSERT_LE(load, 1 + 1e-6) << "seed " << seed;
      for (const auto& [device, load] : devices) ASSERT_LE(load, 1 + 1e-6) << "seed " << seed;
      ASSERT_LE(total, static_cast<double>(inventory.cores.size()) + 1e-6);
      if (inventory.memory > 0) {
        ASSERT_LE(memory, static_cast<double>(inventory.memory));
      }
      ASSERT_LE(named, inventory.named["n"] + 1e-6);
      ASSERT_LE(lent.size(), inventory.slots);
    }
  }
}

}  // namespace
}  // namespace seedbed
