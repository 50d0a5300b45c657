#include "results/study_status.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "env/posix/study_lock.h"
#include "results/connection.h"
#include "results/rows.h"
#include "results/study_reader.h"
#include "store/schema.h"
#include "study/readers.h"

namespace seedbed {
namespace {

constexpr std::uint64_t kMostNotes = 100;

// Ten thousand trials are looked at for every status. They are counted here, since SQLite would
// sort them for its GROUP BY, and their attempts, which lie in the same order, are read beside the
// list of those that matter, since a join would look up each by its number.
class TrialWalk {
 public:
  TrialWalk(const rows::Space& space, bool unwatched, StudyStatus& status)
      : space_(space), unwatched_(unwatched), status_(status) {}

  Status count(const sqlite::Database& database) {
    return database.each(
        "SELECT trial, state, revision, added, command_of, attempts, metric_missing FROM trials "
        "ORDER BY trial",
        [this](const sqlite::Statement& row) { take(row); });
  }

  Status read_attempts(const sqlite::Database& database) {
    auto attempts = rows::Beside::prepare(database,
                                          "SELECT id, ended_ms, wall_ms, slot, started_ms, host, "
                                          "pid, start_ticks, boot_id FROM attempts ORDER BY id");
    if (!attempts) return propagate(attempts);
    std::int64_t wall_ms = 0;
    for (const Latest& latest : latest_) {
      const auto found = attempts->next(latest.key);
      if (!found) return propagate(found);
      if (*found == nullptr || (*found)->is_null(1) != latest.running) continue;
      if (latest.running) {
        const AttemptId id = attempt_of_key(latest.key);
        status_.running.push_back(
            {id.trial, id.attempt, static_cast<SlotNumber>((*found)->integer(3)),
             rows::time_at(**found, 4), unwatched_ && rows::process_ended(**found, 5)});
      } else {
        ++status_.finished_attempts;
        wall_ms += (*found)->integer(2);
      }
    }
    if (status_.finished_attempts != 0) {
      status_.mean_wall =
          Milliseconds(wall_ms / static_cast<std::int64_t>(status_.finished_attempts));
    }
    return {};
  }

  /// Trials of the present revision.
  [[nodiscard]] std::uint64_t in_revision() const { return in_revision_; }

 private:
  // The latest attempt of a trial that runs, or that a time was taken of.
  struct Latest {
    std::int64_t key;
    bool running;
  };

  void take(const sqlite::Statement& row) {
    const auto state = trial_state_from_word(row.view(1)).value_or(TrialState::waiting);
    const auto revision = static_cast<std::uint32_t>(row.integer(2));
    const std::int64_t attempts = row.integer(5);
    const bool in_space =
        space_.holds(revision, row.integer(3) != 0, static_cast<std::uint32_t>(row.integer(4)));
    if (in_space) {
      if (revision == space_.revision) ++in_revision_;
      ++status_.trials[static_cast<std::size_t>(state)];
      status_.metric_missing += row.unsigned_integer(6);
    } else {
      ++status_.outside;
      if (attempts == 0) ++status_.outside_never_run;
    }
    const bool timed = in_space && (state == TrialState::completed || state == TrialState::pruned);
    const bool running = state == TrialState::running;
    if (timed || running)
      latest_.push_back({row.integer(0) * kAttemptsPerTrial + attempts, running});
  }

  const rows::Space& space_;
  bool unwatched_;
  StudyStatus& status_;
  std::uint64_t in_revision_ = 0;
  std::deque<Latest> latest_;
};

Status read_failures(const sqlite::Database& database, const rows::Space& space,
                     StudyStatus& status) {
  if (status.count(TrialState::failed) == 0) return {};
  return database.each(
      "SELECT trial, folder, reason, attempts, revision, added, command_of FROM trials "
      "WHERE state = 'failed' ORDER BY trial",
      [&](const sqlite::Statement& row) {
        if (!space.holds(static_cast<std::uint32_t>(row.integer(4)), row.integer(5) != 0,
                         static_cast<std::uint32_t>(row.integer(6)))) {
          return;
        }
        status.failures.push_back({row.unsigned_integer(0), row.text(1), row.text(2),
                                   static_cast<std::uint32_t>(row.integer(3))});
      });
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
  const auto spec = read_study(sources, {});  // what it was made of is in the text

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

std::uint64_t StudyStatus::interrupted() const {
  const auto ended = static_cast<std::uint64_t>(std::count_if(
      running.begin(), running.end(), [](const RunningLine& line) { return line.ended_unseen; }));
  return std::min(ended, count(TrialState::running));  // some may be outside the space
}

bool StudyStatus::finished() const {
  return revision != 0 && count(TrialState::waiting) == 0 && count(TrialState::running) == 0 &&
         unproposed == std::uint64_t{0};
}

int StudyStatus::exit_code() const {
  if (!finished()) return 6;
  return count(TrialState::failed) != 0 || metric_missing != 0 ? 1 : 0;
}

bool StudyStatus::left_since() const {
  if (!last_run || !last_run->ended_at || finished()) return false;
  const int code = last_run->exit_code;
  return code == 0 || code == 1 || changed_at != last_run->ended_at;
}

int StudyStatus::exit_code_now(bool live) const {
  const bool ended = !live && last_run && last_run->ended_at && !finished();
  return ended && !left_since() ? last_run->exit_code : exit_code();
}

namespace {

Result<StudyStatus> read_status(const sqlite::Database& database, bool unwatched) {
  const auto space = rows::read_space(database);
  if (!space) return propagate(space);
  StudyStatus status;
  status.revision = space->revision;
  status.metric = space->metric;
  status.goal = space->goal;
  status.seed_parameter = space->seed_parameter;
  status.command_identity = space->command_identity;
  TrialWalk trials(*space, unwatched, status);
  Status read = trials.count(database);
  if (!read) return propagate(read);
  count_unproposed(*space, trials.in_revision(), status);
  if (!status.finished()) read = trials.read_attempts(database);
  if (read) read = read_failures(database, *space, status);
  if (read) read = read_settings(database, status);
  if (!read) return propagate(read);
  auto run = read_last_run(database);
  if (!run) return propagate(run);
  status.last_run = std::move(*run);
  auto notes = rows::read_notes(database, 0, kMostNotes);
  if (!notes) return propagate(notes);
  status.notes = std::move(*notes);
  return status;
}

}  // namespace

Result<StudyStatus> StudyReader::status() const {
  // Asked first: what a controller has recorded until then is read below.
  const bool unwatched = !StudyLock::holder(study_dir_);
  return read_record(study_dir_, [&](const sqlite::Database& database) {
    return read_status(database, unwatched);
  });
}

}  // namespace seedbed
