#include <ctime>

#include "env/posix/posix.h"

namespace seedbed {
namespace {

std::int64_t read_ms(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

class PosixClock : public Clock {
 public:
  Timestamp wall() const override { return Timestamp{read_ms(CLOCK_REALTIME)}; }
  Milliseconds monotonic() const override { return Milliseconds(read_ms(CLOCK_MONOTONIC)); }
};

/// The boot clock goes on while the machine sleeps, so that a morning after is a morning after.
class SteadyClock : public Clock {
 public:
  Timestamp wall() const override { return begun_ + (boot() - begun_boot_); }
  Milliseconds monotonic() const override { return boot(); }

 private:
  static Milliseconds boot() { return Milliseconds(read_ms(CLOCK_BOOTTIME)); }

  Timestamp begun_{read_ms(CLOCK_REALTIME)};
  Milliseconds begun_boot_ = boot();
};

}  // namespace

std::unique_ptr<Clock> make_steady_clock() { return std::make_unique<SteadyClock>(); }

std::unique_ptr<Clock> make_posix_clock() { return std::make_unique<PosixClock>(); }

}  // namespace seedbed
