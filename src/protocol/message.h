#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "protocol/exit_record.h"
#include "protocol/exit_record_text.h"
#include "protocol/wire.h"

// What a controller and a shim say to each other. The controller speaks first (ControllerHello),
// the shim answers with ShimHello and then repeats the news of its latest attempt, so that a
// controller that comes back learns all it missed; who gets news twice ignores the second.

namespace seedbed {

inline constexpr std::uint32_t kProtocolVersion = 1;

// From the controller.

struct ControllerHello {
  std::uint32_t version = kProtocolVersion;
  bool operator==(const ControllerHello&) const = default;
};

/// Claim and start an attempt. Empty options are 0: no limit, no file.
struct StartOrder {
  AttemptId attempt;
  std::vector<std::string> argv;
  std::vector<std::string> environment;  ///< the complete one
  std::string working_dir;
  std::string trial_dir;
  std::vector<std::string> watched_files;
  std::vector<int> cores;  ///< to be bound to; empty: as the shim
  std::uint64_t time_limit_ms = 0;
  std::uint64_t silence_limit_ms = 0;
  std::uint64_t log_limit = 0;  ///< bytes
  std::uint64_t grace_ms = 0;
  std::uint64_t prune_grace_ms = 0;
  std::string stop_file;
  std::string fingerprint;  ///< of command and parameters; comes back in the exit record
  std::uint64_t locks = 0;  ///< so many of the descriptors that came along are this attempt's
  bool nice = false;        ///< it runs beside others' trials and yields to them
  bool operator==(const StartOrder&) const = default;
};

struct StopOrder {
  AttemptId attempt;
  bool pruning = false;
  bool operator==(const StopOrder&) const = default;
};

struct KillOrder {
  AttemptId attempt;
  bool operator==(const KillOrder&) const = default;
};

/// No more orders will come: leave when idle.
struct LeaveWhenIdle {
  bool operator==(const LeaveWhenIdle&) const = default;
};

/// End the tree now, write the record, leave.
struct EndAllAndLeave {
  bool operator==(const EndAllAndLeave&) const = default;
};

/// Stop the attempt's processes where they are, or let them go on. Whoever greets the shim anew
/// lets them go on.
struct FreezeOrder {
  AttemptId attempt;
  bool frozen = true;
  bool operator==(const FreezeOrder&) const = default;
};

// From the shim.

enum class ShimState : std::uint8_t {
  idle,     ///< no attempt, or the tree of the latest is gone
  running,  ///< its main process runs
  ending,   ///< its main process has ended, its tree lives
};

struct ShimHello {
  std::uint32_t version = kProtocolVersion;
  SlotNumber slot = 0;
  ProcessIdentity shim;
  ShimState state = ShimState::idle;
  AttemptId attempt;  ///< the latest; 0.0: none yet
  bool operator==(const ShimHello&) const = default;
};

struct RunningNews {
  AttemptId attempt;
  ProcessIdentity process;
  bool operator==(const RunningNews&) const = default;
};

struct DidNotStartNews {
  AttemptId attempt;
  std::string detail;
  bool operator==(const DidNotStartNews&) const = default;
};

/// The attempt's log exists already: somebody claimed or voided it.
struct ClaimRefusedNews {
  AttemptId attempt;
  bool operator==(const ClaimRefusedNews&) const = default;
};

struct EndedNews {
  ExitRecord record;
  bool operator==(const EndedNews&) const = default;
};

struct TreeGoneNews {
  AttemptId attempt;
  bool operator==(const TreeGoneNews&) const = default;
};

/// One line for people about an attempt: its log could not be cut, its cores not be bound.
struct NoteNews {
  AttemptId attempt;
  std::string text;
  bool operator==(const NoteNews&) const = default;
};

/// The order is the type on the wire: only ever add at the end.
using Message = std::variant<ControllerHello, StartOrder, StopOrder, KillOrder, LeaveWhenIdle,
                             EndAllAndLeave, ShimHello, RunningNews, DidNotStartNews,
                             ClaimRefusedNews, EndedNews, TreeGoneNews, NoteNews, FreezeOrder>;

namespace message_detail {

enum Tag : std::uint8_t {
  kVersion = 1,
  kTrial,
  kAttempt,
  kText,
  kPid,
  kStartTicks,
  kBootId,
  kHost,
  kSlot,
  kState,
  kFlag,
  kArgument,
  kVariable,
  kWorkingDir,
  kTrialDir,
  kWatchedFile,
  kCore,
  kTimeLimit,
  kSilenceLimit,
  kLogLimit,
  kGrace,
  kPruneGrace,
  kStopFile,
  kFingerprint,
  kLocks,
  kNice,
};

inline constexpr std::size_t kMaxListed = 1 << 18;  // words of one list; the kernel takes fewer

struct Encoder {
  WireWriter& out;

  void id(AttemptId attempt) const {
    out.number(kTrial, attempt.trial);
    out.number(kAttempt, attempt.attempt);
  }
  void process(const ProcessIdentity& process) const {
    out.number(kPid, static_cast<std::uint64_t>(process.pid));
    out.number(kStartTicks, process.start_ticks);
    out.text(kBootId, process.boot_id);
    out.text(kHost, process.host);
  }

  void operator()(const ControllerHello& m) const { out.number(kVersion, m.version); }
  void operator()(const StartOrder& m) const {
    id(m.attempt);
    for (const std::string& word : m.argv) out.text(kArgument, word);
    for (const std::string& variable : m.environment) out.text(kVariable, variable);
    out.text(kWorkingDir, m.working_dir);
    out.text(kTrialDir, m.trial_dir);
    for (const std::string& file : m.watched_files) out.text(kWatchedFile, file);
    for (const int core : m.cores) out.number(kCore, static_cast<std::uint64_t>(core));
    out.number(kTimeLimit, m.time_limit_ms);
    out.number(kSilenceLimit, m.silence_limit_ms);
    out.number(kLogLimit, m.log_limit);
    out.number(kGrace, m.grace_ms);
    out.number(kPruneGrace, m.prune_grace_ms);
    out.text(kStopFile, m.stop_file);
    out.text(kFingerprint, m.fingerprint);
    if (m.locks != 0) out.number(kLocks, m.locks);
    if (m.nice) out.number(kNice, 1);
  }
  void operator()(const StopOrder& m) const {
    id(m.attempt);
    out.number(kFlag, m.pruning ? 1 : 0);
  }
  void operator()(const KillOrder& m) const { id(m.attempt); }
  void operator()(const LeaveWhenIdle&) const {}
  void operator()(const EndAllAndLeave&) const {}
  void operator()(const ShimHello& m) const {
    out.number(kVersion, m.version);
    out.number(kSlot, m.slot);
    process(m.shim);
    out.number(kState, static_cast<std::uint64_t>(m.state));
    id(m.attempt);
  }
  void operator()(const RunningNews& m) const {
    id(m.attempt);
    process(m.process);
  }
  void operator()(const DidNotStartNews& m) const {
    id(m.attempt);
    out.text(kText, m.detail);
  }
  void operator()(const ClaimRefusedNews& m) const { id(m.attempt); }
  void operator()(const EndedNews& m) const { out.text(kText, encode_exit_record(m.record)); }
  void operator()(const TreeGoneNews& m) const { id(m.attempt); }
  void operator()(const NoteNews& m) const {
    id(m.attempt);
    out.text(kText, m.text);
  }
  void operator()(const FreezeOrder& m) const {
    id(m.attempt);
    out.number(kFlag, m.frozen ? 1 : 0);
  }
};

/// All that any message can hold, as it is read.
struct Fields {
  std::uint32_t version = 0;
  AttemptId attempt;
  std::string text;
  ProcessIdentity process;
  SlotNumber slot = 0;
  std::uint64_t state = 0;
  bool flag = false;
  StartOrder order;
  bool bad = false;

  void take(const WireField& field) {
    const auto listed = [&](std::vector<std::string>& list) {
      if (list.size() >= kMaxListed) {
        bad = true;
      } else {
        list.emplace_back(field.bytes);
      }
    };
    const std::uint64_t number = field.number();
    switch (static_cast<Tag>(field.tag)) {
      case kVersion:
        version = static_cast<std::uint32_t>(number);
        break;
      case kTrial:
        attempt.trial = number;
        break;
      case kAttempt:
        attempt.attempt = static_cast<std::uint32_t>(number);
        bad = bad || number > UINT32_MAX;
        break;
      case kText:
        text = field.bytes;
        break;
      case kPid:
        process.pid = static_cast<std::int64_t>(number);
        break;
      case kStartTicks:
        process.start_ticks = number;
        break;
      case kBootId:
        process.boot_id = field.bytes;
        break;
      case kHost:
        process.host = field.bytes;
        break;
      case kSlot:
        slot = static_cast<SlotNumber>(number);
        break;
      case kState:
        state = number;
        break;
      case kFlag:
        flag = number != 0;
        break;
      case kArgument:
        listed(order.argv);
        break;
      case kVariable:
        listed(order.environment);
        break;
      case kWorkingDir:
        order.working_dir = field.bytes;
        break;
      case kTrialDir:
        order.trial_dir = field.bytes;
        break;
      case kWatchedFile:
        listed(order.watched_files);
        break;
      case kCore:
        if (number > INT32_MAX || order.cores.size() >= kMaxListed) {
          bad = true;
        } else {
          order.cores.push_back(static_cast<int>(number));
        }
        break;
      case kTimeLimit:
        order.time_limit_ms = number;
        break;
      case kSilenceLimit:
        order.silence_limit_ms = number;
        break;
      case kLogLimit:
        order.log_limit = number;
        break;
      case kGrace:
        order.grace_ms = number;
        break;
      case kPruneGrace:
        order.prune_grace_ms = number;
        break;
      case kStopFile:
        order.stop_file = field.bytes;
        break;
      case kFingerprint:
        order.fingerprint = field.bytes;
        break;
      case kLocks:
        order.locks = number;
        break;
      case kNice:
        order.nice = number != 0;
        break;
    }
  }
};

inline Result<Message> build(std::uint8_t type, Fields&& f) {
  const bool has_attempt = f.attempt.trial != 0 && f.attempt.attempt != 0;
  const auto needs_attempt = [&](Message message) -> Result<Message> {
    if (!has_attempt) return fail(ErrorCode::damaged, "message without an attempt");
    return message;
  };
  switch (type) {
    case 0:
      return ControllerHello{f.version};
    case 1:
      if (f.order.argv.empty()) return fail(ErrorCode::damaged, "order without a command");
      f.order.attempt = f.attempt;
      return needs_attempt(std::move(f.order));
    case 2:
      return needs_attempt(StopOrder{f.attempt, f.flag});
    case 3:
      return needs_attempt(KillOrder{f.attempt});
    case 4:
      return LeaveWhenIdle{};
    case 5:
      return EndAllAndLeave{};
    case 6:
      if (f.state > static_cast<std::uint64_t>(ShimState::ending)) {
        return fail(ErrorCode::damaged, "hello with an unknown state");
      }
      return ShimHello{f.version, f.slot, std::move(f.process), static_cast<ShimState>(f.state),
                       f.attempt};
    case 7:
      return needs_attempt(RunningNews{f.attempt, std::move(f.process)});
    case 8:
      return needs_attempt(DidNotStartNews{f.attempt, std::move(f.text)});
    case 9:
      return needs_attempt(ClaimRefusedNews{f.attempt});
    case 10: {
      auto record = decode_exit_record(f.text);
      if (!record) return propagate(record);
      return EndedNews{std::move(*record)};
    }
    case 11:
      return needs_attempt(TreeGoneNews{f.attempt});
    case 12:
      return needs_attempt(NoteNews{f.attempt, std::move(f.text)});
    case 13:
      return needs_attempt(FreezeOrder{f.attempt, f.flag});
    default:
      return fail(ErrorCode::damaged, "message of an unknown type");
  }
}

}  // namespace message_detail

/// One whole frame; empty when it would be over kMaxFrame.
[[nodiscard]] inline std::string encode_message(const Message& message) {
  WireWriter out(static_cast<std::uint8_t>(message.index()));
  std::visit(message_detail::Encoder{out}, message);
  return std::move(out).finish();
}

/// Reads a payload (a frame without its length). Any bytes may come.
[[nodiscard]] inline Result<Message> decode_message(std::string_view payload) {
  WireReader in(payload);
  message_detail::Fields fields;
  while (const auto field = in.next()) fields.take(*field);
  if (in.broken() || fields.bad) return fail(ErrorCode::damaged, "message with wrong lengths");
  return message_detail::build(in.type(), std::move(fields));
}

}  // namespace seedbed
