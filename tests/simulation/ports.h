#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "checker.h"
#include "controller/ports.h"
#include "env/clock.h"
#include "env/event_loop.h"
#include "machine.h"
#include "scheduler.h"
#include "store/memory_store.h"

// The ports of one controller's life. Each call may be the one at which it dies.

namespace seedbed::simulation {

/// Decides at which call of a port the controller dies.
class Fate {
 public:
  Fate(Random& random, const Options& options) : random_(random), options_(options) {}
  void call() {
    if (mortal && random_.below(1000) < options_.crash_in_port) throw Crash{};
  }
  bool mortal = false;

 private:
  Random& random_;
  const Options& options_;
};

class SimClock : public Clock {
 public:
  explicit SimClock(const Scheduler& scheduler) : scheduler_(scheduler) {}
  [[nodiscard]] Timestamp wall() const override { return {scheduler_.now() + offset_ms}; }
  [[nodiscard]] Milliseconds monotonic() const override { return Milliseconds(scheduler_.now()); }
  std::int64_t offset_ms = 1'700'000'000'000;

 private:
  const Scheduler& scheduler_;
};

class SimEventLoop : public EventLoop {
 public:
  SimEventLoop(Scheduler& scheduler, Random& random) : scheduler_(scheduler), random_(random) {}

  void post(Callback callback) override {
    scheduler_.after(0, Scheduler::Owner::controller, std::move(callback));
  }
  TimerId call_after(Milliseconds delay, Callback callback) override {
    return scheduler_.after(delay.count(), Scheduler::Owner::controller, std::move(callback));
  }
  void cancel(TimerId timer) override { scheduler_.cancel(timer); }
  void run_in_background(Callback work, Callback done) override {
    const auto takes = static_cast<std::int64_t>(random_.below(200));
    scheduler_.after(takes, Scheduler::Owner::controller,
                     [work = std::move(work), done = std::move(done)] {
                       work();
                       done();
                     });
  }
  void watch_readable(int /*descriptor*/, Callback /*callback*/) override {}
  void unwatch(int /*descriptor*/) override {}
  void run() override {
    while (!stopped && scheduler_.step()) {
    }
  }
  void stop() override { stopped = true; }

  bool stopped = false;

 private:
  Scheduler& scheduler_;
  Random& random_;
};

class SimStore : public Store {
 public:
  SimStore(std::shared_ptr<MemoryDisk> disk, Checker& checker, Fate& fate)
      : store_(make_memory_store(std::move(disk))), checker_(checker), fate_(fate) {}

  [[nodiscard]] Status commit(const std::vector<Entry>& entries) override {
    fate_.call();
    Status done = store_->commit(entries);
    if (done) checker_.committing(entries);
    fate_.call();
    return done;
  }
  [[nodiscard]] Status sync() override { return store_->sync(); }
  [[nodiscard]] Status load_records(const std::function<void(const Entry&)>& take) const override {
    return store_->load_records(take);
  }
  [[nodiscard]] Status load_points(const std::string& metric,
                                   const std::function<void(const Entry&)>& take) const override {
    return store_->load_points(metric, take);
  }
  [[nodiscard]] Result<std::vector<SourcePosition>> positions(AttemptId attempt) const override {
    return store_->positions(attempt);
  }
  [[nodiscard]] Status close() override { return store_->close(); }

 private:
  std::unique_ptr<Store> store_;
  Checker& checker_;
  Fate& fate_;
};

class SimLauncher : public Launcher {
 public:
  SimLauncher(Machine& machine, Checker& checker, Fate& fate, const StudyState& state)
      : machine_(machine), checker_(checker), fate_(fate), state_(state) {}

  void adopt(const std::vector<OpenAttempt>& open) override { machine_.adopt(open); }
  void start(const LaunchOrder& order) override {
    checker_.starting(order.attempt, order.allocation);
    fate_.call();
    machine_.start(order.attempt, order.allocation, state_.trial(order.attempt.trial)->point);
    fate_.call();
  }
  void stop(AttemptId attempt, bool /*pruning*/) override {
    checker_.stopping(attempt);
    fate_.call();
    machine_.stop(attempt);
  }
  void kill(AttemptId attempt) override {
    checker_.killing(attempt);
    machine_.kill(attempt);
    fate_.call();
  }
  void freeze(AttemptId attempt, bool frozen) override {
    fate_.call();
    machine_.freeze(attempt, frozen);
  }
  void finish() override {}
  void leave() override { machine_.leave(); }

 private:
  Machine& machine_;
  Checker& checker_;
  Fate& fate_;
  const StudyState& state_;
};

class SimSetup : public AttemptSetup {
 public:
  explicit SimSetup(const Options& options) : options_(options) {}

  [[nodiscard]] Result<Prepared> prepare(const TrialStatus& trial, AttemptId attempt,
                                         const Allocation& allocation) override {
    if (mix(options_.sampler_key, hash_text(trial.point.identity())) % 100 < options_.too_long) {
      return fail(ErrorCode::usage, "parameter `x` is longer than 128 KiB; pass it by file");
    }
    Prepared prepared;
    prepared.order.attempt = attempt;
    prepared.order.allocation = allocation;
    return prepared;
  }
  [[nodiscard]] std::string trial_dir(const TrialStatus& trial) const override {
    return "trials/" + trial.folder;
  }
  void released(AttemptId /*attempt*/) override {}

 private:
  const Options& options_;
};

/// Knows at once what the machine's other study holds.
class SimGate : public ResourceGate {
 public:
  explicit SimGate(const Machine& machine) : machine_(machine) {}

  [[nodiscard]] Held take(AttemptId /*attempt*/, const Allocation& allocation) override {
    Held others;
    for (const int core : allocation.cores) {
      if (machine_.neighbour().cores.contains(core)) others.cores.insert(core);
    }
    for (const DeviceShare& share : allocation.devices) {
      if (machine_.neighbour().devices.contains(share.device)) others.devices.insert(share.device);
    }
    return others;
  }
  [[nodiscard]] std::vector<std::shared_ptr<const Descriptor>> locks(
      AttemptId /*attempt*/) const override {
    return {};
  }
  void give_back(AttemptId /*attempt*/) override {}
  void settle() override {}
  [[nodiscard]] Held look(const Held& ours) override {
    Held others = machine_.neighbour();
    for (const int core : ours.cores) others.cores.erase(core);
    for (const std::string& device : ours.devices) others.devices.erase(device);
    return others;
  }
  [[nodiscard]] bool watches() const override { return false; }

 private:
  const Machine& machine_;
};

class SimMetricFeed : public MetricFeed {
 public:
  SimMetricFeed(const Machine& machine, const SimClock& clock, Random& random)
      : machine_(machine), clock_(clock), random_(random) {}

  void follow(const TrialStatus& trial, AttemptId attempt, const std::vector<SourcePosition>& own,
              const std::vector<SourcePosition>& before) override;
  [[nodiscard]] std::vector<MetricsReported> poll(Timestamp now) override;
  [[nodiscard]] Rest finish(AttemptId attempt, Timestamp now) override;

 private:
  [[nodiscard]] MetricsReported read(AttemptId attempt, std::uint64_t& offset, std::size_t most);

  const Machine& machine_;
  const SimClock& clock_;
  Random& random_;
  std::map<AttemptId, std::uint64_t> followed_;
};

class SimProposals : public ProposalSource {
 public:
  SimProposals(EventLoop& loop, Random& random, const Options& options)
      : loop_(loop), random_(random), options_(options) {}
  void ask(std::uint64_t from, std::uint64_t count,
           std::function<void(ProposalsMade)> answer) override;

 private:
  EventLoop& loop_;
  Random& random_;
  const Options& options_;
};

/// An error-level line is a violation, but for those that a fault explains.
class SimLog : public Log {
 public:
  void write(LogLevel level, std::string_view event, LogFields fields) override;
  bool sync_may_fail = false;
};

}  // namespace seedbed::simulation
