#include "controller/local_gate.h"

#include <atomic>
#include <utility>

#include "machine/locks.h"

namespace seedbed {
namespace {

constexpr Milliseconds kDriverPeriod{5000};
constexpr Milliseconds kDriverLimit{20'000};

class LocalGate : public ResourceGate {
 public:
  LocalGate(EventLoop& loop, Inventory inventory, std::optional<GpuReport> report)
      : loop_(loop), inventory_(std::move(inventory)), report_(std::move(report)) {
    if (watches()) watch_soon();
  }
  /// The loop's end waits for its workers: a driver that hangs must not hold it up.
  ~LocalGate() override {
    *alive_ = false;
    *given_up_ = true;
  }

  Held take(AttemptId attempt, const Allocation& allocation) override {
    return locks_.take(attempt, allocation);
  }
  std::vector<std::shared_ptr<const Descriptor>> locks(AttemptId attempt) const override {
    return locks_.of(attempt);
  }
  void give_back(AttemptId attempt) override { locks_.give_back(attempt); }
  void settle() override { locks_.settle(); }

  Held look(const Held& ours) override {
    Held others = locks_.look(inventory_, ours);
    if (!report_) return others;
    for (const std::string& device : busy_devices(*report_, inventory_.devices)) {
      if (!ours.devices.contains(device)) others.devices.insert(device);
    }
    return others;
  }
  bool watches() const override { return report_.has_value() && !report_->gpus.empty(); }

 private:
  void watch_soon() {
    loop_.call_after(kDriverPeriod, [this, alive = std::weak_ptr<bool>(alive_)] {
      const auto here = alive.lock();
      if (here && *here) ask();
    });
  }

  void ask() {
    auto fresh = std::make_shared<GpuReport>();
    loop_.run_in_background(
        [fresh, given_up = given_up_] { *fresh = ask_gpus(kDriverLimit, given_up.get()); },
        [this, fresh, alive = std::weak_ptr<bool>(alive_)] {
          const auto here = alive.lock();
          if (!here || !*here) return;
          report_ = std::move(*fresh);
          watch_soon();
        });
  }

  EventLoop& loop_;
  Inventory inventory_;
  std::optional<GpuReport> report_;
  MachineLocks locks_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::shared_ptr<std::atomic<bool>> given_up_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace

std::unique_ptr<ResourceGate> make_local_gate(EventLoop& loop, Inventory inventory,
                                              std::optional<GpuReport> first_report) {
  return std::make_unique<LocalGate>(loop, std::move(inventory), std::move(first_report));
}

}  // namespace seedbed
