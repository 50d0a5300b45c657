#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/records.h"

namespace seedbed {

/// Makes a consistent sequence of records again out of one with holes.
///
/// Only what the records that are left prove is added: a slot that was lent again had been given
/// back; a trial of which another attempt was planned, or which has finished, had no attempt
/// running. How such an attempt ended is unknown, so its outcome is `lost`. A record about a trial
/// or attempt that nothing is known of is left out.
class Mender {
 public:
  /// A space that another table tells of; it is put in where its record is missing.
  void know(Entry space);

  /// The records to keep in place of this one, in order; empty: it is left out.
  [[nodiscard]] std::vector<Entry> take(const Entry& entry);

  /// What must follow the last record. A trial whose attempt has ended, but of whose fate nothing
  /// is left, would stay `running` for ever: nobody watches it, and nothing more comes from it. It
  /// is put back, with a note, so that the next run decides it. An exit code 0 alone does not make
  /// it completed: whether its metric had come is not known either.
  [[nodiscard]] std::vector<Entry> finish(Timestamp at);

  [[nodiscard]] bool knows(TrialNumber trial) const { return trials_.contains(trial); }
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }
  [[nodiscard]] std::uint64_t added() const { return added_; }
  /// Trials that `finish` has put back, in order.
  [[nodiscard]] const std::vector<TrialNumber>& put_back() const { return put_back_; }

 private:
  struct Attempt {
    std::optional<Outcome> outcome;  ///< once it has ended
    bool started = false;
    bool released = false;
    Allocation allocation;
  };
  struct Trial {
    TrialState state = TrialState::waiting;
    std::vector<Attempt> attempts;
  };
  struct Taker;

  Trial* known(TrialNumber number);
  Attempt* attempt(AttemptId id);
  Attempt* live_attempt(AttemptId id);  ///< the last one of its trial, and not ended
  void add(std::vector<Entry>& out, Timestamp at, Record record);
  void set_spaces(std::vector<Entry>& out, std::uint32_t up_to);
  void end_last_attempt(std::vector<Entry>& out, Timestamp at, TrialNumber number, Trial& trial);
  void release(std::vector<Entry>& out, Timestamp at, TrialNumber number, Trial& trial);
  void free_what_is_needed(std::vector<Entry>& out, Timestamp at, const Allocation& allocation);

  std::map<std::uint32_t, Entry> spaces_;  ///< by revision
  std::map<TrialNumber, Trial> trials_;
  std::set<TrialNumber> lending_;  ///< trials whose last attempt's allocation is not given back
  std::string command_;
  std::set<std::pair<std::string, std::string>> identities_;  ///< command, point
  std::uint32_t revision_ = 0;
  std::uint64_t run_ = 0;
  bool run_open_ = false;
  std::optional<StopMode> stopping_;
  std::uint64_t left_out_ = 0;
  std::uint64_t added_ = 0;
  std::vector<TrialNumber> put_back_;
};

}  // namespace seedbed
