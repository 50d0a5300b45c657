#include "launchers/slot_keeper.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "env/posix/identity.h"
#include "env/posix/process_tree.h"
#include "protocol/exit_record_text.h"

namespace seedbed {
namespace {

constexpr Milliseconds kReconnectPeriod{50};
constexpr int kReconnectTries = 60;
constexpr int kMaxFalseStarts = 50;
constexpr Milliseconds kDeathLimit{500};    // for a shim that has closed its socket
constexpr Milliseconds kRemainsPeriod{50};  // looks for processes whose shim was killed
constexpr int kRemainsLooks = 40;           // that many, then KILL at each

template <typename... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <typename... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

std::string file_of(const std::string& trial_dir, AttemptId attempt, const char* suffix) {
  return trial_dir + "/attempt-" + std::to_string(attempt.attempt) + suffix;
}

AttemptId attempt_of(const Message& message) {
  return std::visit(
      [](const auto& news) -> AttemptId {
        if constexpr (requires { news.record; }) {
          return news.record.attempt;
        } else if constexpr (requires { news.attempt; }) {
          return news.attempt;
        } else {
          return {};
        }
      },
      message);
}

/// Of a child that nobody has waited for.
bool has_ended(pid_t child) {
  siginfo_t info{};
  const int looked = ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT);
  return looked != 0 || info.si_pid != 0;
}

std::uint64_t ms_or_0(const std::optional<Milliseconds>& limit) {
  return limit ? static_cast<std::uint64_t>(std::max<std::int64_t>(1, limit->count())) : 0;
}

}  // namespace

SlotKeeper::SlotKeeper(LocalContext& context, SlotNumber slot)
    : context_(context),
      slot_(slot),
      socket_path_(context.runtime_dir + "/slot-" + std::to_string(slot)) {}

SlotKeeper::~SlotKeeper() {
  *alive_ = false;
  if (retry_timer_) context_.loop.cancel(*retry_timer_);
  if (remains_timer_) context_.loop.cancel(*remains_timer_);
  if (pidfd_) context_.loop.unwatch(pidfd_.get());
  if (shim_is_child_) ::waitpid(shim_pid_, nullptr, WNOHANG);
}

void SlotKeeper::later(std::function<void()> callback) {
  context_.loop.post([alive = std::weak_ptr<bool>(alive_), callback = std::move(callback)] {
    const auto here = alive.lock();
    if (here && *here) callback();
  });
}

// --- what the controller asks for ---

void SlotKeeper::start(const LaunchOrder& order) {
  orders_.push_back(order);
  go_on();
}

void SlotKeeper::adopt(const OpenAttempt& open) {
  open_.push_back(open);
  later([this] { go_on(); });
}

bool SlotKeeper::stop(AttemptId attempt, bool pruning) {
  const auto waits = std::find_if(orders_.begin(), orders_.end(), [&](const LaunchOrder& order) {
    return order.attempt == attempt;
  });
  if (waits != orders_.end()) {  // no shim has heard of it, and none will
    const Holding never{attempt, waits->trial_dir};
    orders_.erase(waits);
    wishes_.erase(attempt);
    static_cast<void>(void_attempt(never));
    later([this, attempt] { context_.listener.attempt_unclaimed(attempt); });
    return true;
  }
  const bool opens = std::any_of(open_.begin(), open_.end(),
                                 [&](const OpenAttempt& open) { return open.attempt == attempt; });
  if (!opens && (!holding_ || holding_->attempt != attempt)) return false;
  wishes_[attempt].stop = true;
  wishes_[attempt].pruning = pruning;
  pass_on_wishes();
  return true;
}

bool SlotKeeper::kill(AttemptId attempt) {
  const auto known = wishes_.find(attempt);
  const bool pruning = known != wishes_.end() && known->second.pruning;
  wishes_[attempt].kill = true;
  if (stop(attempt, pruning)) return true;
  wishes_.erase(attempt);
  return false;
}

bool SlotKeeper::freeze(AttemptId attempt, bool frozen) {
  const auto is_it = [&](const auto& one) { return one.attempt == attempt; };
  const bool here = (holding_ && holding_->attempt == attempt) ||
                    std::any_of(open_.begin(), open_.end(), is_it) ||
                    std::any_of(orders_.begin(), orders_.end(), is_it);
  if (!here) return false;
  wishes_[attempt].frozen = frozen;
  pass_on_wishes();
  return true;
}

void SlotKeeper::pass_on_wishes() {
  if (!holding_ || holding_->resolving || !link_ || hello_awaited_) return;
  const auto found = wishes_.find(holding_->attempt);
  if (found == wishes_.end()) return;
  if (found->second.kill) {
    link_->send(KillOrder{holding_->attempt});
  } else if (found->second.stop) {
    link_->send(StopOrder{holding_->attempt, found->second.pruning});
  } else if (found->second.frozen) {
    link_->send(FreezeOrder{holding_->attempt, *found->second.frozen});
  }
  wishes_.erase(found);
}

void SlotKeeper::finish() {
  if (link_) link_->send(LeaveWhenIdle{});
}

void SlotKeeper::leave() {
  if (link_) link_->send(EndAllAndLeave{});
}

// --- one attempt after another ---

void SlotKeeper::go_on() {
  if (holding_ || shim_in_between() || hello_awaited_) return;
  if (!open_.empty()) {
    take_next_open();
  } else if (!orders_.empty() && !stranger_) {
    give_next_order();
  }
}

void SlotKeeper::free_slot() {
  wishes_.erase(holding_->attempt);
  holding_.reset();
  if (!open_.empty() || !orders_.empty()) later([this] { go_on(); });
}

void SlotKeeper::take_next_open() {
  const OpenAttempt open = std::move(open_.front());
  open_.pop_front();
  holding_ = Holding{open.attempt, open.trial_dir};
  holding_->adopted = true;
  holding_->started = open.started;
  holding_->ended_told = open.ended;
  if (!open.host.empty() && open.host != host_name()) {
    holding_->elsewhere = open.host;
    return resolve();
  }
  if (link_) {  // ask again what it has
    hello_awaited_ = true;
    link_->send(ControllerHello{});
    return;
  }
  looked_for_shim_ = true;
  if (const auto file = live_shim(context_.study_dir, slot_)) return reach(*file);
  resolve();
}

void SlotKeeper::give_next_order() {
  if (!link_ && !std::exchange(looked_for_shim_, true)) {
    // One of an earlier controller may still wait for us; two would fight for the slot.
    if (const auto file = live_shim(context_.study_dir, slot_)) return reach(*file);
  }
  if (!link_) return start_process();
  const LaunchOrder order = std::move(orders_.front());
  orders_.pop_front();
  if (!link_->send(order_for_shim(order), order.locks)) {
    return refuse(order.attempt, "its command and environment are larger than 8 MiB together");
  }
  holding_ = Holding{order.attempt, order.trial_dir};
  holding_->fingerprint = order.fingerprint;
}

void SlotKeeper::refuse(AttemptId attempt, std::string why) {
  later([this, attempt, why = std::move(why)] {
    context_.listener.attempt_did_not_start(attempt, why);
    context_.listener.attempt_tree_gone(attempt);
    go_on();
  });
}

std::string SlotKeeper::token(AttemptId attempt) const {
  return "SEEDBED_TOKEN=" + context_.study_hash + "." + attempt.text();
}

StartOrder SlotKeeper::order_for_shim(const LaunchOrder& order) const {
  StartOrder start;
  start.attempt = order.attempt;
  start.argv = order.argv;
  start.environment.reserve(order.environment.size() + 1);
  for (const std::string& variable : order.environment) {
    if (!variable.starts_with("SEEDBED_TOKEN=")) start.environment.push_back(variable);
  }
  start.environment.push_back(token(order.attempt));
  start.working_dir = order.working_dir;
  start.trial_dir = order.trial_dir;
  start.watched_files = order.watched_files;
  start.cores = order.allocation.cores;
  start.time_limit_ms = ms_or_0(order.time_limit);
  start.silence_limit_ms = ms_or_0(order.silence_limit);
  start.log_limit = order.log_limit.value_or(0);
  start.grace_ms = ms_or_0(order.grace);
  start.prune_grace_ms = ms_or_0(order.prune_grace);
  start.stop_file = order.stop_file;
  start.fingerprint = order.fingerprint;
  start.locks = order.locks.size();
  start.nice = order.nice;
  return start;
}

// --- the shim ---

void SlotKeeper::start_process() {
  const auto give_up = [this](std::string why) {
    const AttemptId attempt = orders_.front().attempt;
    orders_.pop_front();
    false_starts_ = 0;
    refuse(attempt, std::move(why));
  };
  if (false_starts_ >= kMaxFalseStarts) {
    return give_up(context_.shim + ": ends at once; does it run by hand?");
  }
  auto started = start_shim(context_.shim, context_.study_dir, slot_, socket_path_);
  if (!started) return give_up(started.error().message);
  shim_pid_ = started->pid;
  shim_is_child_ = true;
  context_.log.info("shim_started",
                    {{"slot", std::to_string(slot_)}, {"pid", std::to_string(shim_pid_)}});
  use(std::move(started->socket));
}

void SlotKeeper::reach(const SlotFile& file) {
  shim_pid_ = static_cast<pid_t>(file.shim.pid);
  shim_ticks_ = file.shim.start_ticks;
  shim_boot_ = file.shim.boot_id;
  shim_is_child_ = false;
  auto socket = connect_shim(file.socket);
  if (socket) {
    tries_ = 0;
    return use(std::move(*socket));
  }
  if (++tries_ >= kReconnectTries) {
    // It lives but cannot be spoken to: asked by a signal, it ends its tree, writes the record and
    // goes.
    context_.log.warning("shim_unreachable", {{"slot", std::to_string(slot_)},
                                              {"pid", std::to_string(shim_pid_)},
                                              {"why", socket.error().message}});
    tries_ = 0;
    ::kill(shim_pid_, SIGTERM);
    return watch_process(false);
  }
  retry_timer_ = context_.loop.call_after(kReconnectPeriod, [this] {
    retry_timer_.reset();
    if (const auto again = live_shim(context_.study_dir, slot_)) return reach(*again);
    process_died();
  });
}

void SlotKeeper::use(Descriptor socket) {
  link_ = std::make_unique<ShimLink>(
      context_.loop, std::move(socket),
      ShimLink::Listener{[this](const Message& message) { on_message(message); },
                         [this] { closed(); }});
  hello_awaited_ = true;
  link_->send(ControllerHello{});
}

void SlotKeeper::closed() {
  link_.reset();
  stranger_.reset();
  if (std::exchange(hello_awaited_, false)) {
    // Perhaps another shim has the slot already: one that was started just before a controller was
    // killed, and had not written its slot file when we looked.
    looked_for_shim_ = false;
    ++false_starts_;
  }
  watch_process(true);
}

// A closed socket nearly always means a dead shim. One that lives on (it took us for dead) is
// spoken to again.
void SlotKeeper::watch_process(bool reconnect) {
  pidfd_ = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, shim_pid_, 0)));
  const bool lives =
      shim_is_child_ ? !has_ended(shim_pid_) : is_running(shim_pid_, shim_ticks_, shim_boot_);
  if (!lives) {
    pidfd_.reset();
    later([this] { process_died(); });
    return;
  }
  if (!pidfd_) {  // no descriptor to be had: by looking, then
    retry_timer_ = context_.loop.call_after(kDeathLimit, [this, reconnect] {
      retry_timer_.reset();
      watch_process(reconnect);
    });
    return;
  }
  const auto stop_watching = [this] {
    context_.loop.unwatch(pidfd_.get());
    pidfd_.reset();
    if (retry_timer_) context_.loop.cancel(*retry_timer_);
    retry_timer_.reset();
  };
  context_.loop.watch_readable(pidfd_.get(), [this, stop_watching] {
    stop_watching();
    process_died();
  });
  if (!reconnect) return;
  retry_timer_ = context_.loop.call_after(kDeathLimit, [this, stop_watching] {
    const auto file = live_shim(context_.study_dir, slot_);
    if (!file || file->shim.pid != shim_pid_) return retry_timer_.reset();
    const bool child = shim_is_child_;
    stop_watching();
    reach(*file);
    shim_is_child_ = child;
  });
}

void SlotKeeper::process_died() {
  if (shim_is_child_) ::waitpid(shim_pid_, nullptr, WNOHANG);
  if (holding_ || !context_.finishing) {
    context_.log.info("shim_gone",
                      {{"slot", std::to_string(slot_)}, {"pid", std::to_string(shim_pid_)}});
  }
  shim_pid_ = 0;
  shim_is_child_ = false;
  if (holding_ && !holding_->resolving) return resolve();
  go_on();
}

// --- news ---

void SlotKeeper::on_message(const Message& message) {
  if (const auto* hello = std::get_if<ShimHello>(&message)) return on_hello(*hello);
  const AttemptId attempt = attempt_of(message);
  if (attempt == stranger_) {
    const bool last = std::holds_alternative<TreeGoneNews>(message) ||
                      std::holds_alternative<DidNotStartNews>(message) ||
                      std::holds_alternative<ClaimRefusedNews>(message);
    if (!last) return;
    stranger_.reset();
    return go_on();
  }
  if (!holding_ || holding_->resolving || holding_->attempt != attempt) return;
  LaunchListener& listener = context_.listener;
  std::visit(Overloaded{
                 [&](const RunningNews& news) {
                   holding_->started = true;
                   if (std::exchange(holding_->running_told, true) || holding_->ended_told) return;
                   listener.attempt_running(attempt, news.process);
                 },
                 [&](const DidNotStartNews& news) {
                   free_slot();
                   listener.attempt_did_not_start(attempt, news.detail);
                   listener.attempt_tree_gone(attempt);
                 },
                 [&](const ClaimRefusedNews&) { claim_refused(); },
                 [&](const EndedNews& news) {
                   if (std::exchange(holding_->ended_told, true)) return;
                   listener.attempt_ended(news.record);
                 },
                 [&](const TreeGoneNews&) {
                   free_slot();
                   listener.attempt_tree_gone(attempt);
                 },
                 [&](const NoteNews& news) { listener.attempt_note(attempt, news.text); },
                 [](const auto&) {},
             },
             message);
}

// Its log is there already. Either it was voided, or it ran in a time of which the record knows
// nothing: an older copy of the record was put back, or it was damaged. An end that nobody asked
// for counts, if it was the same command with the same parameters.
void SlotKeeper::claim_refused() {
  const AttemptId attempt = holding_->attempt;
  const auto record = holding_->fingerprint.empty() ? std::nullopt : read_exit(*holding_);
  const bool counts = record && !record->stop_asked &&
                      record->outcome.kind != OutcomeKind::start_failed &&
                      record->fingerprint == holding_->fingerprint;
  free_slot();
  if (!counts) return context_.listener.attempt_unclaimed(attempt);
  context_.listener.attempt_note(attempt,
                                 "had ended before, unknown to the record: its end and its "
                                 "output were found in its folder");
  context_.listener.attempt_ended(*record);
  context_.listener.attempt_tree_gone(attempt);
}

void SlotKeeper::on_hello(const ShimHello& hello) {
  if (!std::exchange(hello_awaited_, false)) return;
  if (hello.version != kProtocolVersion) {
    // Of another version of seedbed: asked by a signal it ends its tree, writes the record and
    // goes.
    context_.log.warning("shim_version", {{"slot", std::to_string(slot_)},
                                          {"version", std::to_string(hello.version)}});
    ::kill(shim_pid_, SIGTERM);
    link_.reset();
    return watch_process(false);
  }
  false_starts_ = 0;
  const bool has_ours = holding_ && hello.attempt == holding_->attempt;
  if (!has_ours && hello.attempt.trial != 0) {
    stranger_ = hello.attempt;
    if (hello.state != ShimState::idle) link_->send(KillOrder{hello.attempt});  // nobody wants it
  }
  if (has_ours) return pass_on_wishes();  // its news follow
  if (holding_) return resolve();
  go_on();
}

// --- an attempt that no shim has ---

std::optional<ExitRecord> SlotKeeper::read_exit(const Holding& holding) const {
  const std::string path = file_of(holding.trial_dir, holding.attempt, ".exit");
  const auto text = read_file(path, std::size_t{1} << 20);
  if (!text) return std::nullopt;
  auto record = decode_exit_record(*text);
  if (record && record->attempt == holding.attempt) return std::move(*record);
  context_.log.warning(
      "exit_record_ignored",
      {{"file", path}, {"why", record ? "another attempt" : record.error().message}});
  return std::nullopt;
}

// Makes the log that only one can make: no shim can start the attempt after that. True if nobody
// has claimed it before.
bool SlotKeeper::void_attempt(const Holding& holding) const {
  const std::string path = file_of(holding.trial_dir, holding.attempt, ".log");
  const Descriptor log(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  return log || errno != EEXIST;
}

void SlotKeeper::resolve() {
  holding_->resolving = true;
  later([this] {
    const auto record = read_exit(*holding_);
    if (record && record->outcome.kind == OutcomeKind::start_failed) {
      free_slot();
      context_.listener.attempt_did_not_start(record->attempt, record->outcome.detail);
      context_.listener.attempt_tree_gone(record->attempt);
      return;
    }
    if (record) {
      // It may have begun and ended while no controller lived.
      if (!std::exchange(holding_->started, true)) {
        context_.listener.attempt_running(record->attempt, record->process);
      }
      if (!std::exchange(holding_->ended_told, true)) context_.listener.attempt_ended(*record);
      return clear_remains("");
    }
    if (holding_->ended_told) return clear_remains("");
    const AttemptId attempt = holding_->attempt;
    if (!holding_->elsewhere.empty()) {
      const std::string why = "it ran on host " + holding_->elsewhere + " and left no exit record";
      free_slot();
      context_.listener.attempt_lost(attempt, why);
      context_.listener.attempt_tree_gone(attempt);
      return;
    }
    if (!holding_->started && void_attempt(*holding_)) {
      free_slot();
      context_.listener.attempt_unclaimed(attempt);
      return;
    }
    clear_remains("its slot process is gone and left no exit record");
  });
}

void SlotKeeper::look_for_remains(int look, std::function<void(std::size_t left)> found) {
  const int signal = look == 0 ? SIGTERM : look < kRemainsLooks ? 0 : SIGKILL;
  auto left = std::make_shared<std::size_t>(0);
  context_.loop.run_in_background(
      [left, signal, token = token(holding_->attempt)] {
        *left = signal_processes_with(token, signal);
      },
      [left, found = std::move(found), alive = std::weak_ptr<bool>(alive_)] {
        const auto here = alive.lock();
        if (here && *here) found(*left);
      });
}

// Ends what the attempt has left behind, look by look: each reads all of /proc, so it is done in
// the background. What was lent stays lent until nothing is left.
void SlotKeeper::clear_remains(std::string why_lost, int look) {
  look_for_remains(look, [this, look, why = std::move(why_lost)](std::size_t left) {
    if (left > 0) {
      remains_timer_ = context_.loop.call_after(
          look < kRemainsLooks ? kRemainsPeriod : 5 * kRemainsPeriod, [this, look, why] {
            remains_timer_.reset();
            clear_remains(why, look + 1);
          });
      return;
    }
    const AttemptId attempt = holding_->attempt;
    free_slot();
    if (!why.empty()) context_.listener.attempt_lost(attempt, why);
    context_.listener.attempt_tree_gone(attempt);
  });
}

}  // namespace seedbed
