#include "shim/attempt.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "protocol/exit_record_text.h"
#include "shim/rank_file.h"
#include "shim/spawn.h"
#include "shim/start_diagnosis.h"
#include "shim/system.h"
#include "shim/tree.h"

namespace seedbed::shim {
namespace {

constexpr std::int64_t kNever = INT64_MAX;
constexpr std::int64_t kKillPauseMs = 5;  // forks may escape one picture of the tree: again,
constexpr std::int64_t kLongestKillPauseMs = 500;  // but rarer and rarer if one is stuck
constexpr std::int64_t kLogPeriodMs = 250;         // how far a log may outgrow its limit
constexpr std::int64_t kRecordRetryMs = 1000;
constexpr std::int64_t kSettleMs = 200;

std::string file_of(const StartOrder& order, const char* suffix) {
  return "attempt-" + std::to_string(order.attempt.attempt) + suffix;
}

std::int64_t earliest(std::int64_t a, std::int64_t b) { return b == 0 ? a : std::min(a, b); }

}  // namespace

Attempt::Attempt(StartOrder order, HeldLocks locks, const ProcessIdentity& shim, MemoryKills& kills,
                 Tell tell)
    : order_(std::move(order)),
      locks_(std::move(locks)),
      process_(shim),
      kills_(kills),
      tell_(std::move(tell)) {
  process_.pid = 0;
  process_.start_ticks = 0;
}

Attempt::~Attempt() {
  if (log_ >= 0) ::close(log_);
  if (folder_ >= 0) ::close(folder_);
}

void Attempt::start(std::int64_t now) {
  // Open until the record is written: should the study be moved meanwhile and another begin in its
  // place, the record still goes to its own.
  folder_ = ::open(order_.trial_dir.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  const std::string name = file_of(order_, ".log");
  // The claim: of all who may start (or void) this attempt, exactly one makes this file.
  if (folder_ < 0) {
    start_failure_ = order_.trial_dir + "/" + name + ": " + error_words(errno);
    phase_ = Phase::gone;
    locks_.release();
    tell_(DidNotStartNews{order_.attempt, start_failure_});
    return;
  }
  log_ = ::openat(folder_, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
  if (log_ < 0) {
    const int error = errno;
    phase_ = Phase::gone;
    locks_.release();
    if (error == EEXIST) {
      tell_(ClaimRefusedNews{order_.attempt});
    } else {
      start_failure_ = order_.trial_dir + "/" + name + ": " + error_words(error);
      tell_(DidNotStartNews{order_.attempt, start_failure_});
    }
    return;
  }
  keeper_.emplace(log_, order_.log_limit);
  kills_.remember();
  started_ = last_life_ = now;
  record_.started_ms = wall_ms();
  Spawned spawned = spawn(order_, log_);
  if (spawned.pid == 0) return did_not_start(std::move(spawned.why));
  pid_ = spawned.pid;
  process_.pid = spawned.pid;
  process_.start_ticks = spawned.start_ticks;
  tell_(RunningNews{order_.attempt, process_});
  if (spawned.bind_error != 0) {
    note(std::string("could not be bound to its cores (") + error_words(spawned.bind_error) +
         "); it runs unbound");
  }
  if (order_.silence_limit_ms > 0) {
    for (const std::string& file : order_.watched_files) signs_.push_back(sign_of(file));
  }
  if (order_.silence_limit_ms > 0 || keeper_->active()) look_at_ = now + 1;
}

void Attempt::did_not_start(std::string why) {
  phase_ = Phase::gone;
  locks_.release();
  start_failure_ = std::move(why);
  static_cast<void>(write_all(log_, "seedbed: " + start_failure_ + "\n"));
  record_.outcome = {OutcomeKind::start_failed, 0, start_failure_};
  write_record(started_);
  tell_(DidNotStartNews{order_.attempt, start_failure_});
}

void Attempt::stop(bool pruning, std::int64_t now) {
  if (phase_ == Phase::running) {
    begin_ending(pruning ? Cause::pruned : Cause::stopped,
                 pruning ? order_.prune_grace_ms : order_.grace_ms, now);
  } else if ((phase_ == Phase::ending || phase_ == Phase::rest) && !pruning) {
    // Somebody wants it away sooner than a pruned one may take.
    kill_at_ = std::min(kill_at_, now + static_cast<std::int64_t>(order_.grace_ms));
  }
}

void Attempt::freeze(bool frozen, std::int64_t now) {
  if (!frozen) return thaw(now);
  if (phase_ != Phase::running || frozen_at_ != 0) return;
  frozen_at_ = now;
  stop_tree(::getpid());
}

void Attempt::thaw(std::int64_t now) {
  if (frozen_at_ == 0) return;
  const std::int64_t lost = now - std::exchange(frozen_at_, 0);
  frozen_ms_ += lost;
  last_life_ += lost;
  for (const pid_t pid : descendants_of(::getpid())) ::kill(pid, SIGCONT);
  if (look_at_ != 0) look_at_ = now + 1;
}

void Attempt::kill(std::int64_t now) {
  if (phase_ == Phase::gone) return;
  thaw(now);
  if (phase_ == Phase::running) {
    cause_ = Cause::stopped;
    phase_ = Phase::ending;
  }
  rest_at_ = 0;
  kill_at_ = now;
}

// First the main process alone (and what a shell runs for it), so that a program can end its own
// workers in order; the rest when it is gone, or has used up half of its time.
void Attempt::begin_ending(Cause cause, std::uint64_t grace_ms, std::int64_t now) {
  thaw(now);
  cause_ = cause;
  phase_ = Phase::ending;
  const auto grace = static_cast<std::int64_t>(grace_ms);
  rest_at_ = now + grace / 2;
  kill_at_ = now + grace;
  if (!order_.stop_file.empty()) {
    const int file =
        ::open(order_.stop_file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (file >= 0) ::close(file);
  }
  // mpirun would kill the ranks a second after TERM: they are asked in its place, and have all the
  // time there is.
  const std::vector<pid_t> ranks = ranks_below(pid_);
  if (!ranks.empty()) {
    for (const pid_t rank : ranks) ask_to_end(rank);
    rest_at_ = 0;
    return;
  }
  // A shell's children are listed before it dies of TERM, and asked after it, so that it cannot go
  // on with its next command.
  const std::vector<pid_t> commands = is_shell(pid_) ? children_of(pid_) : std::vector<pid_t>();
  ask_to_end(pid_);
  for (const pid_t command : commands) ask_to_end(command);
}

void Attempt::ask_rest() {
  rest_at_ = 0;
  std::size_t left = 0;
  for (const pid_t pid : descendants_of(::getpid())) {
    if (pid == pid_ && phase_ != Phase::rest) continue;
    ask_to_end(pid);
    ++left;
  }
  // After a stop it is no surprise. A trial that leaves its workers to somebody else should know
  // that nobody takes them.
  if (phase_ == Phase::rest && !record_.stop_asked && left > 0) {
    note(left == 1 ? "a process that it left behind was ended"
                   : std::to_string(left) + " processes that it left behind were ended");
  }
}

void Attempt::kill_all(std::int64_t now) {
  for (const pid_t pid : descendants_of(::getpid())) ::kill(pid, SIGKILL);
  kill_pause_ = std::clamp(2 * kill_pause_, kKillPauseMs, kLongestKillPauseMs);
  kill_at_ = now + kill_pause_;
}

void Attempt::child_ended(pid_t pid, int status, const rusage& usage, std::int64_t now) {
  if (phase_ == Phase::gone || has_record_) return;  // an orphan after its end: not counted
  cpu_us_ += (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1'000'000L + usage.ru_utime.tv_usec +
             usage.ru_stime.tv_usec;
  peak_kb_ = std::max(peak_kb_, static_cast<std::uint64_t>(usage.ru_maxrss));
  if (pid == pid_) main_ended(status, now);
}

void Attempt::main_ended(int status, std::int64_t now) {
  thaw(now);  // it was killed while frozen; the rest may go on
  const bool was_asked = phase_ == Phase::ending;
  phase_ = Phase::rest;
  if (std::string line = keeper_->look(); !line.empty()) note(std::move(line));
  record_.outcome = outcome_of(status);
  record_.wall_ms = now - started_;
  record_.cpu_ms = cpu_us_ / 1000;
  record_.peak_memory = peak_kb_ * 1024;
  record_.stop_asked = was_asked;
  write_record(now);
  if (const std::string library = rank_facts().foreign_library; !library.empty()) {
    note("every rank was rank 0 of 1: " + order_.argv[0] + " started them, and the program uses " +
         library + ", which is another MPI's; name its mpirun (resources: {mpi: ...})");
  }
  tell_(EndedNews{record_});
  look_at_ = keeper_->active() ? now + kLogPeriodMs : 0;
  // What it left behind is asked to end. After an end of its own accord it has a moment to end by
  // itself: the `tee` of a pipe still writes its last lines.
  const auto grace = static_cast<std::int64_t>(order_.grace_ms);
  rest_at_ = was_asked ? now : now + std::min(kSettleMs, grace / 4);
  // A pruned one may have had longer: its main process, not what is left of it.
  kill_at_ = was_asked ? std::min(kill_at_, now + grace) : now + grace;
}

Outcome Attempt::outcome_of(int status) const {
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
  switch (cause_) {
    case Cause::stopped:
      return {OutcomeKind::stopped, code, ""};
    case Cause::pruned:
      return {OutcomeKind::pruned, code, ""};
    case Cause::time_limit:
      return {OutcomeKind::timed_out, code, "time"};
    case Cause::silence_limit:
      return {OutcomeKind::timed_out, code, "silence"};
    case Cause::none:
      break;
  }
  const RankFacts facts = rank_facts();
  if (status != 0 && facts.first_end) {
    const RankFacts::End& end = *facts.first_end;
    const bool killed = end.kind == OutcomeKind::signalled && end.code == SIGKILL;
    return {killed && kills_.grew() ? OutcomeKind::out_of_memory : end.kind, end.code,
            "rank " + std::to_string(end.rank)};
  }
  if (WIFEXITED(status)) {
    const bool no_program = code == 126 || code == 127;
    return {OutcomeKind::exited, code, no_program ? explain_exit_127(order_) : ""};
  }
  if (code == SIGKILL && kills_.grew()) return {OutcomeKind::out_of_memory, code, ""};
  return {OutcomeKind::signalled, code, ""};
}

RankFacts Attempt::rank_facts() const {
  const int file = ::openat(folder_, file_of(order_, ".ranks").c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  const std::string text = read_small_file(("/proc/self/fd/" + std::to_string(file)).c_str());
  ::close(file);
  return parse_rank_facts(text);
}

void Attempt::write_record(std::int64_t now) {
  if (!has_record_) {
    record_.attempt = order_.attempt;
    record_.process = process_;
    record_.ended_ms = wall_ms();
    record_.log_bytes = keeper_->size();
    record_.fingerprint = order_.fingerprint;
    has_record_ = true;
  }
  const int error = write_by_rename(folder_, file_of(order_, ".exit"), encode_exit_record(record_));
  record_missing_ = error != 0 && error != ENOENT;  // of a folder that was removed none is missed
  retry_record_at_ = record_missing_ ? now + kRecordRetryMs : 0;
}

void Attempt::no_children_left() {
  if (phase_ != Phase::rest) return;
  phase_ = Phase::gone;
  locks_.release();
  rest_at_ = kill_at_ = 0;
  ::close(std::exchange(log_, -1));
  keeper_.reset();
  tell_(TreeGoneNews{order_.attempt});
}

Attempt::Sign Attempt::sign_of(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return {};
  return {info.st_ino, info.st_size, info.st_mtim.tv_sec * 1'000'000'000L + info.st_mtim.tv_nsec};
}

void Attempt::look_for_life(std::int64_t now) {
  look_at_ = 0;
  std::int64_t period = kNever;
  if (order_.silence_limit_ms > 0) {
    const auto limit = static_cast<std::int64_t>(order_.silence_limit_ms);
    const std::uint64_t size = keeper_->size();
    bool alive = std::exchange(log_size_, size) != size;
    for (std::size_t i = 0; i < signs_.size(); ++i) {
      const Sign sign = sign_of(order_.watched_files[i]);
      alive = alive || sign != signs_[i];
      signs_[i] = sign;
    }
    if (alive) last_life_ = now;
    if (now - last_life_ >= limit) {
      if (keeper_->active()) look_at_ = now + kLogPeriodMs;
      return begin_ending(Cause::silence_limit, order_.grace_ms, now);
    }
    period = std::clamp<std::int64_t>(limit / 8, 10, 1000);
    period = std::min(period, last_life_ + limit - now);
  }
  if (keeper_->active()) {
    if (std::string line = keeper_->look(); !line.empty()) note(std::move(line));
    period = std::min(period, kLogPeriodMs);
  }
  look_at_ = now + period;
}

std::int64_t Attempt::tick(std::int64_t now) {
  if (record_missing_ && now >= retry_record_at_) write_record(now);
  if (phase_ == Phase::gone) return record_missing_ ? retry_record_at_ : kNever;
  if (frozen_at_ != 0) return record_missing_ ? retry_record_at_ : kNever;
  const std::int64_t time_up =
      order_.time_limit_ms == 0 || phase_ != Phase::running
          ? 0
          : started_ + frozen_ms_ + static_cast<std::int64_t>(order_.time_limit_ms);
  if (time_up != 0 && now >= time_up) {
    begin_ending(Cause::time_limit, order_.grace_ms, now);
  } else if (look_at_ != 0 && now >= look_at_ && phase_ == Phase::running) {
    look_for_life(now);
  } else if (look_at_ != 0 && now >= look_at_) {
    if (std::string line = keeper_->look(); !line.empty()) note(std::move(line));
    look_at_ = keeper_->active() ? now + kLogPeriodMs : 0;
  }
  if (rest_at_ != 0 && now >= rest_at_) ask_rest();
  if (kill_at_ != 0 && now >= kill_at_) kill_all(now);

  std::int64_t next = earliest(kNever, phase_ == Phase::running ? time_up : 0);
  next = earliest(next, rest_at_);
  next = earliest(next, kill_at_);
  next = earliest(next, look_at_);
  return record_missing_ ? std::min(next, retry_record_at_) : next;
}

void Attempt::tell_again() const {
  if (!start_failure_.empty()) return tell_(DidNotStartNews{order_.attempt, start_failure_});
  if (pid_ == 0) return tell_(ClaimRefusedNews{order_.attempt});
  tell_(RunningNews{order_.attempt, process_});
  if (has_record_) tell_(EndedNews{record_});
  if (phase_ == Phase::gone) tell_(TreeGoneNews{order_.attempt});
}

ShimState Attempt::state() const {
  switch (phase_) {
    case Phase::running:
    case Phase::ending:
      return ShimState::running;
    case Phase::rest:
      return ShimState::ending;
    case Phase::gone:
      return ShimState::idle;
  }
  return ShimState::idle;
}

void Attempt::note(std::string text) const { tell_(NoteNews{order_.attempt, std::move(text)}); }

}  // namespace seedbed::shim
