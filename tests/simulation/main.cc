// The simulation: one seed, one world.
//
//   simulation --seeds 1..2000            two thousand worlds, on all cores
//   simulation --seeds 17                 one world, told aloud
//
// Every twentieth seed is run twice and must leave the same trace. A failure prints the command
// that repeats it. Exit code 1 when a world fails.

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "world.h"

namespace {

using seedbed::simulation::run_world;
using seedbed::simulation::Verdict;

struct Range {
  std::uint64_t from = 1, to = 200;
};

/// What the workers share: the next seed to take, what each is at, and sums.
struct Shared {
  std::atomic<std::uint64_t> next{0};
  std::atomic<std::uint64_t> at[64];
  std::atomic<std::uint64_t> failed{0}, steps{0}, runs{0}, crashes{0}, cuts{0}, trials{0},
      attempts{0}, simulated_ms{0};
};

bool read_number(std::string_view text, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

bool read_range(std::string_view text, Range& range) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) {
    if (!read_number(text, range.from)) return false;
    range.to = range.from;
    return true;
  }
  return read_number(text.substr(0, dots), range.from) &&
         read_number(text.substr(dots + 2), range.to) && range.from <= range.to;
}

void report(std::uint64_t seed, const std::string& what, const Verdict* verdict,
            const std::string& program) {
  std::string text = "\nseed " + std::to_string(seed) + " fails: " + what + "\n";
  if (verdict != nullptr) {
    for (const std::string& line : verdict->last) text += "    " + line + "\n";
  }
  text += "repeat it with: " + program + " --seeds " + std::to_string(seed) + "\n";
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

/// Runs seeds until none is left; the exit code says whether all held.
int work(Shared& shared, std::size_t self, Range range, bool aloud, const std::string& program) {
  bool all_hold = true;
  while (true) {
    const std::uint64_t seed = range.from + shared.next++;
    if (seed > range.to) break;
    shared.at[self] = seed;
    const Verdict verdict = run_world(seed, aloud);
    shared.steps += verdict.steps;
    shared.runs += verdict.runs;
    shared.crashes += verdict.crashes;
    shared.cuts += verdict.power_cuts;
    shared.trials += verdict.trials;
    shared.attempts += verdict.attempts;
    shared.simulated_ms += static_cast<std::uint64_t>(verdict.simulated_ms);
    if (!verdict.holds) {
      all_hold = false;
      ++shared.failed;
      report(seed, verdict.what, &verdict, program);
    } else if (seed % 20 == 0 && run_world(seed, false).trace != verdict.trace) {
      all_hold = false;
      ++shared.failed;
      report(seed, "two runs of one seed leave two traces", nullptr, program);
    }
  }
  return all_hold ? 0 : 1;
}

int run_all(Range range, unsigned jobs, const std::string& program) {
  void* memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 5;
  auto* shared = new (memory) Shared;
  const auto began = std::chrono::steady_clock::now();
  std::vector<pid_t> workers;
  for (std::size_t i = 0; i < jobs; ++i) {
    const pid_t pid = ::fork();
    if (pid == 0) std::_Exit(work(*shared, i, range, false, program));
    workers.push_back(pid);
  }
  bool all_hold = true;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    int status = 0;
    ::waitpid(workers[i], &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) <= 1) {
      all_hold = all_hold && WEXITSTATUS(status) == 0;
      continue;
    }
    // A broken invariant of the program itself, or a sanitizer, has ended the worker.
    all_hold = false;
    report(shared->at[i], "the program broke down, see above", nullptr, program);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  const auto sum = [](const std::atomic<std::uint64_t>& value) {
    return static_cast<unsigned long long>(value.load());
  };
  std::printf(
      "seeds %llu..%llu: %s, %llu failed; %llu steps, %llu runs, %llu crashes, %llu power "
      "cuts, %llu trials, %llu attempts, %.1f h simulated in %.1f s\n",
      static_cast<unsigned long long>(range.from), static_cast<unsigned long long>(range.to),
      all_hold ? "all hold" : "NOT all hold", sum(shared->failed), sum(shared->steps),
      sum(shared->runs), sum(shared->crashes), sum(shared->cuts), sum(shared->trials),
      sum(shared->attempts), static_cast<double>(shared->simulated_ms.load()) / 3'600'000,
      took.count());
  return all_hold ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Range range;
  std::uint64_t jobs = std::max(1U, std::thread::hardware_concurrency());
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i], value = argv[i + 1];
    const bool understood = (option == "--seeds" && read_range(value, range)) ||
                            (option == "--jobs" && read_number(value, jobs));
    if (!understood) {
      std::fprintf(stderr, "usage: simulation [--seeds A..B] [--jobs N]\n");
      return 2;
    }
  }
  if (range.from == range.to) {
    Shared shared;
    return work(shared, 0, range, true, argv[0]);
  }
  return run_all(range, static_cast<unsigned>(std::clamp<std::uint64_t>(jobs, 1, 64)), argv[0]);
}
