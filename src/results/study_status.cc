#include "results/study_status.h"

#include <algorithm>
#include <utility>

#include "results/connection.h"
#include "results/rows.h"
#include "results/study_reader.h"
#include "study/readers.h"

namespace seedbed {
namespace {

constexpr std::uint64_t kMostNotes = 100;

// All counting is SQLite's: ten thousand trials are looked at for every status.
Status count_trials(const sqlite::Database& database, const rows::Space& space, StudyStatus& status,
                    std::uint64_t& in_revision) {
  auto rows = database.prepare(
      "SELECT state, revision, added, command_of, count(*), sum(metric_missing) FROM trials "
      "GROUP BY state, revision, added, command_of");
  if (!rows) return propagate(rows);
  while (true) {
    const Result<bool> row = rows->step();
    if (!row) return propagate(row);
    if (!*row) return {};
    const auto revision = static_cast<std::uint32_t>(rows->integer(1));
    const std::uint64_t count = rows->unsigned_integer(4);
    if (!space.holds(revision, rows->integer(2) != 0,
                     static_cast<std::uint32_t>(rows->integer(3)))) {
      status.outside += count;
      continue;
    }
    if (revision == space.revision) in_revision += count;
    const auto state = trial_state_from_word(rows->view(0)).value_or(TrialState::waiting);
    status.trials[static_cast<std::size_t>(state)] += count;
    status.metric_missing += rows->unsigned_integer(5);
  }
}

Status read_failures(const sqlite::Database& database, const rows::Space& space,
                     StudyStatus& status) {
  auto rows = database.prepare(
      "SELECT trial, folder, reason, attempts, revision, added, command_of FROM trials "
      "WHERE state = 'failed' ORDER BY trial");
  if (!rows) return propagate(rows);
  while (true) {
    const Result<bool> row = rows->step();
    if (!row) return propagate(row);
    if (!*row) return {};
    if (!space.holds(static_cast<std::uint32_t>(rows->integer(4)), rows->integer(5) != 0,
                     static_cast<std::uint32_t>(rows->integer(6)))) {
      continue;
    }
    status.failures.push_back({rows->unsigned_integer(0), rows->text(1), rows->text(2),
                               static_cast<std::uint32_t>(rows->integer(3))});
  }
}

Status read_running(const sqlite::Database& database, StudyStatus& status) {
  auto rows = database.prepare(
      "SELECT a.trial, a.attempt, a.slot, a.started_ms FROM attempts a JOIN trials t "
      "ON t.trial = a.trial AND t.attempts = a.attempt WHERE a.ended_ms IS NULL ORDER BY a.trial");
  if (!rows) return propagate(rows);
  while (true) {
    const Result<bool> row = rows->step();
    if (!row) return propagate(row);
    if (!*row) return {};
    status.running.push_back({rows->unsigned_integer(0),
                              static_cast<std::uint32_t>(rows->integer(1)),
                              static_cast<SlotNumber>(rows->integer(2)), rows::time_at(*rows, 3)});
  }
}

Status read_mean_wall(const sqlite::Database& database, const rows::Space& space,
                      StudyStatus& status) {
  auto rows = database.prepare(
      "SELECT t.revision, t.added, t.command_of, count(*), sum(a.wall_ms) FROM attempts a "
      "JOIN trials t ON t.trial = a.trial AND t.attempts = a.attempt "
      "WHERE a.ended_ms IS NOT NULL AND t.state IN ('completed', 'pruned') "
      "GROUP BY t.revision, t.added, t.command_of");
  if (!rows) return propagate(rows);
  std::int64_t wall_ms = 0;
  while (true) {
    const Result<bool> row = rows->step();
    if (!row) return propagate(row);
    if (!*row) break;
    if (!space.holds(static_cast<std::uint32_t>(rows->integer(0)), rows->integer(1) != 0,
                     static_cast<std::uint32_t>(rows->integer(2)))) {
      continue;
    }
    status.finished_attempts += rows->unsigned_integer(3);
    wall_ms += rows->integer(4);
  }
  if (status.finished_attempts != 0) {
    status.mean_wall = Milliseconds(wall_ms / static_cast<std::int64_t>(status.finished_attempts));
  }
  return {};
}

// How many points the space has that nothing stands for yet.
void count_unproposed(const rows::Space& space, std::uint64_t in_revision, StudyStatus& status) {
  if (space.revision == 0) return;
  if (space.walked) {
    status.unproposed = 0;
    return;
  }
  StudySources sources;
  sources.file_name = "sweep.yaml";
  sources.file_text = space.spec_yaml;
  const TextReader no_files = [](const std::string& path) -> Result<std::string> {
    return fail(ErrorCode::usage, path + " is not part of the record");
  };
  const auto spec = read_study(sources, no_files);
  if (!spec) return;
  const PointCount count = spec->space.count();
  std::optional<std::uint64_t> total;
  if (!count.infinite) total = count.value;
  if (spec->run_cap) total = std::min(total.value_or(*spec->run_cap), *spec->run_cap);
  if (!total) return;
  status.unproposed = *total - std::min(*total, in_revision);
  status.unproposed_exact = count.exact;
}

Result<std::optional<RunInfo>> read_last_run(const sqlite::Database& database) {
  auto row = database.prepare(
      "SELECT run, host, pid, version, slots, machine, details_json, started_ms, stop_mode, "
      "stop_reason, ended_ms, exit_code, reason FROM runs ORDER BY run DESC LIMIT 1");
  if (!row) return propagate(row);
  const Result<bool> found = row->step();
  if (!found) return propagate(found);
  if (!*found) return std::optional<RunInfo>();
  RunInfo run;
  run.run = row->unsigned_integer(0);
  run.host = row->text(1);
  run.pid = row->integer(2);
  run.version = row->text(3);
  run.slots = static_cast<std::uint32_t>(row->integer(4));
  run.machine = row->text(5);
  run.details_json = row->text(6);
  run.started_at.ms = row->integer(7);
  run.stopping = stop_mode_from_word(row->view(8));
  run.stop_reason = row->text(9);
  run.ended_at = rows::time_at(*row, 10);
  run.exit_code = static_cast<int>(row->integer(11));
  run.reason = row->text(12);
  return std::optional<RunInfo>(std::move(run));
}

Status read_settings(const sqlite::Database& database, StudyStatus& status) {
  const auto paused = database.integer("SELECT value FROM settings WHERE name='paused'");
  if (!paused) return propagate(paused);
  status.paused = *paused != 0;
  const auto frozen = database.integer("SELECT value FROM settings WHERE name='frozen'");
  if (!frozen) return propagate(frozen);
  status.frozen = *frozen != 0;
  const auto slots = database.integer("SELECT value FROM settings WHERE name='slots'");
  if (!slots) return propagate(slots);
  status.slots = static_cast<std::uint32_t>(*slots);
  auto last = database.prepare("SELECT at_ms FROM records ORDER BY id DESC LIMIT 1");
  if (!last) return propagate(last);
  const Result<bool> row = last->step();
  if (!row) return propagate(row);
  if (*row) status.changed_at = Timestamp{last->integer(0)};
  return {};
}

}  // namespace

std::uint64_t StudyStatus::total() const {
  std::uint64_t sum = unproposed.value_or(0);
  for (const std::uint64_t count : trials) sum += count;
  return sum;
}

bool StudyStatus::finished() const {
  return revision != 0 && count(TrialState::waiting) == 0 && count(TrialState::running) == 0 &&
         unproposed == std::uint64_t{0};
}

int StudyStatus::exit_code() const {
  if (!finished()) return 6;
  return count(TrialState::failed) != 0 || metric_missing != 0 ? 1 : 0;
}

Result<StudyStatus> StudyReader::status() const {
  auto connection = Connection::open(study_dir_);
  if (!connection) return propagate(connection);
  const sqlite::Database& database = connection->database();
  const auto space = rows::read_space(database);
  if (!space) return propagate(space);
  StudyStatus status;
  status.revision = space->revision;
  status.metric = space->metric;
  status.goal = space->goal;
  status.seed_parameter = space->seed_parameter;
  status.command_identity = space->command_identity;
  std::uint64_t in_revision = 0;
  Status read = count_trials(database, *space, status, in_revision);
  if (read) read = read_failures(database, *space, status);
  if (read) read = read_running(database, status);
  if (read) read = read_mean_wall(database, *space, status);
  if (read) read = read_settings(database, status);
  if (!read) return propagate(read);
  count_unproposed(*space, in_revision, status);
  auto run = read_last_run(database);
  if (!run) return propagate(run);
  status.last_run = std::move(*run);
  auto notes = rows::read_notes(database, 0, kMostNotes);
  if (!notes) return propagate(notes);
  status.notes = std::move(*notes);
  return status;
}

}  // namespace seedbed
