#include "store/mend.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

namespace seedbed {
namespace {

constexpr const char* kUnknownEnd = "its record was damaged";

bool share_something(const Allocation& a, const Allocation& b) {
  if (a.slot == b.slot) return true;
  return std::any_of(a.cores.begin(), a.cores.end(), [&](int core) {
    return std::find(b.cores.begin(), b.cores.end(), core) != b.cores.end();
  });
}

}  // namespace

Mender::Trial* Mender::known(TrialNumber number) {
  const auto found = trials_.find(number);
  return found == trials_.end() ? nullptr : &found->second;
}

Mender::Attempt* Mender::attempt(AttemptId id) {
  Trial* trial = known(id.trial);
  if (trial == nullptr || id.attempt == 0 || id.attempt > trial->attempts.size()) return nullptr;
  return &trial->attempts[id.attempt - 1];
}

Mender::Attempt* Mender::live_attempt(AttemptId id) {
  Attempt* found = attempt(id);
  const bool live =
      found != nullptr && !found->outcome && id.attempt == trials_.at(id.trial).attempts.size();
  return live ? found : nullptr;
}

void Mender::add(std::vector<Entry>& out, Timestamp at, Record record) {
  out.push_back({at, std::move(record)});
  ++added_;
}

void Mender::know(Entry space) {
  const auto* record = std::get_if<SpaceSet>(&space.record);
  if (record != nullptr) spaces_.emplace(record->revision, std::move(space));
}

// The spaces before and with that revision whose records have not come.
void Mender::set_spaces(std::vector<Entry>& out, std::uint32_t up_to) {
  for (auto at = spaces_.upper_bound(revision_); at != spaces_.end() && at->first <= up_to; ++at) {
    const auto& space = std::get<SpaceSet>(at->second.record);
    revision_ = space.revision;
    command_ = space.command_identity;
    add(out, at->second.at, space);
  }
}

void Mender::release(std::vector<Entry>& out, Timestamp at, TrialNumber number, Trial& trial) {
  if (trial.attempts.empty() || trial.attempts.back().released) return;
  add(out, at, AllocationReleased{{number, static_cast<std::uint32_t>(trial.attempts.size())}});
  trial.attempts.back().released = true;
  lending_.erase(number);
}

void Mender::end_last_attempt(std::vector<Entry>& out, Timestamp at, TrialNumber number,
                              Trial& trial) {
  if (trial.attempts.empty() || trial.attempts.back().outcome) return;
  const Outcome unknown{OutcomeKind::lost, 0, kUnknownEnd};
  const AttemptId id{number, static_cast<std::uint32_t>(trial.attempts.size())};
  add(out, at, AttemptEnded{id, unknown, Usage{}});
  trial.attempts.back().outcome = unknown;
}

void Mender::free_what_is_needed(std::vector<Entry>& out, Timestamp at,
                                 const Allocation& allocation) {
  const std::set<TrialNumber> lending = lending_;
  for (const TrialNumber number : lending) {
    Trial& trial = trials_.at(number);
    if (!share_something(trial.attempts.back().allocation, allocation)) continue;
    end_last_attempt(out, at, number, trial);
    release(out, at, number, trial);
  }
}

// Each gives whether the record itself is kept; what must stand before it goes into `out`.
struct Mender::Taker {
  Mender& mender;
  std::vector<Entry>& out;
  Timestamp at;

  bool operator()(const SpaceSet& record) const {
    if (record.revision <= mender.revision_) return false;
    if (record.revision > 1) mender.set_spaces(out, record.revision - 1);
    mender.revision_ = record.revision;
    mender.command_ = record.command_identity;
    return true;
  }
  bool operator()(const RunStarted& record) const {
    if (record.run <= mender.run_) return false;
    mender.run_ = record.run;
    mender.run_open_ = true;
    mender.stopping_.reset();
    return true;
  }
  bool operator()(const RunStopping& record) const {
    if (record.run != mender.run_ || !mender.run_open_) return false;
    if (mender.stopping_ && *mender.stopping_ > record.mode) return false;
    mender.stopping_ = record.mode;
    return true;
  }
  bool operator()(const RunEnded& record) const {
    if (record.run != mender.run_ || !mender.run_open_) return false;
    mender.run_open_ = false;
    return true;
  }
  bool operator()(const TrialProposed& record) const {
    mender.set_spaces(out, record.revision);
    if (record.trial == 0) return false;
    if (mender.known(record.trial) != nullptr) return false;
    if (!mender.identities_.insert({mender.command_, record.identity}).second) return false;
    mender.trials_[record.trial] = {};
    return true;
  }
  bool operator()(const TrialKept& record) const {
    mender.set_spaces(out, record.revision);
    return mender.known(record.trial) != nullptr;
  }
  bool operator()(const WalkMoved& record) const {
    mender.set_spaces(out, record.revision);
    return record.revision == mender.revision_;
  }
  bool operator()(const SpaceWalked& record) const {
    return record.revision != 0 && record.revision == mender.revision_;
  }
  bool operator()(const AttemptPlanned& record) const {
    const TrialNumber number = record.attempt.trial;
    Trial* trial = mender.known(number);
    if (trial == nullptr || record.attempt.attempt != trial->attempts.size() + 1) return false;
    if (is_terminal(trial->state)) {
      mender.add(out, at, TrialReopened{number, kUnknownEnd});
    } else if (trial->state == TrialState::running) {
      mender.end_last_attempt(out, at, number, *trial);
      mender.add(out, at, TrialRequeued{number, RequeueCause::lost, at});
    }
    mender.end_last_attempt(out, at, number, *trial);
    mender.release(out, at, number, *trial);
    mender.free_what_is_needed(out, at, record.allocation);
    trial->state = TrialState::running;
    trial->attempts.push_back({std::nullopt, false, false, record.allocation});
    mender.lending_.insert(number);
    return true;
  }
  bool operator()(const AttemptStarted& record) const {
    Attempt* attempt = mender.live_attempt(record.attempt);
    if (attempt == nullptr || attempt->started) return false;
    attempt->started = true;
    return true;
  }
  bool operator()(const AttemptStopping& record) const {
    return mender.live_attempt(record.attempt) != nullptr;
  }
  bool operator()(const AttemptEnded& record) const {
    Attempt* attempt = mender.attempt(record.attempt);
    if (attempt == nullptr) return false;
    // The late end of an attempt believed lost is news; any other second end is not.
    if (attempt->outcome && attempt->outcome->kind != OutcomeKind::lost) return false;
    attempt->outcome = record.outcome;
    return true;
  }
  bool operator()(const AllocationReleased& record) const {
    Attempt* attempt = mender.attempt(record.attempt);
    if (attempt == nullptr || attempt->released) return false;
    attempt->released = true;
    mender.lending_.erase(record.attempt.trial);
    return true;
  }
  bool operator()(const TrialRequeued& record) const {
    Trial* trial = mender.known(record.trial);
    if (trial == nullptr || is_terminal(trial->state)) return false;
    mender.end_last_attempt(out, at, record.trial, *trial);
    trial->state = TrialState::waiting;
    return true;
  }
  bool operator()(const TrialFinished& record) const {
    Trial* trial = mender.known(record.trial);
    if (trial == nullptr || is_terminal(trial->state)) return false;
    if (record.state == TrialState::completed && trial->state != TrialState::running) {
      // A result without the attempt that gave it is half a record.
      const bool succeeded = std::any_of(
          trial->attempts.begin(), trial->attempts.end(),
          [](const Attempt& attempt) { return attempt.outcome && attempt.outcome->succeeded(); });
      if (!succeeded) return false;
    }
    trial->state = record.state;
    return true;
  }
  bool operator()(const TrialReopened& record) const {
    Trial* trial = mender.known(record.trial);
    if (trial == nullptr || !is_terminal(trial->state)) return false;
    trial->state = TrialState::waiting;
    return true;
  }
  bool operator()(const MetricsReported& record) const {
    return mender.known(record.attempt.trial) != nullptr;
  }
  bool operator()(const PauseSet&) const { return true; }
  bool operator()(const WidthSet&) const { return true; }
  bool operator()(const ResourcesHeld&) const { return true; }
  bool operator()(const NoteAdded& record) const {
    return record.trial == 0 || mender.known(record.trial) != nullptr;
  }
};

std::vector<Entry> Mender::take(const Entry& entry) {
  std::vector<Entry> out;
  if (std::visit(Taker{*this, out, entry.at}, entry.record)) {
    out.push_back(entry);
  } else {
    ++left_out_;
  }
  return out;
}

std::vector<Entry> Mender::finish(Timestamp at) {
  std::vector<Entry> out;
  for (auto& [number, trial] : trials_) {
    // One that has not ended is adopted by the next run, which looks for what is left of it.
    if (trial.state != TrialState::running || !trial.attempts.back().outcome) continue;
    out.push_back({at, TrialRequeued{number, RequeueCause::lost, at}});
    out.push_back(
        {at,
         NoteAdded{number, "recovered",
                   fmt::format("attempt {} has ended ({}), but the record of what became of "
                               "the trial was damaged: it waits to be run again",
                               trial.attempts.size(), describe(*trial.attempts.back().outcome))}});
    trial.state = TrialState::waiting;
    put_back_.push_back(number);
  }
  return out;
}

}  // namespace seedbed
