#include <charconv>
#include <cmath>

#include "base/text.h"
#include "store/record_codec.h"

namespace seedbed {
namespace {

// Written by hand: a record is made for every step of every trial, and a document tree of it would
// cost several times the bytes.
class JsonWriter {
 public:
  JsonWriter() { out_.reserve(256); }

  JsonWriter& key(std::string_view name) {
    separate();
    out_ += '"';
    out_ += name;
    out_ += "\":";
    fresh_ = true;
    return *this;
  }

  void open(char bracket) {
    separate();
    out_ += bracket;
    fresh_ = true;
  }
  void close(char bracket) {
    out_ += bracket;
    fresh_ = false;
  }

  template <typename Integer>
  void integer(Integer value) {
    separate();
    char buffer[24];
    const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value).ptr;
    out_.append(buffer, end);
  }

  void real(double value) {
    if (!std::isfinite(value)) return text(std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
    separate();
    char buffer[40];
    const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value).ptr;
    out_.append(buffer, end);
  }

  void boolean(bool value) {
    separate();
    out_ += value ? "true" : "false";
  }

  void text(std::string_view value) {
    if (!is_valid_utf8(value)) return hex(value);
    separate();
    out_ += '"';
    for (const char c : value) {
      if (c == '"' || c == '\\') {
        out_ += '\\';
        out_ += c;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        escape(c);
      } else {
        out_ += c;
      }
    }
    out_ += '"';
  }

  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  void separate() {
    if (!fresh_) out_ += ',';
    fresh_ = false;
  }

  void hex_digits(unsigned char byte) {
    constexpr char kDigits[] = "0123456789abcdef";
    out_ += kDigits[byte >> 4];
    out_ += kDigits[byte & 15];
  }

  void escape(char c) {
    if (c == '\n') {
      out_ += "\\n";
    } else {
      out_ += "\\u00";
      hex_digits(static_cast<unsigned char>(c));
    }
  }

  void hex(std::string_view bytes) {
    open('{');
    key("hex");
    separate();
    out_ += '"';
    for (const char c : bytes) hex_digits(static_cast<unsigned char>(c));
    out_ += '"';
    close('}');
  }

  std::string out_;
  bool fresh_ = true;
};

void write_attempt(JsonWriter& json, AttemptId id) { json.key("attempt").text(id.text()); }

void write_named(JsonWriter& json, const std::map<std::string, double>& named) {
  json.key("named").open('[');
  for (const auto& [name, amount] : named) {
    json.open('[');
    json.text(name);
    json.real(amount);
    json.close(']');
  }
  json.close(']');
}

void write_allocation(JsonWriter& json, const Allocation& allocation) {
  json.key("slot").integer(allocation.slot);
  json.key("cores").open('[');
  for (const int core : allocation.cores) json.integer(core);
  json.close(']');
  json.key("cpus").real(allocation.cpus);
  if (!allocation.devices.empty()) {
    json.key("devices").open('[');
    for (const DeviceShare& share : allocation.devices) {
      json.open('[');
      json.text(share.device);
      json.real(share.share);
      json.close(']');
    }
    json.close(']');
  }
  if (allocation.memory != 0) json.key("memory").integer(allocation.memory);
  if (!allocation.named.empty()) write_named(json, allocation.named);
}

void write_point(JsonWriter& json, const Point& point) {
  json.key("parameters").open('[');
  for (const Parameter& parameter : point.parameters) {
    json.open('[');
    json.text(parameter.name);
    json.text(kind_word(parameter.value.kind()));
    json.text(parameter.value.spelling());
    if (parameter.value.kind() == ValueKind::structure) {
      json.text(parameter.value.canonical_json());
    }
    json.close(']');
  }
  json.close(']');
}

struct Encoder {
  JsonWriter& json;

  void operator()(const SpaceSet& record) const {
    json.key("revision").integer(record.revision);
    json.key("spec_yaml").text(record.spec_yaml);
    json.key("command_identity").text(record.command_identity);
    json.key("metric").text(record.metric);
    json.key("goal").text(record.goal == Goal::minimize ? "minimize" : "maximize");
    json.key("seed_parameter").text(record.seed_parameter);
  }
  void operator()(const RunStarted& record) const {
    json.key("run").integer(record.run);
    json.key("host").text(record.host);
    json.key("pid").integer(record.pid);
    json.key("version").text(record.version);
    json.key("slots").integer(record.slots);
    json.key("machine").text(record.machine);
    json.key("details_json").text(record.details_json);
    json.key("retry_failed").boolean(record.retry_failed);
  }
  void operator()(const RunStopping& record) const {
    json.key("run").integer(record.run);
    json.key("mode").text(stop_mode_word(record.mode));
    json.key("exit_code").integer(record.exit_code);
    json.key("reason").text(record.reason);
  }
  void operator()(const RunEnded& record) const {
    json.key("run").integer(record.run);
    json.key("exit_code").integer(record.exit_code);
    json.key("reason").text(record.reason);
  }
  void operator()(const TrialProposed& record) const {
    json.key("trial").integer(record.trial);
    write_point(json, record.point);
    json.key("identity").text(record.identity);
    json.key("proposal").integer(record.proposal);
    json.key("revision").integer(record.revision);
    json.key("added").boolean(record.added);
    json.key("folder").text(record.folder);
  }
  void operator()(const TrialKept& record) const {
    json.key("trial").integer(record.trial);
    json.key("revision").integer(record.revision);
    json.key("proposal").integer(record.proposal);
    json.key("added").boolean(record.added);
  }
  void operator()(const WalkMoved& record) const {
    json.key("revision").integer(record.revision);
    json.key("next").integer(record.next);
    json.key("asked").integer(record.asked);
    json.key("distinct").integer(record.distinct);
  }
  void operator()(const SpaceWalked& record) const {
    json.key("revision").integer(record.revision);
    json.key("trials").integer(record.trials);
  }
  void operator()(const AttemptPlanned& record) const {
    write_attempt(json, record.attempt);
    write_allocation(json, record.allocation);
  }
  void operator()(const AttemptStarted& record) const {
    write_attempt(json, record.attempt);
    json.key("pid").integer(record.pid);
    json.key("start_ticks").integer(record.start_ticks);
    json.key("boot_id").text(record.boot_id);
    json.key("host").text(record.host);
    json.key("details_json").text(record.details_json);
  }
  void operator()(const AttemptStopping& record) const {
    write_attempt(json, record.attempt);
    json.key("cause").text(stop_cause_word(record.cause));
    json.key("reason").text(record.reason);
  }
  void operator()(const AttemptEnded& record) const {
    write_attempt(json, record.attempt);
    json.key("outcome").text(outcome_word(record.outcome.kind));
    json.key("code").integer(record.outcome.code);
    json.key("detail").text(record.outcome.detail);
    json.key("wall_ms").integer(record.usage.wall_ms);
    json.key("cpu_ms").integer(record.usage.cpu_ms);
    json.key("peak_memory").integer(record.usage.peak_memory);
    json.key("log_bytes").integer(record.usage.log_bytes);
  }
  void operator()(const AllocationReleased& record) const { write_attempt(json, record.attempt); }
  void operator()(const TrialRequeued& record) const {
    json.key("trial").integer(record.trial);
    json.key("cause").text(requeue_cause_word(record.cause));
    json.key("not_before").integer(record.not_before.ms);
  }
  void operator()(const TrialFinished& record) const {
    json.key("trial").integer(record.trial);
    json.key("state").text(trial_state_word(record.state));
    json.key("reason").text(record.reason);
    json.key("metric_missing").boolean(record.metric_missing);
  }
  void operator()(const TrialReopened& record) const {
    json.key("trial").integer(record.trial);
    json.key("why").text(record.why);
  }
  void operator()(const MetricsReported& record) const {
    write_attempt(json, record.attempt);
    json.key("points").open('[');
    for (const MetricPoint& point : record.points) {
      json.open('[');
      json.text(point.name);
      json.real(point.step);
      json.real(point.value);
      json.integer(point.at.ms);
      json.close(']');
    }
    json.close(']');
    json.key("positions").open('[');
    for (const SourcePosition& position : record.positions) {
      json.open('[');
      json.text(position.source);
      json.integer(position.offset);
      json.text(position.state);
      json.close(']');
    }
    json.close(']');
  }
  void operator()(const PauseSet& record) const {
    json.key("paused").boolean(record.paused);
    json.key("frozen").boolean(record.frozen);
  }
  void operator()(const WidthSet& record) const { json.key("slots").integer(record.slots); }
  void operator()(const ResourcesHeld& record) const {
    json.key("cores").open('[');
    for (const int core : record.held.cores) json.integer(core);
    json.close(']');
    json.key("devices").open('[');
    for (const std::string& device : record.held.devices) json.text(device);
    json.close(']');
  }
  void operator()(const NoteAdded& record) const {
    json.key("trial").integer(record.trial);
    json.key("kind").text(record.kind);
    json.key("text").text(record.text);
  }
};

}  // namespace

std::string encode_record(const Record& record) {
  JsonWriter json;
  json.open('{');
  std::visit(Encoder{json}, record);
  json.close('}');
  return json.take();
}

}  // namespace seedbed
