#include "options.h"

namespace seedbed::simulation {
namespace {

bool often(Random& random, std::uint64_t percent) { return random.below(100) < percent; }

std::uint64_t weight(Random& random) { return often(random, 50) ? 0 : 1 + random.below(8); }

std::uint64_t share(Random& random, std::uint64_t most) {
  return often(random, 60) ? 0 : 1 + random.below(most);
}

void choose_resources(Random& random, EngineConfig& config) {
  const auto cores = static_cast<int>(1 + random.below(6));
  for (int i = 0; i < cores; ++i) config.inventory.cores.push_back({i, i, 0, i % 2});
  config.inventory.slots = static_cast<std::uint32_t>(cores);
  const double requests[] = {1, 1, 1, 0.5, 2, 1.5, 0.3};
  config.request.cpus = requests[random.below(7)];
  if (config.request.cpus > cores) config.request.cpus = 1;
  if (config.request.cpus < 1) config.inventory.slots *= 2;
  if (often(random, 15)) {
    config.inventory.shared_cores = true;
    config.inventory.slots = static_cast<std::uint32_t>(1 + random.below(8));
  }
  if (often(random, 20)) {
    config.inventory.memory = 10'000;
    config.request.memory = 2'000 + random.below(8'000);
  }
  if (often(random, 20)) {
    for (int i = 0; i < 2; ++i) {
      config.inventory.devices.push_back({std::to_string(i), "", i, 0, -1, ""});
    }
    const double gpus[] = {1, 0.5, 0.3, 2};
    config.request.gpus = gpus[random.below(4)];
  }
}

void choose_study(Random& random, Options& options) {
  EngineConfig& config = options.config;
  options.size = 1 + random.below(often(random, 10) ? 120 : 25);
  options.universe = options.size + random.below(10);
  options.hole_every = often(random, 30) ? 2 + random.below(5) : 0;
  options.repeat_every = often(random, 20) ? 3 + random.below(5) : 0;
  options.sampler_key = random.next();
  config.lookahead = often(random, 50) ? 1000 : 1 + random.below(12);
  if (often(random, 30)) config.limit = 1 + random.below(options.size + 3);
  config.sampler_uses_history = often(random, 15);
  config.longest_first = often(random, 20);
  config.retries.count = static_cast<int>(often(random, 50) ? random.below(4) : 0);
  config.retries.wait = Milliseconds(often(random, 50) ? random.below(3000) : 0);
  if (often(random, 10)) config.halt = HaltRule{HaltRule::Kind::first, 1};
  if (often(random, 10)) config.halt = HaltRule{HaltRule::Kind::count, 3};
  if (often(random, 10)) config.halt = HaltRule{HaltRule::Kind::percent, 30};
  if (often(random, 10)) config.study_limit = Milliseconds(2000 + random.below(10'000));
  if (often(random, 60)) config.objective.metric = "loss";
  options.prunes = !config.objective.metric.empty() && often(random, 40);
}

}  // namespace

Options make_options(std::uint64_t seed) {
  Options options;
  Random random(seed, hash_text("options"));
  choose_resources(random, options.config);
  choose_study(random, options);
  options.fails = share(random, 60);
  options.is_killed = share(random, 30);
  options.times_out = share(random, 20);
  options.reports_nan = share(random, 30);
  options.silent = share(random, 30);
  options.too_long = share(random, 20);
  options.bad_program = often(random, 5) ? 100 : 0;
  options.longest_ms = static_cast<std::int64_t>(10 + random.below(often(random, 50) ? 200 : 4000));
  options.grace_ms = static_cast<std::int64_t>(1 + random.below(3000));
  options.lingers = share(random, 50);
  options.crash = weight(random);
  options.power_cut = weight(random);
  options.shim_dies = weight(random);
  options.clock_jump = weight(random);
  options.disk_full = weight(random);
  options.sync_fails = often(random, 10) ? 1 : 0;
  options.crash_in_port = often(random, 40) ? 1 + random.below(30) : 0;
  options.late_record = share(random, 20);
  options.said_twice = share(random, 30);
  options.interrupt = weight(random);
  options.stop = weight(random);
  options.pause = weight(random);
  options.width = weight(random);
  options.cancel = weight(random);
  options.retry = weight(random);
  options.add = weight(random);
  options.change_space = weight(random);
  options.neighbour = often(random, 60) ? 0 : 1 + random.below(8);
  options.config.inventory.insists = often(random, 30);
  options.fault_every_ms = static_cast<std::int64_t>(50 + random.below(3000));
  options.calm_from_ms = static_cast<std::int64_t>(2'000 + random.below(20'000));
  return options;
}

std::optional<Point> point_of(const Options& options, std::uint64_t number) {
  if (number >= options.size) return std::nullopt;
  const auto drawn = [&](std::uint64_t every, std::uint64_t purpose) {
    return every > 0 && mix(options.sampler_key + purpose, number) % every == 0;
  };
  if (drawn(options.hole_every, 1)) return std::nullopt;
  std::uint64_t index = number;
  if (number > 0 && drawn(options.repeat_every, 2)) {
    index = mix(options.sampler_key + 3, number) % number;
  }
  const std::uint64_t value = KeyedPermutation(options.universe, options.sampler_key)(index);
  return Point{{{"x", Value::integer(static_cast<std::int64_t>(value))},
                {"g", Value::integer(static_cast<std::int64_t>(value % 3))}}};
}

std::vector<std::unique_ptr<Pruner>> pruners_of(const Options& options) {
  std::vector<std::unique_ptr<Pruner>> pruners;
  if (!options.prunes) return pruners;
  for (const PrunerSpec& spec :
       {PrunerSpec{"nan", {}}, PrunerSpec{"median", {{"min_iter", 2}, {"min_trials", 2}}}}) {
    auto pruner = make_pruner(spec, Goal::maximize);
    if (!pruner) throw Violation("a pruner cannot be made: " + pruner.error().message);
    pruners.push_back(std::move(*pruner));
  }
  return pruners;
}

}  // namespace seedbed::simulation
