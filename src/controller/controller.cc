#include "controller/controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "base/check.h"

namespace seedbed {
namespace {

constexpr Milliseconds kMetricPeriod{100};  // waking at each write would cost ten times the CPU
constexpr Milliseconds kSyncPeriod{1000};
constexpr Milliseconds kTickPeriod{200};
constexpr Milliseconds kLookPeriod{1000};
constexpr Milliseconds kDiskFullPeriod{1000};
constexpr Milliseconds kLongestWait{24 * 3600 * 1000};
constexpr std::size_t kInputsPerTurn = 256;  // then the loop looks at signals and sockets again

bool ends_run(const Action& action) {
  return std::holds_alternative<EndRun>(action) || std::holds_alternative<LeaveNow>(action);
}

}  // namespace

Controller::Controller(Ports ports, Engine& engine) : ports_(std::move(ports)), engine_(engine) {}

void Controller::begin(RunBegan began) {
  SEEDBED_CHECK(launcher_ != nullptr);
  std::vector<OpenAttempt> open;
  const StudyState& state = engine_.state();
  for (const AttemptId id : state.open_attempts()) {
    const AttemptStatus& attempt = *state.attempt(id);
    const TrialStatus& trial = *state.trial(id.trial);
    OpenAttempt one;
    one.attempt = id;
    one.slot = attempt.allocation.slot;
    one.trial_dir = ports_.setup.trial_dir(trial);
    one.ended = attempt.phase == AttemptPhase::ended;
    if (attempt.started) {
      one.started = true;
      one.pid = attempt.started->pid;
      one.start_ticks = attempt.started->start_ticks;
      one.boot_id = attempt.started->boot_id;
      one.host = attempt.started->host;
    }
    if (!one.ended) follow_adopted(trial, id);
    open.push_back(std::move(one));
  }
  began.held = ports_.gate.look(ours());
  submit(std::move(began));
  if (!open.empty()) {
    ports_.log.info("adopting", {{"attempts", std::to_string(open.size())}});
    launcher_->adopt(open);
  }
  ports_.loop.call_after(kMetricPeriod, [this] { poll_metrics(); });
  ports_.loop.call_after(kSyncPeriod, [this] { sync_soon(); });
  ports_.loop.call_after(kTickPeriod, [this] { tick(); });
  ports_.loop.call_after(kLookPeriod, [this] { look_around(); });
}

void Controller::submit(Input input, std::function<void()> done) {
  if (ended_) return;
  if (const auto* interrupt = std::get_if<InterruptCame>(&input); interrupt && disk_full_told_) {
    return leave_unrecorded(interrupt->signal);
  }
  inputs_.push_back({std::move(input), std::move(done)});
  schedule_work();
}

void Controller::schedule_work() {
  if (work_scheduled_ || ended_) return;
  work_scheduled_ = true;
  ports_.loop.post([this] {
    work_scheduled_ = false;
    work();
  });
}

void Controller::work() {
  if (turn_.empty()) decide_waiting();
  if (!commit_turn()) {
    if (ended_) return;
    if (turn_.interrupt) return leave_unrecorded(*turn_.interrupt);
    // Nothing was written and nothing done: the turn waits for room on the disk, and with it
    // every further input.
    work_scheduled_ = true;
    ports_.loop.call_after(kDiskFullPeriod, [this] {
      work_scheduled_ = false;
      work();
    });
    return;
  }
  carry_out(std::exchange(turn_, {}));
  if (!inputs_.empty()) schedule_work();
}

void Controller::decide_waiting() {
  for (std::size_t i = 0; i < kInputsPerTurn && !inputs_.empty(); ++i) {
    Pending pending = std::move(inputs_.front());
    inputs_.pop_front();
    if (const auto* interrupt = std::get_if<InterruptCame>(&pending.input)) {
      turn_.interrupt = interrupt->signal;
    }
    const Timestamp now = ports_.clock.wall();
    Decision decision = engine_.decide(now, pending.input);
    for (Record& record : decision.records) {
      turn_.entries.push_back({now, std::move(record)});
      engine_.apply(turn_.entries.back());
    }
    const bool last = std::any_of(decision.actions.begin(), decision.actions.end(), ends_run);
    std::move(decision.actions.begin(), decision.actions.end(), std::back_inserter(turn_.actions));
    if (pending.done) turn_.done.push_back(std::move(pending.done));
    if (last) break;
  }
}

bool Controller::commit_turn() {
  if (turn_.entries.empty()) return true;
  if (Status committed = ports_.store.commit(turn_.entries); !committed) {
    if (committed.error().code != ErrorCode::machine) {
      fail_run(committed.error());
      return false;
    }
    if (!disk_full_told_) {
      disk_full_told_ = true;
      ports_.log.warning("commit_failed", {{"why", committed.error().message}});
      for (Reporter* reporter : ports_.reporters) {
        reporter->trouble("records cannot be written, nothing new starts until they can: " +
                          committed.error().message);
      }
    }
    return false;
  }
  disk_full_told_ = false;
  unsynced_ = true;
  return true;
}

void Controller::carry_out(const Turn& turn) {
  // A free slot does not wait for our telling; the end of the run does.
  const auto end = std::find_if(turn.actions.begin(), turn.actions.end(), ends_run);
  for (auto next = turn.actions.begin(); next != end && !ended_; ++next) perform(*next);
  if (!turn.entries.empty()) {
    for (Reporter* reporter : ports_.reporters) {
      reporter->committed(turn.entries, engine_.state());
    }
  }
  for (auto next = end; next != turn.actions.end() && !ended_; ++next) perform(*next);
  for (const auto& done : turn.done) done();
  ports_.gate.settle();
}

struct Controller::Performer {
  Controller& controller;

  void operator()(const AskSampler& ask) const {
    Controller* self = &controller;
    self->ports_.proposals.ask(ask.from, ask.count,
                               [self](ProposalsMade made) { self->submit(std::move(made)); });
  }
  void operator()(const StartAttempt& start) const { controller.start(start); }
  void operator()(const StopAttempt& stop) const {
    if (controller.withdraw(stop.attempt)) return;
    controller.launcher_->stop(stop.attempt, stop.cause == StopCause::pruned);
  }
  void operator()(const KillAttempt& kill) const {
    if (!controller.withdraw(kill.attempt)) controller.launcher_->kill(kill.attempt);
  }
  void operator()(const FreezeAttempt& freeze) const {
    if (controller.postponed_.contains(freeze.attempt)) return;  // it waits while paused
    controller.launcher_->freeze(freeze.attempt, freeze.frozen);
  }
  void operator()(const WakeAt& wake) const { controller.wake_at(wake.at); }
  void operator()(const EndRun& run) const { controller.end(run.exit_code, false); }
  void operator()(const LeaveNow& leave) const { controller.end(leave.exit_code, true); }
};

void Controller::perform(const Action& action) { std::visit(Performer{*this}, action); }

void Controller::start(const StartAttempt& action) {
  const TrialStatus* trial = engine_.state().trial(action.attempt.trial);
  SEEDBED_CHECK(trial != nullptr);
  // Never into the folder of another study that has taken our place.
  if (Status there = ports_.store.in_place(); !there) {
    submit(StudyGone{there.error().message});
    return attempt_unclaimed(action.attempt);
  }
  auto prepared = ports_.setup.prepare(*trial, action.attempt, action.allocation);
  if (!prepared) {
    // A full disk is nobody's trial's fault: it waits. A value that cannot be passed is.
    if (prepared.error().code == ErrorCode::machine) return postpone(action, prepared.error());
    ports_.setup.released(action.attempt);
    submit(AttemptDidNotStart{action.attempt, prepared.error().message, true});
    return;
  }
  // Taken by others since we looked: it goes elsewhere, or waits.
  if (const Held others = ports_.gate.take(action.attempt, action.allocation); !others.empty()) {
    Held all = engine_.state().held();
    all.cores.insert(others.cores.begin(), others.cores.end());
    all.devices.insert(others.devices.begin(), others.devices.end());
    submit(HeldElsewhere{std::move(all)});
    attempt_unclaimed(action.attempt);
    return;
  }
  prepared->order.locks = ports_.gate.locks(action.attempt);
  for (NoteAdded& found : prepared->notes) note(std::move(found));
  details_[action.attempt] = std::move(prepared->details_json);
  const auto before = positions_before(action.attempt);
  if (!before) return fail_run(before.error());
  ports_.metrics.follow(*trial, action.attempt, {}, *before);
  launcher_->start(prepared->order);
}

void Controller::postpone(const StartAttempt& action, const Error& why) {
  if (postponed_.empty()) {
    ports_.log.warning("start_postponed", {{"why", why.message}});
    for (Reporter* reporter : ports_.reporters) {
      reporter->trouble("trials cannot be started for now, trying again: " + why.message);
    }
    ports_.loop.call_after(kDiskFullPeriod, [this] { start_postponed(); });
  }
  postponed_[action.attempt] = action;
}

void Controller::start_postponed() {
  if (ended_ || postponed_.empty()) return;
  if (engine_.state().stopping()) {
    while (!postponed_.empty()) static_cast<void>(withdraw(postponed_.begin()->first));
    return;
  }
  if (engine_.state().tally().paused) {
    ports_.loop.call_after(kDiskFullPeriod, [this] { start_postponed(); });
    return;
  }
  for (const auto& [attempt, action] : std::exchange(postponed_, {})) start(action);
}

bool Controller::withdraw(AttemptId attempt) {
  if (postponed_.erase(attempt) == 0) return false;
  ports_.setup.released(attempt);
  submit(AttemptWasUnclaimed{attempt});
  return true;
}

void Controller::follow_adopted(const TrialStatus& trial, AttemptId attempt) {
  const auto own = ports_.store.positions(attempt);
  if (!own) return fail_run(own.error());
  const auto before = positions_before(attempt);
  if (!before) return fail_run(before.error());
  ports_.metrics.follow(trial, attempt, *own, *before);
}

Result<std::vector<SourcePosition>> Controller::positions_before(AttemptId attempt) const {
  if (attempt.attempt == 1) return std::vector<SourcePosition>();
  return ports_.store.positions({attempt.trial, attempt.attempt - 1});
}

void Controller::note(NoteAdded note) { submit(NoteCame{std::move(note)}); }

void Controller::attempt_running(AttemptId attempt, const ProcessIdentity& process) {
  AttemptStarted started;
  started.attempt = attempt;
  started.pid = process.pid;
  started.start_ticks = process.start_ticks;
  started.boot_id = process.boot_id;
  started.host = process.host;
  if (auto found = details_.extract(attempt); !found.empty()) {
    started.details_json = std::move(found.mapped());
  }
  submit(AttemptIsRunning{std::move(started)});
}

void Controller::attempt_did_not_start(AttemptId attempt, const std::string& detail) {
  details_.erase(attempt);
  static_cast<void>(ports_.metrics.finish(attempt, ports_.clock.wall()));
  submit(AttemptDidNotStart{attempt, detail, false});
}

MetricFeed::Rest Controller::finish_metrics(AttemptId attempt) {
  details_.erase(attempt);
  MetricFeed::Rest rest = ports_.metrics.finish(attempt, ports_.clock.wall());
  if (!rest.reported.points.empty() || !rest.reported.positions.empty()) {
    submit(MetricsArrived{std::move(rest.reported)});
  }
  for (NoteAdded& found : std::exchange(rest.notes, {})) note(std::move(found));
  return rest;
}

void Controller::attempt_ended(const ExitRecord& record) {
  MetricFeed::Rest rest = finish_metrics(record.attempt);
  AttemptFinished finished;
  finished.attempt = record.attempt;
  finished.outcome = record.outcome;
  finished.usage = {record.wall_ms, record.cpu_ms, record.peak_memory, record.log_bytes};
  finished.traceback_seen = rest.traceback_seen;
  finished.failure_line = std::move(rest.failure_line);
  finished.seen_metrics = std::move(rest.names_seen);
  finished.output_gone = rest.log_gone;
  submit(std::move(finished));
}

void Controller::attempt_tree_gone(AttemptId attempt) {
  ports_.setup.released(attempt);
  ports_.gate.give_back(attempt);
  submit(AttemptTreeGone{attempt});
}

void Controller::attempt_lost(AttemptId attempt, const std::string& detail) {
  static_cast<void>(finish_metrics(attempt));
  ports_.setup.released(attempt);
  ports_.gate.give_back(attempt);
  submit(AttemptIsLost{attempt, detail});
}

void Controller::attempt_unclaimed(AttemptId attempt) {
  details_.erase(attempt);
  static_cast<void>(ports_.metrics.finish(attempt, ports_.clock.wall()));
  ports_.setup.released(attempt);
  ports_.gate.give_back(attempt);
  submit(AttemptWasUnclaimed{attempt});
}

void Controller::attempt_note(AttemptId attempt, const std::string& text) {
  note({attempt.trial, "attempt", text});
}

void Controller::poll_metrics() {
  if (ended_) return;
  // While inputs wait for room on the disk, nothing more is read: the files keep it.
  if (inputs_.size() < kInputsPerTurn) {
    for (MetricsReported& reported : ports_.metrics.poll(ports_.clock.wall())) {
      submit(MetricsArrived{std::move(reported)});
    }
  }
  ports_.loop.call_after(kMetricPeriod, [this] { poll_metrics(); });
}

void Controller::sync_soon() {
  if (ended_) return;
  ports_.loop.call_after(kSyncPeriod, [this] { sync_soon(); });
  if (Status there = ports_.store.in_place(); !there) {
    return submit(StudyGone{there.error().message});  // and there is nothing to sync
  }
  if (!unsynced_ || syncing_) return;
  unsynced_ = false;
  syncing_ = true;
  auto outcome = std::make_shared<Status>();
  ports_.loop.run_in_background([this, outcome] { *outcome = ports_.store.sync(); },
                                [this, outcome] {
                                  syncing_ = false;
                                  if (!*outcome) fail_run(outcome->error());
                                });
}

Held Controller::ours() const {
  Held ours;
  const StudyState& state = engine_.state();
  for (const AttemptId id : state.open_attempts()) {
    const AttemptStatus& attempt = *state.attempt(id);
    if (attempt.released) continue;
    ours.cores.insert(attempt.allocation.cores.begin(), attempt.allocation.cores.end());
    for (const DeviceShare& share : attempt.allocation.devices) ours.devices.insert(share.device);
  }
  return ours;
}

void Controller::look_around() {
  if (ended_) return;
  ports_.loop.call_after(kLookPeriod, [this] { look_around(); });
  const Held& known = engine_.state().held();
  if (known.empty() && !ports_.gate.watches()) return;
  if (Held now = ports_.gate.look(ours()); now != known) submit(HeldElsewhere{std::move(now)});
}

void Controller::tick() {
  if (ended_) return;
  for (Reporter* reporter : ports_.reporters) {
    reporter->tick(ports_.clock.wall(), engine_.state());
  }
  ports_.loop.call_after(kTickPeriod, [this] { tick(); });
}

void Controller::wake_at(Timestamp at) {
  if (wake_timer_) ports_.loop.cancel(*wake_timer_);
  // Over a day later the engine sets its alarm again: what clocks count in has an end.
  const Milliseconds delay = std::clamp(at - ports_.clock.wall(), Milliseconds(0), kLongestWait);
  wake_timer_ = ports_.loop.call_after(delay, [this] {
    wake_timer_.reset();
    submit(TimePassed{});
  });
}

void Controller::leave_unrecorded(int signal) {
  for (Reporter* reporter : ports_.reporters) {
    reporter->trouble(
        "interrupted while records cannot be written: running trials are ended now; "
        "the next run records those that had ended by themselves and starts the others again");
  }
  end(128 + signal, true);
}

void Controller::end(int exit_code, bool leave) {
  ended_ = true;
  exit_code_ = exit_code;
  if (leave) {
    launcher_->leave();
  } else {
    launcher_->finish();
    for (Reporter* reporter : ports_.reporters) reporter->ended(engine_.state());
  }
  ports_.loop.stop();
}

void Controller::fail_run(Error error) {
  if (ended_) return;
  ports_.log.error("run_failed", {{"why", error.message}});
  ended_ = true;
  exit_code_ = seedbed::exit_code(error.code);
  if (error.code == ErrorCode::damaged) {
    error.message += "; running trials go on, the same command finds them and mends what it can";
  }
  failure_ = std::move(error);
  ports_.loop.stop();
}

}  // namespace seedbed
