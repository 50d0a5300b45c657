#include "results/trial_details.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "env/posix/study_lock.h"
#include "results/connection.h"
#include "results/rows.h"
#include "results/study_reader.h"
#include "store/record_codec.h"
#include "study/yaml_tree.h"

namespace seedbed {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMostNotes = 1000;

std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// What the controller says about how the attempt was started; see docs/record.md.
void take_details(const std::string& text, AttemptDetails& attempt) {
  const Json details = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!details.is_object()) return;
  if (const auto argv = details.find("argv"); argv != details.end() && argv->is_array()) {
    for (const Json& word : *argv) {
      if (word.is_string()) attempt.argv.push_back(word.get<std::string>());
    }
  }
  if (const auto env = details.find("env"); env != details.end() && env->is_object()) {
    for (const auto& [name, value] : env->items()) {
      if (value.is_string()) {
        attempt.env.push_back({name, value.get<std::string>()});
      } else if (value.is_null()) {
        attempt.env.push_back({name, std::nullopt});
      }
    }
  }
  if (const auto lent = details.find("devices"); lent != details.end() && lent->is_array()) {
    for (const Json& one : *lent) {
      if (!one.is_object()) continue;
      AttemptDetails::LentDevice device;
      device.word = text_of(one, one.contains("word") ? "word" : "id");
      device.uuid = text_of(one, "uuid");
      device.name = text_of(one, "name");
      if (const auto index = one.find("index"); index != one.end() && index->is_number_integer()) {
        device.index = index->get<int>();
      }
      if (const auto share = one.find("share"); share != one.end() && share->is_number()) {
        device.share = share->get<double>();
      }
      attempt.devices.push_back(std::move(device));
    }
  }
  attempt.cwd = text_of(details, "cwd");
  attempt.program = text_of(details, "program");
  if (const auto mpi = details.find("mpi"); mpi != details.end() && mpi->is_object()) {
    const auto ranks = mpi->find("ranks");
    attempt.mpi = fmt::format("{} ({})", text_of(*mpi, "launcher"), text_of(*mpi, "name"));
    if (ranks != mpi->end() && ranks->is_number_integer()) {
      attempt.mpi += fmt::format(", {} ranks", ranks->get<int>());
    }
  }
  attempt.git_commit = text_of(details, "git_commit");
  attempt.code_file = text_of(details, "code_file");
  attempt.code_hash = text_of(details, "code_hash");
  const auto dirty = details.find("git_dirty");
  attempt.git_dirty = dirty != details.end() && dirty->is_boolean() && dirty->get<bool>();
}

// The record of that number; nothing when there is none (id 0) or it is of another kind.
template <typename Kind>
Result<std::optional<Kind>> read_record(const sqlite::Database& database, std::int64_t id) {
  std::optional<Kind> wanted;
  if (id == 0) return wanted;
  auto row = database.prepare("SELECT kind, body FROM records WHERE id=?");
  if (!row) return propagate(row);
  row->bind(1, id);
  const Result<bool> found = row->step();
  if (!found) return propagate(found);
  if (!*found) return wanted;
  auto record = decode_record(row->view(0), row->view(1));
  if (!record) return propagate(record);
  if (auto* kind = std::get_if<Kind>(&*record); kind != nullptr) wanted = std::move(*kind);
  return wanted;
}

AttemptDetails take_attempt(const sqlite::Statement& row, TrialNumber trial) {
  AttemptDetails attempt;
  attempt.attempt = static_cast<std::uint32_t>(row.integer(0));
  attempt.phase = row.text(1);
  attempt.planned_at.ms = row.integer(2);
  attempt.started_at = rows::time_at(row, 3);
  attempt.ended_at = rows::time_at(row, 4);
  attempt.released_at = rows::time_at(row, 5);
  if (const auto cause = stop_cause_from_word(row.view(8))) {
    attempt.stopping = AttemptStopping{{trial, attempt.attempt}, *cause, row.text(9)};
  }
  if (attempt.ended_at) {
    attempt.outcome = Outcome{outcome_from_word(row.view(10)).value_or(OutcomeKind::lost),
                              static_cast<int>(row.integer(11)), row.text(12)};
    attempt.usage =
        Usage{row.integer(13), row.integer(14), row.unsigned_integer(15), row.unsigned_integer(16)};
  }
  return attempt;
}

Status read_attempts(const sqlite::Database& database, TrialDetails& details) {
  auto rows = database.prepare(
      "SELECT attempt, phase, planned_ms, started_ms, ended_ms, released_ms, planned_record, "
      "started_record, stop_cause, stop_reason, outcome, code, detail, wall_ms, cpu_ms, "
      "peak_memory, log_bytes FROM attempts WHERE trial=? ORDER BY id");
  if (!rows) return propagate(rows);
  rows->bind_unsigned(1, details.row.number);
  return rows->each([&](const sqlite::Statement& row) -> Status {
    AttemptDetails attempt = take_attempt(row, details.row.number);
    attempt.log = fmt::format("{}/attempt-{}.log", details.folder_path(), attempt.attempt);
    auto planned = read_record<AttemptPlanned>(database, row.integer(6));
    if (!planned) return propagate(planned);
    if (*planned) attempt.allocation = std::move((*planned)->allocation);
    auto started = read_record<AttemptStarted>(database, row.integer(7));
    if (!started) return propagate(started);
    attempt.started = std::move(*started);
    if (attempt.started) take_details(attempt.started->details_json, attempt);
    details.attempts.push_back(std::move(attempt));
    return {};
  });
}

// The name of the file that `template:` fills, as a sweep file says.
std::string config_name_of(const std::string& spec_yaml) {
  const auto tree = parse_yaml(SourceText("sweep.yaml", spec_yaml));
  const YamlNode* path = tree && (*tree)->is_map() ? (*tree)->find("template") : nullptr;
  if (path == nullptr || !path->is_scalar()) return {};
  return path->text.substr(path->text.find_last_of('/') + 1);
}

Result<TrialDetails> read_details(const sqlite::Database& database, const std::string& study_dir,
                                  TrialNumber number, bool unwatched) {
  const auto space = rows::read_space(database);
  if (!space) return propagate(space);
  std::vector<TrialRow> trials;
  if (number != 0) {
    auto read = rows::read_trials(database, *space, number);
    if (!read) return propagate(read);
    trials = std::move(*read);
  }
  if (trials.empty()) {
    const auto last = database.integer("SELECT coalesce(max(trial), 0) FROM trials");
    if (!last) return propagate(last);
    return fail(ErrorCode::usage,
                fmt::format("there is no trial {} in {}; {}", number, study_dir,
                            *last == 0 ? std::string("it has none yet")
                                       : fmt::format("the last one is {}", *last)));
  }
  Status read = rows::read_attempts(database, trials, unwatched, number);
  if (read) read = rows::read_parameters(database, trials, number);
  if (read) read = rows::read_metrics(database, trials, number);
  if (!read) return propagate(read);
  TrialDetails details;
  details.study_dir = study_dir;
  details.config_name = config_name_of(space->spec_yaml);
  details.row = std::move(trials.front());
  if (const Status attempts = read_attempts(database, details); !attempts) {
    return propagate(attempts);
  }
  auto notes = rows::read_notes(database, number, kMostNotes);
  if (!notes) return propagate(notes);
  details.notes = std::move(*notes);
  const auto not_before = database.integer(
      fmt::format("SELECT not_before_ms FROM trials WHERE trial={}", number).c_str());
  if (!not_before) return propagate(not_before);
  if (*not_before != 0 && details.row.state == TrialState::waiting) {
    details.not_before = Timestamp{*not_before};
  }
  return details;
}

// A word for a shell in which `$d` stands for the folder, but for the files that the program reads.
std::string quote_beside(std::string_view word, const std::string& folder,
                         const std::string& config) {
  const auto is_read = [&](std::string_view behind) {
    for (const std::string_view name :
         {std::string_view("params.json"), std::string_view("args.json"),
          std::string_view("wandb-params.yaml"), std::string_view(config)}) {
      if (!name.empty() && behind == "/" + std::string(name)) return true;
    }
    return false;
  };
  std::string quoted, plain;
  const auto end_plain = [&] {
    if (!plain.empty()) quoted += shell_quote(std::exchange(plain, {}));
  };
  while (true) {
    const std::size_t at = word.find(folder);
    if (at == std::string_view::npos) break;
    const std::string_view behind = word.substr(at + folder.size());
    plain += word.substr(0, at);
    if (is_read(behind)) {
      plain += folder;
    } else {
      end_plain();
      quoted += "\"$d\"";
    }
    word = behind;
  }
  plain += word;
  if (quoted.empty()) return shell_quote(plain);
  end_plain();
  return quoted;
}

}  // namespace

std::string TrialDetails::folder_path() const { return study_dir + "/trials/" + row.folder; }

std::string TrialDetails::repeat_line(const AttemptDetails& attempt) const {
  if (attempt.argv.empty()) return {};
  const std::string folder = folder_path();
  const auto quote = [&](const std::string& word) {
    return quote_beside(word, folder, config_name);
  };
  // env(1) wants its options before its assignments.
  std::string removed, set;
  for (const AttemptDetails::Variable& variable : attempt.env) {
    if (variable.name.starts_with("SEEDBED_")) continue;
    if (variable.value) {
      set += " " + quote(variable.name + "=" + *variable.value);
    } else {
      removed += " -u " + shell_quote(variable.name);
    }
  }
  const auto assign = [&set](const std::string& name, const std::string& value) {
    set += " " + shell_quote(name + "=" + value);
  };
  assign("SEEDBED_STUDY_DIR", study_dir);
  assign("SEEDBED_TRIAL", std::to_string(row.number));
  assign("SEEDBED_ATTEMPT", std::to_string(attempt.attempt));
  assign("SEEDBED_SLOT", std::to_string(attempt.allocation.slot));
  assign("SEEDBED_PARAMS", folder + "/params.json");
  // What the program writes through these belongs to the recorded trial; a repetition by hand gets
  // a fresh folder, no one reads its metrics, and no one asks it to stop.
  assign("SEEDBED_METRICS", "/dev/null");
  assign("SEEDBED_STOP", "/dev/null/stop");
  set += " SEEDBED_TRIAL_DIR=\"$d\"";
  std::string line = "d=$(mktemp -d) && ";
  if (!attempt.cwd.empty()) line += "cd " + quote(attempt.cwd) + " && ";
  line += "env" + removed + set;
  for (const std::string& word : attempt.argv) line += " " + quote(word);
  return line;
}

std::string TrialDetails::repeat_line() const {
  for (auto attempt = attempts.rbegin(); attempt != attempts.rend(); ++attempt) {
    if (std::string line = repeat_line(*attempt); !line.empty()) return line;
  }
  return {};
}

Result<TrialDetails> StudyReader::trial(TrialNumber number) const {
  const bool unwatched = !StudyLock::holder(study_dir_);
  return read_record(study_dir_, [&](const sqlite::Database& database) {
    return read_details(database, study_dir_, number, unwatched);
  });
}

}  // namespace seedbed
