#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "reporters/lines.h"
#include "reporters/make_reporter.h"
#include "reporters/progress.h"
#include "study/value_json.h"

// JSON lines: the schema is docs/reference/output-json.md. Fields are added, never renamed or given
// another meaning; `schema` in the first line counts up when that must happen after all.

namespace seedbed {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchema = 1;
constexpr std::size_t kMostFailures = 1000;
constexpr Milliseconds kLastWords{60'000};

Json number(double value) {
  if (std::isfinite(value)) return value;
  return format_number(value);
}

double seconds(Milliseconds duration) { return static_cast<double>(duration.count()) / 1000; }

Json moment(Timestamp time) {
  if (time.ms == 0) return nullptr;
  return format_timestamp(time);
}

Json text_or_null(const std::string& text) {
  if (text.empty()) return nullptr;
  return text;
}

/// As params.json: typed values and their text; absent parameters are in neither.
Json params(const Point& point) {
  Json values = Json::object();
  Json text = Json::object();
  for (const Parameter& parameter : point.parameters) {
    if (parameter.value.is_absent()) continue;
    Json value = Json::parse(json_of(parameter.value), nullptr, false);
    if (value.is_discarded()) value = parameter.value.spelling();  // of a damaged record
    values[parameter.name] = std::move(value);
    text[parameter.name] = parameter.value.spelling();
  }
  return Json{{"values", std::move(values)}, {"text", std::move(text)}};
}

/// The details of RunStarted and AttemptStarted are JSON of ours; anything else is shown as text.
Json details(const std::string& text) {
  if (text.empty()) return nullptr;
  Json parsed = Json::parse(text, nullptr, false);
  if (!parsed.is_discarded()) return parsed;
  return text;
}

void put_attempt(Json& object, AttemptId id) {
  object["trial"] = id.trial;
  object["attempt"] = id.attempt;
}

Json outcome(const Outcome& one) {
  return Json{{"kind", outcome_word(one.kind)}, {"code", one.code}, {"text", describe(one)}};
}

Json allocation(const Allocation& lent) {
  Json devices = Json::array();
  for (const DeviceShare& device : lent.devices) {
    devices.push_back({{"device", device.device}, {"share", number(device.share)}});
  }
  Json named = Json::object();
  for (const auto& [name, amount] : lent.named) named[name] = number(amount);
  return Json{{"slot", lent.slot},  {"cores", lent.cores},   {"cpus", number(lent.cpus)},
              {"devices", devices}, {"memory", lent.memory}, {"named", named}};
}

/// Puts a record's own fields into the object.
struct Fields {
  Json& to;

  void operator()(const SpaceSet& r) const {
    to["revision"] = r.revision;
    to["metric"] = text_or_null(r.metric);
    to["goal"] = goal_text(r.goal);
    to["seed_parameter"] = text_or_null(r.seed_parameter);
    to["command"] = r.command_identity;
    to["sweep"] = r.spec_yaml;
  }
  void operator()(const RunStarted& r) const {
    to["run"] = r.run;
    to["host"] = r.host;
    to["pid"] = r.pid;
    to["version"] = r.version;
    to["slots"] = r.slots;
    to["machine"] = r.machine;
    to["retry_failed"] = r.retry_failed;
    to["details"] = details(r.details_json);
  }
  void operator()(const RunStopping& r) const {
    to["run"] = r.run;
    to["mode"] = stop_mode_word(r.mode);
    to["exit_code"] = r.exit_code;
    to["reason"] = r.reason;
  }
  void operator()(const RunEnded& r) const {
    to["run"] = r.run;
    to["exit_code"] = r.exit_code;
    to["reason"] = r.reason;
  }
  void operator()(const TrialProposed& r) const {
    to["trial"] = r.trial;
    to["folder"] = r.folder;
    to["params"] = params(r.point);
    to["proposal"] = r.proposal;
    to["revision"] = r.revision;
    to["added"] = r.added;
  }
  void operator()(const TrialKept& r) const {
    to["trial"] = r.trial;
    to["revision"] = r.revision;
    to["proposal"] = r.proposal;
    to["added"] = r.added;
  }
  void operator()(const SpaceWalked& r) const {
    to["revision"] = r.revision;
    to["trials"] = r.trials;
  }
  void operator()(const WalkMoved& r) const {
    to["revision"] = r.revision;
    to["next"] = r.next;
    to["asked"] = r.asked;
    to["distinct"] = r.distinct;
  }
  void operator()(const AttemptPlanned& r) const {
    put_attempt(to, r.attempt);
    to["allocation"] = allocation(r.allocation);
  }
  void operator()(const AttemptStarted& r) const {
    put_attempt(to, r.attempt);
    to["host"] = r.host;
    to["pid"] = r.pid;
    to["start_ticks"] = r.start_ticks;
    to["boot_id"] = r.boot_id;
    to["details"] = details(r.details_json);
  }
  void operator()(const AttemptStopping& r) const {
    put_attempt(to, r.attempt);
    to["cause"] = stop_cause_word(r.cause);
    to["reason"] = r.reason;
  }
  void operator()(const AttemptEnded& r) const {
    put_attempt(to, r.attempt);
    to["outcome"] = outcome(r.outcome);
    to["wall_s"] = seconds(Milliseconds(r.usage.wall_ms));
    to["cpu_s"] = seconds(Milliseconds(r.usage.cpu_ms));
    to["peak_memory"] = r.usage.peak_memory;
    to["log_bytes"] = r.usage.log_bytes;
  }
  void operator()(const AllocationReleased& r) const { put_attempt(to, r.attempt); }
  void operator()(const TrialRequeued& r) const {
    to["trial"] = r.trial;
    to["cause"] = requeue_cause_word(r.cause);
    to["not_before"] = moment(r.not_before);
  }
  void operator()(const TrialFinished& r) const {
    to["trial"] = r.trial;
    to["state"] = trial_state_word(r.state);
    to["reason"] = r.reason;
    to["metric_missing"] = r.metric_missing;
  }
  void operator()(const TrialReopened& r) const {
    to["trial"] = r.trial;
    to["why"] = r.why;
  }
  void operator()(const MetricsReported& r) const {
    put_attempt(to, r.attempt);
    Json points = Json::array();
    for (const MetricPoint& point : r.points) {
      points.push_back({{"name", point.name},
                        {"step", number(point.step)},
                        {"value", number(point.value)},
                        {"time", moment(point.at)}});
    }
    to["points"] = std::move(points);
  }
  void operator()(const PauseSet& r) const {
    to["paused"] = r.paused;
    to["frozen"] = r.frozen;
  }
  void operator()(const WidthSet& r) const { to["slots"] = r.slots; }
  void operator()(const ResourcesHeld& r) const {
    to["cores"] = r.held.cores;
    to["devices"] = r.held.devices;
  }
  void operator()(const NoteAdded& r) const {
    if (r.trial == 0) {
      to["trial"] = nullptr;
    } else {
      to["trial"] = r.trial;
    }
    to["kind"] = r.kind;
    to["text"] = r.text;
  }
};

class JsonReporter final : public Reporter {
 public:
  JsonReporter(Output& output, ReportFacts facts)
      : output_(output), facts_(std::move(facts)), progress_(facts_) {}

  void committed(const std::vector<Entry>& entries, const StudyState& state) override {
    if (silent_) return;
    for (const Entry& entry : entries) {
      Json object{{"event", record_word(entry.record)}, {"time", moment(entry.at)}};
      std::visit(Fields{object}, entry.record);
      if (const auto* finished = std::get_if<TrialFinished>(&entry.record)) {
        add_result(*finished, state, object);
      }
      add(object);
    }
    flush();
  }

  void tick(Timestamp /*now*/, const StudyState& /*state*/) override {
    if (!silent_) flush();
  }

  void trouble(const std::string& text) override {
    if (silent_) return;
    add(Json{{"event", "trouble"}, {"text", text}});
    flush();
  }

  void ended(const StudyState& state) override {
    if (silent_) return;
    add(summary(state));
    flush();
    output_.drain(kLastWords);
  }

  void left(const StudyState& /*state*/) override {
    if (silent_) return;
    add(Json{{"event", "left"}});
    flush();
    output_.drain(kLastWords);
  }

 private:
  void hello() {
    said_hello_ = true;
    Json object{{"event", "hello"},
                {"schema", kSchema},
                {"seedbed", facts_.version},
                {"study", facts_.study},
                {"study_dir", facts_.study_dir},
                {"attached", facts_.attached},
                {"trials", nullptr},
                {"trials_is_bound", facts_.total_is_bound}};
    if (facts_.total) object["trials"] = *facts_.total;
    append(object);
  }

  void add(const Json& object) {
    if (!said_hello_) hello();
    append(object);
  }

  void append(const Json& object) {
    lines_ += object.dump(-1, ' ', false, Json::error_handler_t::replace);
    lines_ += '\n';
  }

  void flush() {
    if (!said_hello_) hello();
    if (output_.dropped() > dropped_ && !output_.busy()) {
      append(Json{{"event", "lost"}, {"messages", output_.dropped() - dropped_}});
      dropped_ = output_.dropped();
    }
    silent_ = !output_.write(lines_);
    lines_.clear();
  }

  /// What a reader would otherwise have to fold itself: how long, and the last metrics.
  static void add_result(const TrialFinished& finished, const StudyState& state, Json& object) {
    const TrialStatus* trial = state.trial(finished.trial);
    if (trial == nullptr) return;
    object["folder"] = trial->folder;
    object["attempts"] = trial->attempts.size();
    const AttemptStatus* attempt = last_ended(*trial);
    object["wall_s"] = nullptr;
    if (attempt != nullptr) object["wall_s"] = seconds(wall_time(*attempt));
    Json metrics = Json::object();
    for (const auto& [name, value] : trial->last_metrics) metrics[name] = number(value);
    object["metrics"] = std::move(metrics);
  }

  [[nodiscard]] Json summary(const StudyState& state) const {
    const Closing closing = make_closing(state, kMostFailures);
    Json object{{"event", "summary"}, {"exit_code", nullptr}, {"reason", ""}};
    if (state.run_ended()) {
      object["exit_code"] = state.run_ended()->exit_code;
      object["reason"] = state.run_ended()->reason;
    }
    Json counts = Json::object();
    for (const TrialState one : {TrialState::completed, TrialState::failed, TrialState::pruned,
                                 TrialState::cancelled, TrialState::running}) {
      counts[std::string(trial_state_word(one))] = state.count(one);
    }
    counts["waiting"] = progress_.waiting(state).value_or(state.count(TrialState::waiting));
    object["counts"] = std::move(counts);
    object["metric_missing"] = state.tally().metric_missing;
    object["outside_the_space"] = closing.outside.trials;
    object["outside_never_run"] = closing.outside.never_run;
    add_best(closing, state, object);
    Json failures = Json::array();
    for (const ClosingFailure& failure : closing.failures) {
      Json one{{"trial", failure.trial},
               {"folder", failure.folder},
               {"reason", failure.reason},
               {"log", nullptr}};
      if (failure.attempt > 0) {
        one["log"] = log_path(facts_.study_dir, failure.folder, failure.attempt);
      }
      failures.push_back(std::move(one));
    }
    object["failures"] = std::move(failures);
    object["failures_left_out"] = closing.failures_left_out;
    return object;
  }

  static void add_best(const Closing& closing, const StudyState& state, Json& object) {
    object["best_trial"] = nullptr;
    object["best_configuration"] = nullptr;
    if (closing.best_trial == 0 || !state.space()) return;
    const SpaceSet& space = *state.space();
    const Json what{{"metric", space.metric}, {"goal", goal_text(space.goal)}, {"by", "last"}};
    if (const TrialStatus* trial = state.trial(closing.best_trial)) {
      Json best = what;
      best["value"] = number(closing.best_value);
      best["trial"] = trial->number;
      best["folder"] = trial->folder;
      best["params"] = params(trial->point);
      object["best_trial"] = std::move(best);
    }
    if (!closing.best_configuration) return;
    const ConfigurationMean& mean = *closing.best_configuration;
    const TrialStatus* trial = state.trial(mean.first);
    if (trial == nullptr) return;
    Json best = what;
    best["seed_parameter"] = space.seed_parameter;
    best["mean"] = number(mean.mean);
    best["deviation"] = nullptr;
    if (mean.deviation) best["deviation"] = number(*mean.deviation);
    best["n"] = mean.n;
    best["seed_missing"] = mean.incomplete;
    Point without = trial->point;
    std::erase_if(without.parameters,
                  [&](const Parameter& one) { return one.name == space.seed_parameter; });
    best["params"] = params(without);
    object["best_configuration"] = std::move(best);
  }

  Output& output_;
  ReportFacts facts_;
  Progress progress_;
  std::string lines_;
  bool said_hello_ = false;
  bool silent_ = false;
  std::uint64_t dropped_ = 0;
};

}  // namespace

std::unique_ptr<Reporter> make_json_reporter(Output& output, ReportFacts facts) {
  return std::make_unique<JsonReporter>(output, std::move(facts));
}

}  // namespace seedbed
