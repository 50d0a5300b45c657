#include "machine.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

namespace seedbed::simulation {
namespace {

constexpr std::int64_t kUnsafeMs = 1500;  // what was written later than this may not survive a cut
const Outcome kStoppedByUs{OutcomeKind::stopped, 15, ""};
const Outcome kKilledByUs{OutcomeKind::stopped, 9, ""};

}  // namespace

void Machine::connect(LaunchListener* listener) {
  listener_ = listener;
  ++generation_;
  subscribed_.clear();
  told_.clear();
  stop_at_start_.clear();
}

/// News takes a moment, and stays in order for each attempt.
void Machine::tell(AttemptId id, const std::function<void(LaunchListener&)>& news) {
  if (listener_ == nullptr || !subscribed_.contains(id)) return;
  std::int64_t& latest = told_[id];
  latest = std::max(latest, scheduler_.now() + between(0, 3));
  LaunchListener* listener = listener_;
  scheduler_.after(latest - scheduler_.now(), Scheduler::Owner::controller,
                   [listener, news] { news(*listener); });
  if (chance(options_.said_twice)) {
    scheduler_.after(latest - scheduler_.now() + between(0, 400), Scheduler::Owner::controller,
                     [listener, news] { news(*listener); });
  }
}

void Machine::start(AttemptId id, const Allocation& allocation, const Point& point) {
  subscribed_.insert(id);
  promised_[id] = allocation;
  scheduler_.after(between(0, 5), Scheduler::Owner::world,
                   [this, id, allocation, point, generation = generation_, boot = boot_] {
                     if (boot == boot_) deliver_start(id, allocation, point, generation);
                   });
}

void Machine::deliver_start(AttemptId id, const Allocation& allocation, const Point& point,
                            std::uint64_t generation) {
  promised_.erase(id);
  const bool sender_lives = generation == generation_ && listener_ != nullptr;
  if (!sender_lives && chance(50)) return;  // the order died with the one who gave it
  if (!claims_.insert(id).second) {
    if (sender_lives) tell(id, [id](LaunchListener& l) { l.attempt_unclaimed(id); });
    return;
  }
  claimed_[id] = scheduler_.now();
  if (chance(options_.bad_program)) {
    ExitRecord record;
    record.attempt = id;
    record.outcome = {OutcomeKind::start_failed, 0, "no execute permission"};
    records_[id] = {record, scheduler_.now()};
    tell(id, [id](LaunchListener& l) { l.attempt_did_not_start(id, "no execute permission"); });
    return;
  }
  begin_program(id, allocation, point);
}

void Machine::check_nothing_shared(AttemptId id, const Allocation& allocation) const {
  std::map<int, double> cores;
  std::map<std::string, double> devices;
  const auto add = [&](const Allocation& one) {
    const double fraction = one.cpus - std::floor(one.cpus + 1e-9);
    for (std::size_t i = 0; i < one.cores.size(); ++i) {
      const bool last = i + 1 == one.cores.size();
      cores[one.cores[i]] += last && fraction > 1e-9 ? fraction : 1;
    }
    for (const DeviceShare& share : one.devices) devices[share.device] += share.share;
  };
  add(allocation);
  for (const auto& [other, tree] : trees_) {
    if (other.trial == id.trial) {
      throw Violation(fmt::format("{} begins while {} lives", id.text(), other.text()));
    }
    if (tree.allocation.slot == allocation.slot) {
      throw Violation(fmt::format("{} begins in the slot of {}", id.text(), other.text()));
    }
    add(tree.allocation);
  }
  for (const auto& [core, load] : cores) {
    if (neighbour_.cores.contains(core)) {
      throw Violation(fmt::format("core {} is lent by two studies", core));
    }
    if (load > 1 + 1e-6) throw Violation(fmt::format("core {} is lent twice", core));
  }
  for (const auto& [device, load] : devices) {
    if (neighbour_.devices.contains(device)) {
      throw Violation(fmt::format("device {} is lent by two studies", device));
    }
    if (load > 1 + 1e-6) throw Violation(fmt::format("device {} is lent twice", device));
  }
}

void Machine::neighbour_acts() {
  Held ours;
  const auto add = [&ours](const Allocation& one) {
    ours.cores.insert(one.cores.begin(), one.cores.end());
    for (const DeviceShare& share : one.devices) ours.devices.insert(share.device);
  };
  for (const auto& [id, tree] : trees_) add(tree.allocation);
  for (const auto& [id, allocation] : promised_) add(allocation);
  const Inventory& inventory = options_.config.inventory;
  for (const Core& core : inventory.cores) {
    if (neighbour_.cores.erase(core.number) > 0 || !chance(40)) continue;
    if (!ours.cores.contains(core.number)) neighbour_.cores.insert(core.number);
  }
  for (const Device& device : inventory.devices) {
    if (neighbour_.devices.erase(device.id()) > 0 || !chance(40)) continue;
    if (!ours.devices.contains(device.id())) neighbour_.devices.insert(device.id());
  }
}

void Machine::begin_program(AttemptId id, const Allocation& allocation, const Point& point) {
  check_nothing_shared(id, allocation);
  Tree& tree = trees_[id];
  tree.allocation = allocation;
  tree.serial = ++serial_;
  plan_life(id, tree, point);
  const auto pid = static_cast<std::int64_t>(1000 + tree.serial);
  tell(id, [id, pid](LaunchListener& l) {
    l.attempt_running(id, {pid, static_cast<std::uint64_t>(pid), "boot", "host"});
  });
  if (stop_at_start_.erase(id) > 0) stop(id);
}

void Machine::plan_life(AttemptId id, Tree& tree, const Point& point) {
  // What a program does depends on its parameters and the attempt, not on when it is run.
  Random fate(options_.sampler_key, hash_text(point.identity(), id.attempt));
  const auto happens = [&fate](std::uint64_t percent) { return fate.below(100) < percent; };
  Outcome end;
  if (happens(options_.fails)) end = {OutcomeKind::exited, 1, ""};
  if (happens(options_.is_killed)) end = {OutcomeKind::signalled, 11, ""};
  if (happens(options_.times_out)) end = {OutcomeKind::timed_out, 0, "time"};
  const auto life =
      static_cast<std::int64_t>(fate.below(static_cast<std::uint64_t>(options_.longest_ms) + 1));
  Log log;
  log.began_ms = scheduler_.now();
  const bool nan = happens(options_.reports_nan);
  const std::uint64_t points = happens(options_.silent) ? 0 : fate.below(6);
  for (std::uint64_t i = 1; i <= points; ++i) {
    const double value =
        nan && i == points ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(i);
    log.points.push_back({scheduler_.now() + life * static_cast<std::int64_t>(i) / 6, value});
  }
  logs_[id] = std::move(log);
  tree.end = end;
  end_main_at(id, life, end);
}

void Machine::end_main_at(AttemptId id, std::int64_t delay_ms, Outcome end) {
  const std::uint64_t serial = trees_.at(id).serial;
  scheduler_.after(delay_ms, Scheduler::Owner::world, [this, id, serial, end] {
    const auto tree = trees_.find(id);
    if (tree == trees_.end() || tree->second.serial != serial || !tree->second.main_lives) return;
    tree->second.end = end;
    if (tree->second.frozen) {
      tree->second.overdue = true;
      return;
    }
    main_ended(id);
  });
}

void Machine::freeze(AttemptId id, bool frozen) {
  const auto found = trees_.find(id);
  if (found == trees_.end() || !found->second.main_lives) return;
  Tree& tree = found->second;
  if (frozen && tree.asked) return;
  tree.frozen = frozen;
  if (!frozen && std::exchange(tree.overdue, false)) end_main_at(id, 1, tree.end);
}

void Machine::leave_record(AttemptId id, const Tree& tree) {
  ExitRecord record;
  record.attempt = id;
  record.outcome = tree.end;
  record.wall_ms = scheduler_.now() - logs_.at(id).began_ms;
  record.stop_asked = tree.asked;
  records_[id] = {record, scheduler_.now()};
}

void Machine::main_ended(AttemptId id) {
  Tree& tree = trees_.at(id);
  tree.main_lives = false;
  Log& log = logs_.at(id);
  log.ended_ms = scheduler_.now();
  log.end = tree.end;
  log.asked = tree.asked;
  const bool late = chance(options_.late_record);
  if (late) {
    // A shared disk that hangs: the record is there, but is seen only later.
    scheduler_.after(between(10, 3000), Scheduler::Owner::world, [this, id, tree, boot = boot_] {
      if (boot != boot_) return;
      leave_record(id, tree);
      const ExitRecord record = records_.at(id).record;
      tell(id, [record](LaunchListener& l) { l.attempt_ended(record); });
    });
  } else {
    leave_record(id, tree);
    const ExitRecord record = records_.at(id).record;
    tell(id, [record](LaunchListener& l) { l.attempt_ended(record); });
  }
  const std::int64_t lingers = chance(options_.lingers) ? between(1, 2000) : between(0, 2);
  // A launcher that cannot find the record yet either gives the attempt up or waits for it.
  const bool lost = late && chance(50);
  scheduler_.after(lingers, Scheduler::Owner::world, [this, id, serial = tree.serial, lost] {
    const auto found = trees_.find(id);
    if (found != trees_.end() && found->second.serial == serial) tree_gone(id, lost);
  });
}

void Machine::tree_gone(AttemptId id, bool lost) {
  trees_.erase(id);
  if (lost) {
    tell(id, [id](LaunchListener& l) { l.attempt_lost(id, "no exit record"); });
  } else {
    tell(id, [id](LaunchListener& l) { l.attempt_tree_gone(id); });
  }
}

void Machine::stop(AttemptId id) {
  const auto tree = trees_.find(id);
  if (tree == trees_.end()) {
    if (!claims_.contains(id)) stop_at_start_.insert(id);
    return;
  }
  if (tree->second.asked || !tree->second.main_lives) return;
  tree->second.asked = true;
  freeze(id, false);
  Outcome end = kStoppedByUs;
  const std::uint64_t manners = random_.below(10);
  if (manners == 0) end = {OutcomeKind::exited, 0, ""};
  if (manners == 1) end = {OutcomeKind::exited, 1, ""};
  end_main_at(id, between(0, options_.grace_ms), end);
}

void Machine::kill(AttemptId id) {
  const auto tree = trees_.find(id);
  if (tree == trees_.end()) {
    if (!claims_.contains(id)) stop_at_start_.insert(id);
    return;
  }
  if (tree->second.main_lives) {
    tree->second.asked = true;
    freeze(id, false);
    return end_main_at(id, between(0, 3), kKilledByUs);
  }
  scheduler_.after(between(0, 3), Scheduler::Owner::world,
                   [this, id, serial = tree->second.serial] {
                     const auto found = trees_.find(id);
                     if (found == trees_.end() || found->second.serial != serial) return;
                     tree_gone(id, !records_.contains(id));
                   });
}

void Machine::leave() {
  for (const auto& [id, tree] : trees_) {
    if (tree.main_lives) kill(id);
  }
}

void Machine::adopt(const std::vector<OpenAttempt>& open) {
  for (const OpenAttempt& one : open) {
    const AttemptId id = one.attempt;
    subscribed_.insert(id);
    const auto tree = trees_.find(id);
    const auto record = records_.find(id);
    if (tree != trees_.end() && tree->second.main_lives) {
      freeze(id, false);  // a shim that a new controller greets
      const auto pid = static_cast<std::int64_t>(1000 + tree->second.serial);
      tell(id, [id, pid](LaunchListener& l) {
        l.attempt_running(id, {pid, static_cast<std::uint64_t>(pid), "boot", "host"});
      });
      continue;
    }
    if (record != records_.end() && !one.ended) {
      tell(id, [found = record->second.record](LaunchListener& l) { l.attempt_ended(found); });
    }
    if (tree != trees_.end()) continue;  // its end will be told
    if (record != records_.end() || one.ended) {
      tell(id, [id](LaunchListener& l) { l.attempt_tree_gone(id); });
    } else if (claims_.contains(id)) {
      tell(id, [id](LaunchListener& l) { l.attempt_lost(id, "no exit record"); });
    } else {
      claims_.insert(id);  // void: no shim can start it any more
      claimed_[id] = scheduler_.now();
      tell(id, [id](LaunchListener& l) { l.attempt_unclaimed(id); });
    }
  }
}

void Machine::kill_a_shim() {
  if (trees_.empty()) return;
  auto tree = trees_.begin();
  std::advance(tree, static_cast<std::ptrdiff_t>(random_.below(trees_.size())));
  const AttemptId id = tree->first;
  const bool ended = records_.contains(id);
  if (tree->second.main_lives) {
    logs_.at(id).ended_ms = scheduler_.now();
    tree->second.main_lives = false;
  }
  tree->second.serial = ++serial_;
  scheduler_.after(between(0, 20), Scheduler::Owner::world, [this, id, ended, serial = serial_] {
    const auto found = trees_.find(id);
    if (found == trees_.end() || found->second.serial != serial) return;
    tree_gone(id, !ended);
  });
}

void Machine::power_cut() {
  ++boot_;
  trees_.clear();
  promised_.clear();
  stop_at_start_.clear();
  for (auto record = records_.begin(); record != records_.end();) {
    const bool young = scheduler_.now() - record->second.written_ms < kUnsafeMs;
    record = young && chance(50) ? records_.erase(record) : std::next(record);
  }
  for (auto claim = claims_.begin(); claim != claims_.end();) {
    const bool young = scheduler_.now() - claimed_[*claim] < kUnsafeMs;
    const bool lost = young && !records_.contains(*claim) && chance(30);
    if (lost) logs_.erase(*claim);
    claim = lost ? claims_.erase(claim) : std::next(claim);
  }
  for (auto& [id, log] : logs_) {
    if (!log.ended_ms) log.ended_ms = scheduler_.now();
  }
}

std::vector<Machine::Written> Machine::written(AttemptId id) const {
  std::vector<Written> seen;
  const auto log = logs_.find(id);
  if (log == logs_.end()) return seen;
  for (const Written& point : log->second.points) {
    const bool before_end = !log->second.ended_ms || point.at_ms <= *log->second.ended_ms;
    if (before_end && point.at_ms <= scheduler_.now()) seen.push_back(point);
  }
  return seen;
}

std::optional<Outcome> Machine::true_end(AttemptId id) const {
  const auto log = logs_.find(id);
  return log == logs_.end() ? std::nullopt : log->second.end;
}

bool Machine::began(AttemptId id) const { return logs_.contains(id); }

bool Machine::succeeded(AttemptId id) const {
  const auto log = logs_.find(id);
  return log != logs_.end() && log->second.end && log->second.end->succeeded() &&
         !log->second.asked && records_.contains(id);
}

}  // namespace seedbed::simulation
