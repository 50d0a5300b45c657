#include "world.h"

#include <fmt/format.h>

#include <cstdio>
#include <utility>
#include <vector>

#include "controller/controller.h"
#include "engine/engine_testing.h"
#include "ports.h"
#include "pruners/pruner.h"

namespace seedbed::simulation {
namespace {

constexpr std::uint64_t kMostSteps = 400'000;
constexpr std::size_t kRemembered = 60;

/// Everything that dies with the controller's process.
struct Life {
  Life(Scheduler& scheduler, Random& random, Options& options, Machine& machine, Checker& checker,
       Fate& fate, SimClock& clock, SimLog& log, std::shared_ptr<MemoryDisk> disk,
       Reporter& reporter);

  Engine engine;
  SimEventLoop loop;
  SimStore store;
  SimSetup setup;
  SimMetricFeed feed;
  SimGate gate;
  SimProposals proposals;
  SimLauncher launcher;
  Controller controller;
};

Life::Life(Scheduler& scheduler, Random& random, Options& options, Machine& machine,
           Checker& checker, Fate& fate, SimClock& clock, SimLog& log,
           std::shared_ptr<MemoryDisk> disk, Reporter& reporter)
    : engine(options.config, pruners_of(options)),
      loop(scheduler, random),
      store(std::move(disk), checker, fate),
      setup(options),
      feed(machine, clock, random),
      gate(machine),
      proposals(loop, random, options),
      launcher(machine, checker, fate, engine.state()),
      controller({loop, clock, store, setup, feed, gate, proposals, log, {&reporter}}, engine) {
  controller.use_launcher(launcher);
}

class World : public Reporter {
 public:
  World(std::uint64_t seed, bool aloud)
      : aloud_(aloud),
        options_(make_options(seed)),
        random_(seed, hash_text("world")),
        fate_(random_, options_),
        machine_(scheduler_, random_, options_),
        checker_(options_, machine_),
        clock_(scheduler_),
        disk_(std::make_shared<MemoryDisk>()),
        next_size_(options_.size) {
    space_.command_identity = "program";
    space_.metric = options_.config.objective.metric;
  }

  Verdict run();

  // Reporter
  void committed(const std::vector<Entry>& entries, const StudyState& state) override;
  void tick(Timestamp /*now*/, const StudyState& /*state*/) override {}
  void trouble(const std::string& text) override { note("trouble: " + text); }
  void ended(const StudyState& /*state*/) override {}

 private:
  void note(const std::string& text);
  void begin_life();
  void end_life(const std::string& why);
  void run_is_over();
  void compare(bool full) const;
  void calm_down();
  void something_happens();
  void a_fault(std::uint64_t which);
  void somebody_acts(std::uint64_t which);
  void somebody_records(const Input& input);
  void schedule_life(std::int64_t within_ms);
  [[nodiscard]] std::uint64_t pick(const std::vector<std::uint64_t>& weights);
  [[nodiscard]] std::vector<TrialNumber> some_trials();

  bool aloud_;
  Options options_;
  Scheduler scheduler_;
  Random random_;
  Fate fate_;
  Machine machine_;
  Checker checker_;
  SimClock clock_;
  SimLog log_;
  std::shared_ptr<MemoryDisk> disk_;
  std::unique_ptr<Life> life_;
  SpaceSet space_;
  std::uint64_t next_size_;  // of the space of the next run
  bool calm_ = false;
  bool done_ = false;
  int calm_runs_ = 0;
  std::uint64_t since_compared_ = 0;
  Verdict verdict_;
};

void World::note(const std::string& text) {
  std::string line = fmt::format("{:>8} {}", scheduler_.now(), text);
  if (aloud_) std::printf("%s\n", line.c_str());
  verdict_.last.push_back(std::move(line));
  if (verdict_.last.size() > kRemembered) verdict_.last.pop_front();
}

void World::committed(const std::vector<Entry>& entries, const StudyState& state) {
  for (const Entry& entry : entries) {
    note("  " + std::visit(testing::RecordText{}, entry.record));
    if (std::holds_alternative<AttemptPlanned>(entry.record)) ++verdict_.attempts;
  }
  verdict_.trials = state.trials().size();
}

void World::schedule_life(std::int64_t within_ms) {
  const auto wait =
      static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(within_ms) + 1));
  scheduler_.after(wait, Scheduler::Owner::world, [this] {
    if (!life_ && !done_) begin_life();
  });
}

void World::begin_life() {
  ++verdict_.runs;
  note(fmt::format("run begins, {} processes live", machine_.alive()));
  checker_.rebuild(disk_->entries(), false);
  options_.size = next_size_;
  space_.spec_yaml = fmt::format("size: {}", options_.size);
  life_ = std::make_unique<Life>(scheduler_, random_, options_, machine_, checker_, fate_, clock_,
                                 log_, disk_, *this);
  machine_.connect(&life_->controller);
  const Status loaded = life_->store.load(
      options_.config.objective.metric, [this](const Entry& entry) { life_->engine.apply(entry); });
  if (!loaded) throw Violation("the records cannot be read: " + loaded.error().message);
  RunBegan began;
  const auto& known = life_->engine.state().space();
  if (!known || known->spec_yaml != space_.spec_yaml) began.space = space_;
  began.retry_failed = random_.below(10) < (options_.retry > 0 ? 3 : 0);
  life_->controller.begin(std::move(began));
}

void World::end_life(const std::string& why) {
  note(why);
  scheduler_.drop_controller();
  machine_.connect(nullptr);
  life_.reset();
}

/// The state against the fold of what is on the disk, and of what waits for room there.
void World::compare(bool full) const {
  std::vector<Entry> entries = disk_->entries();
  const std::vector<Entry>& waiting = life_->controller.uncommitted();
  entries.insert(entries.end(), waiting.begin(), waiting.end());
  checker_.compare(life_->engine, entries, full);
}

void World::run_is_over() {
  const Controller& controller = life_->controller;
  const StudyState& state = controller.state();
  if (controller.failure()) {
    const std::string why = "the run fails: " + controller.failure()->message;
    if (!log_.sync_may_fail) throw Violation(why);
    end_life(why);
    return schedule_life(500);
  }
  if (!controller.uncommitted().empty()) {
    end_life("interrupted, and no room on the disk to record it");
    return schedule_life(500);
  }
  const int code = controller.exit_code();
  checker_.run_ended(state, code);
  compare(true);
  if (const Status closed = life_->store.close(); !closed && !log_.sync_may_fail) {
    throw Violation("the store does not close: " + closed.error().message);
  }
  if (calm_ && code <= 1) {
    if (!calm_runs_++ && random_.below(4) == 0) {
      end_life("the same command once more");
      return schedule_life(10);
    }
    checker_.all_done(state);
    done_ = true;
  }
  end_life(fmt::format("run ends with {}", code));
  if (done_) return;
  if (calm_ && ++calm_runs_ > 5) throw Violation("it stops again and again without a reason");
  schedule_life(calm_ ? 10 : 2000);
}

void World::calm_down() {
  note("calm");
  calm_ = true;
  machine_.neighbour_leaves();
  fate_.mortal = false;
  disk_->set_full(false);
  disk_->set_sync_fails(false);
  options_.bad_program = 0;
  options_.config.halt = {};
  options_.config.study_limit.reset();
  if (!life_) return schedule_life(10);
  // The present run may be paused or narrow; people set that right.
  life_->controller.submit(PauseAsked{false});
  life_->controller.submit(SlotsAsked{options_.config.inventory.slots});
}

std::uint64_t World::pick(const std::vector<std::uint64_t>& weights) {
  std::uint64_t sum = 0;
  for (const std::uint64_t weight : weights) sum += weight;
  if (sum == 0) return weights.size();
  std::uint64_t at = random_.below(sum);
  for (std::uint64_t i = 0; i < weights.size(); ++i) {
    if (at < weights[i]) return i;
    at -= weights[i];
  }
  return weights.size();
}

void World::something_happens() {
  if (calm_) return;
  const Options& o = options_;
  const std::vector<std::uint64_t> faults = {o.crash,      o.power_cut, o.shim_dies,
                                             o.clock_jump, o.disk_full, o.sync_fails};
  const std::vector<std::uint64_t> people = {o.interrupt, o.stop,     o.pause, o.width,
                                             o.cancel,    o.retry,    o.add,   o.change_space,
                                             o.stop,      o.neighbour};
  if (random_.below(2) == 0) {
    a_fault(pick(faults));
  } else {
    somebody_acts(pick(people));
  }
  const auto wait = static_cast<std::int64_t>(
      1 + random_.below(static_cast<std::uint64_t>(2 * o.fault_every_ms)));
  scheduler_.after(wait, Scheduler::Owner::world, [this] { something_happens(); });
}

void World::a_fault(std::uint64_t which) {
  switch (which) {
    case 0:
      if (!life_) return;
      ++verdict_.crashes;
      compare(true);
      end_life("kill -9 of the controller");
      return schedule_life(1000);
    case 1:
      ++verdict_.power_cuts;
      end_life(
          fmt::format("power cut, {} entries lost", disk_->entries().size() - disk_->synced()));
      machine_.power_cut();
      disk_->lose_unsynced();
      checker_.rebuild(disk_->entries(), true);
      return schedule_life(1000);
    case 2:
      note("a shim dies");
      return machine_.kill_a_shim();
    case 3: {
      const auto jump = static_cast<std::int64_t>(random_.below(20'000)) - 10'000;
      note(fmt::format("the clock jumps by {} ms", jump));
      clock_.offset_ms += jump;
      return;
    }
    case 4:
      note("the disk is full");
      disk_->set_full(true);
      scheduler_.after(static_cast<std::int64_t>(random_.below(3000)), Scheduler::Owner::world,
                       [this] { disk_->set_full(false); });
      return;
    case 5:
      note("syncs fail");
      log_.sync_may_fail = true;
      disk_->set_sync_fails(true);
      scheduler_.after(static_cast<std::int64_t>(random_.below(2000)), Scheduler::Owner::world,
                       [this] { disk_->set_sync_fails(false); });
      return;
    default:
      return;
  }
}

std::vector<TrialNumber> World::some_trials() {
  std::vector<TrialNumber> trials;
  const std::size_t known = life_->engine.state().trials().size();
  for (std::uint64_t i = random_.below(4); i > 0; --i)
    trials.push_back(1 + random_.below(known + 2));
  return trials;
}

/// `cancel`, `retry` and `add` without a controller: they write what was asked, and decide nothing
/// in the name of a run that was killed.
void World::somebody_records(const Input& input) {
  EngineConfig config = options_.config;
  config.records_only = true;
  Engine engine(std::move(config), {});
  const auto store = make_memory_store(disk_);
  const Status loaded = store->load_records([&](const Entry& entry) { engine.apply(entry); });
  if (!loaded) throw Violation("the records cannot be read: " + loaded.error().message);
  const Decision decision = engine.decide(clock_.wall(), input);
  if (!decision.actions.empty()) throw Violation("an action without a controller");
  std::vector<Entry> entries;
  for (const Record& record : decision.records) {
    const auto* stopping = std::get_if<AttemptStopping>(&record);
    if (std::holds_alternative<RunStopping>(record) || std::holds_alternative<RunEnded>(record) ||
        std::holds_alternative<AttemptPlanned>(record) ||
        (stopping != nullptr && stopping->cause != StopCause::cancelled)) {
      throw Violation("decided without a controller: " + std::string(record_word(record)));
    }
    entries.push_back({clock_.wall(), record});
    note("  " + std::visit(testing::RecordText{}, record));
  }
  static_cast<void>(store->commit(entries));  // or the disk is full: then nothing was asked
}

void World::somebody_acts(std::uint64_t which) {
  if (!life_) {
    note("without a controller");
    const std::vector<TrialNumber> trials = {1 + random_.below(10), 1 + random_.below(10)};
    if (which == 4) return somebody_records(CancelAsked{trials});
    if (which == 5) return somebody_records(RetryAsked{trials});
    if (which == 6) {
      const auto number = static_cast<std::int64_t>(random_.below(20));
      return somebody_records(PointsAdded{{testing::point_of(number, "added")}});
    }
    return;
  }
  Controller& controller = life_->controller;
  switch (which) {
    case 0: {
      const bool drains = random_.below(3) == 0;
      note("an interrupt");
      return controller.submit(InterruptCame{random_.below(2) == 0 ? 2 : 15, drains});
    }
    case 1:
      note("stop");
      return controller.submit(StopAsked{random_.below(2) == 0});
    case 2:
      note("pause or resume");
      return controller.submit(PauseAsked{random_.below(2) == 0, random_.below(3) == 0});
    case 3:
      note("slots");
      return controller.submit(SlotsAsked{static_cast<std::uint32_t>(random_.below(10))});
    case 4:
      note("cancel");
      return controller.submit(CancelAsked{some_trials()});
    case 5: {
      std::vector<TrialNumber> trials = some_trials();
      note(fmt::format("retry of {}", trials.size()));
      return controller.submit(RetryAsked{std::move(trials)});
    }
    case 6:
      note("add");
      return controller.submit(
          PointsAdded{{testing::point_of(static_cast<std::int64_t>(random_.below(20)), "added")}});
    case 7:
      note("the next run has another space");
      next_size_ = 1 + random_.below(options_.universe);
      return;
    case 8:
      note("the study's folder is moved and put back");
      return controller.submit(StudyGone{"it was moved"});
    case 9:
      note("another study takes, or lets go of, cores and devices");
      return machine_.neighbour_acts();
    default:
      return;
  }
}

Verdict World::run() {
  fate_.mortal = true;
  scheduler_.after(options_.calm_from_ms, Scheduler::Owner::world, [this] { calm_down(); });
  scheduler_.after(1, Scheduler::Owner::world, [this] { something_happens(); });
  schedule_life(0);
  try {
    while (!done_) {
      if (++verdict_.steps > kMostSteps) {
        throw Violation(fmt::format("it does not finish, at {} ms", scheduler_.now()));
      }
      bool going = false;
      try {
        going = scheduler_.step();
      } catch (const Crash&) {
        ++verdict_.crashes;
        end_life("the controller dies in a port");
        schedule_life(1000);
        continue;
      }
      if (!going) throw Violation("nothing happens any more");
      if (life_ && life_->loop.stopped) {
        run_is_over();
      } else if (life_ && ++since_compared_ % 64 == 0) {
        compare(since_compared_ % 2048 == 0);
      }
    }
  } catch (const Violation& violation) {
    verdict_.holds = false;
    verdict_.what = violation.what();
  }
  verdict_.trace = checker_.trace();
  verdict_.simulated_ms = scheduler_.now();
  return verdict_;
}

}  // namespace

Verdict run_world(std::uint64_t seed, bool aloud) { return World(seed, aloud).run(); }

}  // namespace seedbed::simulation
