#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "env/posix/files.h"
#include "env/posix/identity.h"
#include "env/posix/posix.h"
#include "env/posix/temporary_dir_test.h"
#include "launchers/local_launcher.h"

namespace seedbed {

/// News as they came, as text: `running 1.1`, `ended 1.1 exited 0`, `tree_gone 1.1`.
class News : public LaunchListener {
 public:
  void attempt_running(AttemptId attempt, const ProcessIdentity& process) override {
    processes[attempt] = process;
    add("running " + attempt.text());
  }
  void attempt_did_not_start(AttemptId attempt, const std::string& detail) override {
    details[attempt] = detail;
    add("did_not_start " + attempt.text());
  }
  void attempt_ended(const ExitRecord& record) override {
    records[record.attempt] = record;
    add("ended " + record.attempt.text() + " " + std::string(outcome_word(record.outcome.kind)) +
        " " + std::to_string(record.outcome.code));
  }
  void attempt_tree_gone(AttemptId attempt) override { add("tree_gone " + attempt.text()); }
  void attempt_lost(AttemptId attempt, const std::string& detail) override {
    details[attempt] = detail;
    add("lost " + attempt.text());
  }
  void attempt_unclaimed(AttemptId attempt) override { add("unclaimed " + attempt.text()); }
  void attempt_note(AttemptId attempt, const std::string& text) override {
    notes[attempt].push_back(text);
  }

  [[nodiscard]] bool has(const std::string& text) const { return count(text) > 0; }
  /// How many are that text, or begin with it and a space.
  [[nodiscard]] std::size_t count(const std::string& text) const {
    if (const auto kind = kinds_.find(text); kind != kinds_.end()) return kind->second;
    std::size_t found = 0;
    for (const std::string& one : all) found += one == text || one.starts_with(text + " ") ? 1 : 0;
    return found;
  }
  /// Only those about one attempt.
  [[nodiscard]] std::vector<std::string> of(const std::string& attempt) const {
    std::vector<std::string> found;
    for (const std::string& one : all) {
      if (one.ends_with(" " + attempt) || one.find(" " + attempt + " ") != std::string::npos) {
        found.push_back(one);
      }
    }
    return found;
  }

  std::vector<std::string> all;
  std::map<AttemptId, ProcessIdentity> processes;
  std::map<AttemptId, ExitRecord> records;
  std::map<AttemptId, std::string> details;
  std::map<AttemptId, std::vector<std::string>> notes;
  std::function<void()> on_news;

 private:
  void add(std::string text) {
    ++kinds_[text.substr(0, text.find(' '))];
    all.push_back(std::move(text));
    if (on_news) on_news();
  }

  std::map<std::string, std::size_t> kinds_;
};

/// A study folder and the real local launcher with the real shim.
class LauncherWorld : public ::testing::Test {
 protected:
  LauncherWorld() {
    ::chmod(dir.path().c_str(), 0700);
    study = dir / "study";
    runtime = dir / "run";
    EXPECT_TRUE(make_directories(study + "/trials"));
    EXPECT_TRUE(*make_directory(runtime, 0700));
    restart();
  }
  ~LauncherWorld() override {
    if (launcher) launcher->leave();
    // Shims of this test leave before the next begins: their folder goes away.
    until([&] { return shims().empty(); });
  }

  /// A new controller; the one before goes without a word, as if it were killed.
  void restart() {
    launcher.reset();
    news = std::make_unique<News>();
    auto made = make_local_launcher(*loop, *news, *log, study, {SEEDBED_SHIM_PATH, runtime});
    ASSERT_TRUE(made) << made.error().message;
    launcher = std::move(*made);
  }

  LaunchOrder order(AttemptId attempt, std::vector<std::string> argv, SlotNumber slot = 0) {
    LaunchOrder order;
    order.attempt = attempt;
    order.allocation.slot = slot;
    order.argv = std::move(argv);
    order.environment = {"PATH=/usr/local/bin:/usr/bin:/bin"};
    order.working_dir = dir.path();
    order.trial_dir = trial_dir(attempt);
    // Twice what `until` waits, and more: what only the grace brings about makes a test fail.
    order.grace = Milliseconds(400'000);
    order.prune_grace = Milliseconds(400'000);
    order.stop_file = order.trial_dir + "/stop";
    EXPECT_TRUE(make_directories(order.trial_dir));
    return order;
  }
  LaunchOrder shell(AttemptId attempt, const std::string& script, SlotNumber slot = 0) {
    return order(attempt, {"/bin/sh", "-c", script}, slot);
  }

  [[nodiscard]] std::string trial_dir(AttemptId attempt) const {
    return study + "/trials/" + std::to_string(attempt.trial);
  }
  [[nodiscard]] std::string file(AttemptId attempt, const std::string& suffix) const {
    return trial_dir(attempt) + "/attempt-" + std::to_string(attempt.attempt) + suffix;
  }
  /// The whole file; fails, and is empty, when it cannot be read.
  [[nodiscard]] static std::string contents(const std::string& path) {
    const auto text = read_file(path);
    if (!text) ADD_FAILURE() << text.error().message;
    return text ? *text : std::string();
  }
  [[nodiscard]] std::string log_of(AttemptId attempt) const {
    const auto text = read_file(file(attempt, ".log"));
    return text ? *text : "(no log)";
  }

  /// Runs the loop until the condition holds; fails after 90 s.
  bool until(const std::function<bool()>& holds) {
    bool done = holds();
    if (done) return true;
    const auto check = [&] {
      done = done || holds();
      if (done) loop->stop();
    };
    std::function<void()> look = [&] {
      check();
      if (!done) poll = loop->call_after(Milliseconds(3), look);
    };
    EventLoop::TimerId limit = loop->call_after(Milliseconds(90'000), [&] { loop->stop(); });
    news->on_news = check;
    poll = loop->call_after(Milliseconds(3), look);
    loop->run();
    news->on_news = nullptr;
    loop->cancel(poll);
    loop->cancel(limit);
    EXPECT_TRUE(done) << "waited 90 s; news: " << ::testing::PrintToString(news->all);
    return done;
  }
  bool until_news(const std::string& text) {
    return until([&] { return news->has(text); });
  }
  bool until_log(AttemptId attempt, const std::string& part) {
    return until([&] { return log_of(attempt).find(part) != std::string::npos; });
  }
  /// Starts it and waits until its tree is gone.
  void run(const LaunchOrder& one) {
    launcher->start(one);
    until([&] {
      return news->has("tree_gone " + one.attempt.text()) ||
             news->has("unclaimed " + one.attempt.text());
    });
  }

  OpenAttempt open(AttemptId attempt, SlotNumber slot = 0) {
    OpenAttempt open;
    open.attempt = attempt;
    open.slot = slot;
    open.trial_dir = trial_dir(attempt);
    return open;
  }
  OpenAttempt open_started(AttemptId attempt, const ProcessIdentity& process, SlotNumber slot = 0) {
    OpenAttempt one = open(attempt, slot);
    one.started = true;
    one.pid = process.pid;
    one.start_ticks = process.start_ticks;
    one.boot_id = process.boot_id;
    one.host = process.host;
    return one;
  }

  /// Processes whose command line has this text.
  static std::vector<std::int64_t> processes(const std::string& text);
  std::vector<std::int64_t> shims() const;

  static bool alive(std::int64_t pid) {
    const auto stat = read_proc_stat(pid);
    return stat && !stat->ended();
  }

  TemporaryDir dir;
  std::string study, runtime;
  std::unique_ptr<EventLoop> loop = make_posix_event_loop();
  std::unique_ptr<Log> log = make_null_log();
  std::unique_ptr<News> news;
  std::unique_ptr<Launcher> launcher;
  EventLoop::TimerId poll = 0;
};

inline std::vector<std::int64_t> LauncherWorld::processes(const std::string& text) {
  std::vector<std::int64_t> found;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", failed)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto line = read_file(entry.path().string() + "/cmdline");
    const std::int64_t pid = std::stoll(name);
    if (line && line->find(text) != std::string::npos && alive(pid)) found.push_back(pid);
  }
  return found;
}

inline std::vector<std::int64_t> LauncherWorld::shims() const {
  return processes(std::string("seedbed-shim") + '\0' + study);
}

}  // namespace seedbed
