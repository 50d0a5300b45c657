#include <fmt/format.h>

#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/text.h"
#include "store/record_codec.h"

namespace seedbed {
namespace {

using Json = nlohmann::json;

std::optional<std::string> bytes_of_hex(const std::string& digits) {
  if (digits.size() % 2 != 0) return std::nullopt;
  const auto value = [](char c) -> int {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
  };
  std::string bytes;
  bytes.reserve(digits.size() / 2);
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    const int high = value(digits[i]);
    const int low = value(digits[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(high * 16 + low));
  }
  return bytes;
}

std::optional<std::string> as_text(const Json& json) {
  if (json.is_string()) return json.get_ref<const std::string&>();
  if (json.is_object() && json.size() == 1 && json.contains("hex") && json["hex"].is_string()) {
    return bytes_of_hex(json["hex"].get_ref<const std::string&>());
  }
  return std::nullopt;
}

std::optional<double> as_real(const Json& json) {
  if (json.is_number()) return json.get<double>();
  if (!json.is_string()) return std::nullopt;
  const std::string& word = json.get_ref<const std::string&>();
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (word == "inf") return std::numeric_limits<double>::infinity();
  if (word == "-inf") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

template <typename Integer>
std::optional<Integer> as_integer(const Json& json) {
  if (json.is_number_unsigned()) {
    const auto value = json.get<std::uint64_t>();
    if (value > static_cast<std::uint64_t>(std::numeric_limits<Integer>::max())) return {};
    return static_cast<Integer>(value);
  }
  if (!json.is_number_integer() || !std::is_signed_v<Integer>) return {};
  const auto value = json.get<std::int64_t>();
  if (value < static_cast<std::int64_t>(std::numeric_limits<Integer>::min())) return {};
  return static_cast<Integer>(value);
}

// Takes fields out of an object; the first one that does not fit is remembered, and the record is
// then refused as a whole.
class Fields {
 public:
  explicit Fields(const Json& object) : object_(object) {}

  [[nodiscard]] bool good() const { return trouble_.empty(); }
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

  void refuse(std::string_view name) {
    if (trouble_.empty()) trouble_ = name;
  }

  [[nodiscard]] const Json* find(const char* name) const {
    const auto found = object_.find(name);
    return found == object_.end() ? nullptr : &*found;
  }

  template <typename Integer>
  void integer(const char* name, Integer& value) {
    take(name, value, as_integer<Integer>);
  }
  void text(const char* name, std::string& value) { take(name, value, as_text); }
  void real(const char* name, double& value) { take(name, value, as_real); }
  void time(const char* name, Timestamp& value) { integer(name, value.ms); }
  void boolean(const char* name, bool& value) {
    take(name, value, [](const Json& json) -> std::optional<bool> {
      if (!json.is_boolean()) return std::nullopt;
      return json.get<bool>();
    });
  }
  void trial(TrialNumber& value) {
    integer("trial", value);
    if (value == 0) refuse("trial");
  }
  void attempt(AttemptId& value) {
    take("attempt", value, [](const Json& json) -> std::optional<AttemptId> {
      if (!json.is_string()) return std::nullopt;
      return AttemptId::parse(json.get_ref<const std::string&>());
    });
  }
  /// A word of a closed list.
  template <typename Word, typename FromWord>
  void word(const char* name, Word& value, FromWord from_word) {
    take(name, value, [&](const Json& json) -> std::optional<Word> {
      if (!json.is_string()) return std::nullopt;
      return from_word(json.get_ref<const std::string&>());
    });
  }
  /// Each element of an array; `one` says whether it could take it.
  template <typename One>
  void list(const char* name, bool required, One one) {
    const Json* found = find(name);
    if (found == nullptr && !required) return;
    if (found == nullptr || !found->is_array()) return refuse(name);
    for (const Json& element : *found) {
      if (!one(element)) return refuse(name);
    }
  }

 private:
  template <typename Value, typename Convert>
  void take(const char* name, Value& value, Convert convert) {
    const Json* found = find(name);
    if (found == nullptr) return refuse(name);
    auto converted = convert(*found);
    if (!converted) return refuse(name);
    value = std::move(*converted);
  }

  const Json& object_;
  std::string trouble_;
};

bool take_parameter(const Json& json, Point& point) {
  if (!json.is_array() || json.size() < 3 || json.size() > 4) return false;
  auto name = as_text(json[0]);
  auto kind = as_text(json[1]);
  auto spelling = as_text(json[2]);
  if (!name || !kind || !spelling) return false;
  const auto value_kind = kind_from_word(*kind);
  if (!value_kind) return false;
  std::optional<std::string> canonical = std::string();
  if (*value_kind == ValueKind::structure) {
    canonical = json.size() == 4 ? as_text(json[3]) : std::nullopt;
  }
  if (!canonical) return false;
  Value value = Value::restore(*value_kind, *spelling, *canonical);
  if (value.kind() != *value_kind || value.spelling() != *spelling) return false;
  point.parameters.push_back({std::move(*name), std::move(value)});
  return true;
}

void take_allocation(Fields& fields, Allocation& allocation) {
  fields.integer("slot", allocation.slot);
  fields.list("cores", true, [&](const Json& json) {
    const auto core = as_integer<int>(json);
    if (core) allocation.cores.push_back(*core);
    return core.has_value();
  });
  fields.real("cpus", allocation.cpus);
  fields.list("devices", false, [&](const Json& json) {
    if (!json.is_array() || json.size() != 2) return false;
    auto device = as_text(json[0]);
    const auto share = as_real(json[1]);
    if (device && share) allocation.devices.push_back({std::move(*device), *share});
    return device && share;
  });
  if (fields.find("memory") != nullptr) fields.integer("memory", allocation.memory);
  fields.list("named", false, [&](const Json& json) {
    if (!json.is_array() || json.size() != 2) return false;
    auto name = as_text(json[0]);
    const auto amount = as_real(json[1]);
    if (name && amount) allocation.named[*name] = *amount;
    return name && amount;
  });
}

Record take_space_set(Fields& fields) {
  SpaceSet record;
  fields.integer("revision", record.revision);
  fields.text("spec_yaml", record.spec_yaml);
  fields.text("command_identity", record.command_identity);
  fields.text("metric", record.metric);
  fields.word("goal", record.goal, [](const std::string& word) -> std::optional<Goal> {
    if (word == "minimize") return Goal::minimize;
    if (word == "maximize") return Goal::maximize;
    return std::nullopt;
  });
  fields.text("seed_parameter", record.seed_parameter);
  return record;
}

Record take_run_started(Fields& fields) {
  RunStarted record;
  fields.integer("run", record.run);
  fields.text("host", record.host);
  fields.integer("pid", record.pid);
  fields.text("version", record.version);
  fields.integer("slots", record.slots);
  fields.text("machine", record.machine);
  fields.text("details_json", record.details_json);
  fields.boolean("retry_failed", record.retry_failed);
  return record;
}

Record take_run_stopping(Fields& fields) {
  RunStopping record;
  fields.integer("run", record.run);
  fields.word("mode", record.mode, stop_mode_from_word);
  fields.integer("exit_code", record.exit_code);
  fields.text("reason", record.reason);
  return record;
}

Record take_run_ended(Fields& fields) {
  RunEnded record;
  fields.integer("run", record.run);
  fields.integer("exit_code", record.exit_code);
  fields.text("reason", record.reason);
  return record;
}

Record take_trial_proposed(Fields& fields) {
  TrialProposed record;
  fields.trial(record.trial);
  fields.list("parameters", true,
              [&](const Json& json) { return take_parameter(json, record.point); });
  fields.text("identity", record.identity);
  fields.integer("proposal", record.proposal);
  fields.integer("revision", record.revision);
  fields.boolean("added", record.added);
  fields.text("folder", record.folder);
  return record;
}

Record take_trial_kept(Fields& fields) {
  TrialKept record;
  fields.trial(record.trial);
  fields.integer("revision", record.revision);
  fields.integer("proposal", record.proposal);
  fields.boolean("added", record.added);
  return record;
}

Record take_walk_moved(Fields& fields) {
  WalkMoved record;
  fields.integer("revision", record.revision);
  fields.integer("next", record.next);
  fields.integer("asked", record.asked);
  fields.integer("distinct", record.distinct);
  return record;
}

Record take_space_walked(Fields& fields) {
  SpaceWalked record;
  fields.integer("revision", record.revision);
  fields.integer("trials", record.trials);
  return record;
}

Record take_attempt_planned(Fields& fields) {
  AttemptPlanned record;
  fields.attempt(record.attempt);
  take_allocation(fields, record.allocation);
  return record;
}

Record take_attempt_started(Fields& fields) {
  AttemptStarted record;
  fields.attempt(record.attempt);
  fields.integer("pid", record.pid);
  fields.integer("start_ticks", record.start_ticks);
  fields.text("boot_id", record.boot_id);
  fields.text("host", record.host);
  fields.text("details_json", record.details_json);
  return record;
}

Record take_attempt_stopping(Fields& fields) {
  AttemptStopping record;
  fields.attempt(record.attempt);
  fields.word("cause", record.cause, stop_cause_from_word);
  fields.text("reason", record.reason);
  return record;
}

Record take_attempt_ended(Fields& fields) {
  AttemptEnded record;
  fields.attempt(record.attempt);
  fields.word("outcome", record.outcome.kind, outcome_from_word);
  fields.integer("code", record.outcome.code);
  fields.text("detail", record.outcome.detail);
  fields.integer("wall_ms", record.usage.wall_ms);
  fields.integer("cpu_ms", record.usage.cpu_ms);
  fields.integer("peak_memory", record.usage.peak_memory);
  fields.integer("log_bytes", record.usage.log_bytes);
  return record;
}

Record take_allocation_released(Fields& fields) {
  AllocationReleased record;
  fields.attempt(record.attempt);
  return record;
}

Record take_trial_requeued(Fields& fields) {
  TrialRequeued record;
  fields.trial(record.trial);
  fields.word("cause", record.cause, requeue_cause_from_word);
  fields.time("not_before", record.not_before);
  return record;
}

Record take_trial_finished(Fields& fields) {
  TrialFinished record;
  fields.trial(record.trial);
  fields.word("state", record.state, trial_state_from_word);
  if (!is_terminal(record.state)) fields.refuse("state");
  fields.text("reason", record.reason);
  fields.boolean("metric_missing", record.metric_missing);
  return record;
}

Record take_trial_reopened(Fields& fields) {
  TrialReopened record;
  fields.trial(record.trial);
  fields.text("why", record.why);
  return record;
}

Record take_metrics_reported(Fields& fields) {
  MetricsReported record;
  fields.attempt(record.attempt);
  fields.list("points", true, [&](const Json& json) {
    if (!json.is_array() || json.size() != 4) return false;
    auto name = as_text(json[0]);
    const auto step = as_real(json[1]);
    const auto value = as_real(json[2]);
    const auto at = as_integer<std::int64_t>(json[3]);
    if (!name || !step || !value || !at) return false;
    record.points.push_back({std::move(*name), *step, *value, Timestamp{*at}});
    return true;
  });
  fields.list("positions", true, [&](const Json& json) {
    if (!json.is_array() || json.size() != 3) return false;
    auto source = as_text(json[0]);
    const auto offset = as_integer<std::uint64_t>(json[1]);
    auto state = as_text(json[2]);
    if (!source || !offset || !state) return false;
    record.positions.push_back({std::move(*source), *offset, std::move(*state)});
    return true;
  });
  return record;
}

Record take_pause_set(Fields& fields) {
  PauseSet record;
  fields.boolean("paused", record.paused);
  if (fields.find("frozen") != nullptr) fields.boolean("frozen", record.frozen);
  return record;
}

Record take_width_set(Fields& fields) {
  WidthSet record;
  fields.integer("slots", record.slots);
  return record;
}

Record take_resources_held(Fields& fields) {
  ResourcesHeld record;
  fields.list("cores", true, [&](const Json& json) {
    const auto core = as_integer<int>(json);
    if (core) record.held.cores.insert(*core);
    return core.has_value();
  });
  fields.list("devices", true, [&](const Json& json) {
    auto device = as_text(json);
    if (device) record.held.devices.insert(std::move(*device));
    return device.has_value();
  });
  return record;
}

Record take_note_added(Fields& fields) {
  NoteAdded record;
  fields.integer("trial", record.trial);
  fields.text("kind", record.kind);
  fields.text("text", record.text);
  return record;
}

using Take = Record (*)(Fields&);

const std::map<std::string_view, Take>& kinds() {
  static_assert(std::variant_size_v<Record> == 21, "a new kind of record needs its line here");
  static const std::map<std::string_view, Take> table = {
      {record_word(SpaceSet{}), take_space_set},
      {record_word(RunStarted{}), take_run_started},
      {record_word(RunStopping{}), take_run_stopping},
      {record_word(RunEnded{}), take_run_ended},
      {record_word(TrialProposed{}), take_trial_proposed},
      {record_word(TrialKept{}), take_trial_kept},
      {record_word(WalkMoved{}), take_walk_moved},
      {record_word(SpaceWalked{}), take_space_walked},
      {record_word(AttemptPlanned{}), take_attempt_planned},
      {record_word(AttemptStarted{}), take_attempt_started},
      {record_word(AttemptStopping{}), take_attempt_stopping},
      {record_word(AttemptEnded{}), take_attempt_ended},
      {record_word(AllocationReleased{}), take_allocation_released},
      {record_word(TrialRequeued{}), take_trial_requeued},
      {record_word(TrialFinished{}), take_trial_finished},
      {record_word(TrialReopened{}), take_trial_reopened},
      {record_word(MetricsReported{}), take_metrics_reported},
      {record_word(PauseSet{}), take_pause_set},
      {record_word(WidthSet{}), take_width_set},
      {record_word(ResourcesHeld{}), take_resources_held},
      {record_word(NoteAdded{}), take_note_added},
  };
  return table;
}

}  // namespace

Result<Record> decode_record(std::string_view kind, std::string_view body) {
  const auto take = kinds().find(kind);
  if (take == kinds().end()) {
    return fail(ErrorCode::usage,
                fmt::format("a record of kind \"{}\" is not known to this version of seedbed; a "
                            "newer one wrote it: use that version",
                            one_line(kind, 40)));
  }
  const Json json = Json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.is_object()) {
    return fail(ErrorCode::damaged, fmt::format("a {} record is no JSON object", kind));
  }
  Fields fields(json);
  Record record = take->second(fields);
  if (!fields.good()) {
    return fail(ErrorCode::damaged,
                fmt::format("a {} record has no usable field \"{}\"", kind, fields.trouble()));
  }
  return record;
}

}  // namespace seedbed
