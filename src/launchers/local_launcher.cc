#include "launchers/local_launcher.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "env/posix/process_tree.h"
#include "env/posix/runtime_dir.h"
#include "launchers/slot_keeper.h"

namespace seedbed {
namespace {

constexpr Milliseconds kReapPeriod{1000};

class LocalLauncher : public Launcher {
 public:
  explicit LocalLauncher(LocalContext context) : context_(std::move(context)) {
    if (::getpid() == 1) reap_orphans();
  }
  ~LocalLauncher() override {
    if (reap_timer_) context_.loop.cancel(*reap_timer_);
  }

  void adopt(const std::vector<OpenAttempt>& open) override {
    for (const OpenAttempt& one : open) slot(one.slot).adopt(one);
  }
  void start(const LaunchOrder& order) override { slot(order.allocation.slot).start(order); }
  void stop(AttemptId attempt, bool pruning) override {
    for (const auto& [number, slot] : slots_) {
      if (slot->stop(attempt, pruning)) return;
    }
  }
  void kill(AttemptId attempt) override {
    for (const auto& [number, slot] : slots_) {
      if (slot->kill(attempt)) return;
    }
  }
  void freeze(AttemptId attempt, bool frozen) override {
    for (const auto& [number, slot] : slots_) {
      if (slot->freeze(attempt, frozen)) return;
    }
  }
  void finish() override {
    context_.finishing = true;
    for (const auto& [number, slot] : slots_) slot->finish();
  }
  void leave() override {
    context_.finishing = true;
    for (const auto& [number, slot] : slots_) slot->leave();
  }

 private:
  SlotKeeper& slot(SlotNumber number) {
    std::unique_ptr<SlotKeeper>& keeper = slots_[number];
    if (!keeper) keeper = std::make_unique<SlotKeeper>(context_, number);
    return *keeper;
  }

  void reap_orphans() {
    reaper_.look();
    reap_timer_ = context_.loop.call_after(kReapPeriod, [this] { reap_orphans(); });
  }

  LocalContext context_;
  std::map<SlotNumber, std::unique_ptr<SlotKeeper>> slots_;
  OrphanReaper reaper_;
  std::optional<EventLoop::TimerId> reap_timer_;
};

bool is_program(const std::string& path) {
  std::error_code failed;
  return std::filesystem::is_regular_file(path, failed) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

Result<std::string> find_shim() {
  if (const char* named = std::getenv("SEEDBED_SHIM"); named != nullptr && *named != '\0') {
    if (is_program(named)) return std::string(named);
    return fail(ErrorCode::machine,
                std::string("SEEDBED_SHIM=") + named + ": is not a program; unset that variable");
  }
  std::error_code failed;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed).parent_path();
  const std::string beside = self / "seedbed-shim";
  const std::string installed =
      (self / "../libexec/seedbed/seedbed-shim").lexically_normal().string();
  for (const std::string& path : {beside, installed}) {
    if (is_program(path)) return path;
  }
  return fail(ErrorCode::machine, "seedbed-shim is missing (sought as " + beside + " and " +
                                      installed + "); install seedbed again, as a whole");
}

Result<std::unique_ptr<Launcher>> make_local_launcher(EventLoop& loop, LaunchListener& listener,
                                                      Log& log, const std::string& study_dir,
                                                      LocalLauncherOptions options) {
  if (options.shim.empty()) {
    auto found = find_shim();
    if (!found) return propagate(found);
    options.shim = std::move(*found);
  }
  if (options.runtime_dir.empty()) {
    auto folder = study_runtime_dir(study_dir);
    if (!folder) return propagate(folder);
    options.runtime_dir = std::move(*folder);
  }
  return std::make_unique<LocalLauncher>(LocalContext{
      loop, listener, log, study_dir, study_hash(study_dir), options.shim, options.runtime_dir});
}

}  // namespace seedbed
