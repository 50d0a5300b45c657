#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "base/random.h"
#include "engine/engine.h"

namespace seedbed::simulation {

/// Something that must never happen has happened.
struct Violation : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The controller's process dies here. Thrown out of a port.
struct Crash {};

/// What kind of world a seed makes. Swarm-tested: most features are off in any one world and the
/// rest are weighted anew, so that each gets worlds in which it is not drowned by the others.
struct Options {
  // The study.
  std::uint64_t size = 10;         ///< points of the space before holes and repetitions
  std::uint64_t universe = 10;     ///< points that any space of this study may have
  std::uint64_t hole_every = 0;    ///< about every n-th proposal gives no point; 0: none
  std::uint64_t repeat_every = 0;  ///< about every n-th proposal repeats an earlier point; 0: none
  std::uint64_t sampler_key = 1;
  EngineConfig config;
  bool prunes = false;

  // Programs, in per cent.
  std::uint64_t fails = 0, is_killed = 0, times_out = 0, reports_nan = 0, silent = 0;
  std::uint64_t too_long = 0;     ///< its arguments are: cannot be prepared
  std::uint64_t bad_program = 0;  ///< cannot be started until it is mended
  std::int64_t longest_ms = 2000;
  std::int64_t grace_ms = 500;
  std::uint64_t lingers = 10;  ///< trees that outlive their main process for long

  // Faults, as weights against each other; 0: never.
  std::uint64_t crash = 0, power_cut = 0, shim_dies = 0, clock_jump = 0, disk_full = 0,
                sync_fails = 0;
  std::uint64_t crash_in_port = 0;  ///< per 1000 calls of a port
  std::uint64_t late_record = 0;    ///< per cent of ends whose record is seen only later
  std::uint64_t said_twice = 0;     ///< per cent of news
  // What people do, as weights.
  std::uint64_t interrupt = 0, stop = 0, pause = 0, width = 0, cancel = 0, retry = 0, add = 0,
                change_space = 0, neighbour = 0;
  std::int64_t fault_every_ms = 1500;
  std::int64_t calm_from_ms = 20'000;  ///< faults stop; now it must finish
};

[[nodiscard]] Options make_options(std::uint64_t seed);

[[nodiscard]] std::vector<std::unique_ptr<Pruner>> pruners_of(const Options& options);

/// The point that a proposal number stands for; nothing for a hole. Depends on the number alone.
[[nodiscard]] std::optional<Point> point_of(const Options& options, std::uint64_t number);

}  // namespace seedbed::simulation
