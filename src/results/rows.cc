#include "results/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "env/posix/identity.h"
#include "store/metric_rows.h"
#include "store/schema.h"

namespace seedbed::rows {
namespace {

// Trials are sorted by number, and so are the rows that belong to them: one walk finds them all.
class Cursor {
 public:
  explicit Cursor(std::vector<TrialRow>& trials) : trials_(trials) {}

  TrialRow* at(TrialNumber number) {
    while (next_ < trials_.size() && trials_[next_].number < number) ++next_;
    return next_ < trials_.size() && trials_[next_].number == number ? &trials_[next_] : nullptr;
  }

 private:
  std::vector<TrialRow>& trials_;
  std::size_t next_ = 0;
};

std::string only_clause(TrialNumber only) {
  return only == 0 ? "" : fmt::format(" WHERE trial={}", only);
}

MetricNumbers numbers_of(const MetricSummary& summary) {
  MetricNumbers numbers;
  numbers.n = summary.n;
  numbers.not_finite = summary.not_finite;
  numbers.first_step = summary.first.step;
  numbers.first = summary.first.value;
  numbers.last_step = summary.last.step;
  numbers.last = summary.last.value;
  if (summary.min) {
    numbers.min = summary.min->value;
    numbers.min_step = summary.min->step;
  }
  if (summary.max) {
    numbers.max = summary.max->value;
    numbers.max_step = summary.max->step;
  }
  return numbers;
}

}  // namespace

Result<Beside> Beside::prepare(const sqlite::Database& database, const std::string& sql) {
  auto rows = database.prepare(sql.c_str());
  if (!rows) return propagate(rows);
  Beside beside;
  beside.rows_ = std::move(*rows);
  return beside;
}

Result<const sqlite::Statement*> Beside::next(std::int64_t key) {
  while (!ended_ && (!waiting_ || rows_.integer(0) < key)) {
    const Result<bool> row = rows_.step();
    if (!row) return propagate(row);
    waiting_ = *row;
    ended_ = !*row;
  }
  if (ended_ || rows_.integer(0) != key) return nullptr;
  waiting_ = false;
  return &rows_;
}

std::optional<Timestamp> time_at(const sqlite::Statement& row, int column) {
  if (row.is_null(column)) return std::nullopt;
  return Timestamp{row.integer(column)};
}

bool Space::holds(std::uint32_t trial_revision, bool added, std::uint32_t command_of) const {
  const auto command = commands.find(command_of);
  const bool same_command = command == commands.end() || command->second == command_identity;
  return same_command && (added || trial_revision == revision);
}

Result<Space> read_space(const sqlite::Database& database) {
  Space space;
  const Status read = database.each(
      "SELECT revision, metric, goal, seed_parameter, command_identity, walked_trials, spec_yaml "
      "FROM spaces ORDER BY revision",
      [&](const sqlite::Statement& row) {
        space.revision = static_cast<std::uint32_t>(row.integer(0));
        space.metric = row.text(1);
        space.goal = row.view(2) == "maximize" ? Goal::maximize : Goal::minimize;
        space.seed_parameter = row.text(3);
        space.command_identity = row.text(4);
        space.walked =
            row.is_null(5) ? std::nullopt : std::optional<std::uint64_t>(row.unsigned_integer(5));
        space.spec_yaml = row.text(6);
        space.commands[space.revision] = space.command_identity;
      });
  if (!read) return propagate(read);
  return space;
}

Result<std::vector<TrialRow>> read_trials(const sqlite::Database& database, const Space& space,
                                          TrialNumber only) {
  std::vector<TrialRow> trials;
  const Status read = database.each(
      "SELECT trial, state, folder, proposal, revision, added, attempts, metric_missing, reason, "
      "proposed_ms, command_of, finished_ms FROM trials" +
          only_clause(only) + " ORDER BY trial",
      [&](const sqlite::Statement& row) {
        TrialRow trial;
        trial.number = row.unsigned_integer(0);
        trial.state = trial_state_from_word(row.view(1)).value_or(TrialState::waiting);
        trial.folder = row.text(2);
        trial.proposal = row.unsigned_integer(3);
        trial.revision = static_cast<std::uint32_t>(row.integer(4));
        trial.added = row.integer(5) != 0;
        trial.attempts = static_cast<std::uint32_t>(row.integer(6));
        trial.metric_missing = row.integer(7) != 0;
        trial.reason = row.text(8);
        trial.proposed_at.ms = row.integer(9);
        trial.in_space =
            space.holds(trial.revision, trial.added, static_cast<std::uint32_t>(row.integer(10)));
        trial.finished_at = time_at(row, 11);
        trials.push_back(std::move(trial));
      });
  if (!read) return propagate(read);
  return trials;
}

bool process_ended(const sqlite::Statement& row, int column) {
  if (row.is_null(column) || row.view(column) != host_name()) return false;
  return !is_running(row.integer(column + 1), row.unsigned_integer(column + 2),
                     row.text(column + 3));
}

Status read_attempts(const sqlite::Database& database, std::vector<TrialRow>& trials,
                     bool unwatched, TrialNumber only) {
  Cursor cursor(trials);
  return database.each(
      "SELECT trial, attempt, started_ms, outcome, code, detail, wall_ms, cpu_ms, "
      "peak_memory, log_bytes, slot, host, pid, start_ticks, boot_id FROM attempts" +
          only_clause(only) + " ORDER BY id",
      [&](const sqlite::Statement& row) {
        TrialRow* trial = cursor.at(row.unsigned_integer(0));
        if (trial == nullptr || row.integer(1) != trial->attempts) return;
        trial->started_at = time_at(row, 2);
        trial->slot = static_cast<SlotNumber>(row.integer(10));
        trial->host = row.text(11);
        if (row.is_null(3)) {
          trial->ended_unseen = unwatched && process_ended(row, 11);
          return;
        }
        trial->outcome = Outcome{outcome_from_word(row.view(3)).value_or(OutcomeKind::lost),
                                 static_cast<int>(row.integer(4)), row.text(5)};
        trial->usage =
            Usage{row.integer(6), row.integer(7), row.unsigned_integer(8), row.unsigned_integer(9)};
      });
}

Status read_code(const sqlite::Database& database, std::vector<TrialRow>& trials) {
  const auto changed =
      database.integer("SELECT EXISTS(SELECT 1 FROM notes WHERE kind='code_changed')");
  if (!changed) return propagate(changed);
  if (*changed == 0) return {};
  Cursor cursor(trials);
  return database.each(
      "SELECT a.trial, a.attempt, json_extract(json_extract(r.body, '$.details_json'), "
      "'$.code_hash') FROM attempts a JOIN records r ON r.id=a.started_record ORDER BY a.id",
      [&](const sqlite::Statement& row) {
        TrialRow* trial = cursor.at(row.unsigned_integer(0));
        if (trial == nullptr || row.integer(1) != trial->attempts || row.is_null(2)) return;
        trial->code = row.text(2);
      });
}

std::optional<Parameter> parameter_at(const sqlite::Statement& row, int column) {
  const auto kind = kind_from_word(row.view(column + 1));
  if (!kind) return std::nullopt;
  const std::string spelling = row.text(column + 2);
  return Parameter{row.text(column), Value::restore(*kind, spelling, row.text(column + 3))};
}

Status read_parameters(const sqlite::Database& database, std::vector<TrialRow>& trials,
                       TrialNumber only) {
  Cursor cursor(trials);
  return database.each("SELECT trial, name, kind, spelling, canonical_json FROM parameters" +
                           only_clause(only) + " ORDER BY trial, position",
                       [&](const sqlite::Statement& row) {
                         TrialRow* trial = cursor.at(row.unsigned_integer(0));
                         auto parameter = parameter_at(row, 1);
                         if (trial == nullptr || !parameter) return;
                         trial->point.parameters.push_back(std::move(*parameter));
                       });
}

Status read_metrics(const sqlite::Database& database, std::vector<TrialRow>& trials,
                    TrialNumber only) {
  std::map<std::int64_t, std::string> names;
  const Status named =
      database.each("SELECT id, name FROM metric_names",
                    [&](const sqlite::Statement& row) { names[row.integer(0)] = row.text(1); });
  if (!named) return named;
  Cursor cursor(trials);
  const Status read =
      database.each(fmt::format("SELECT trial, metric, {} FROM metrics{} ORDER BY trial",
                                kSummaryColumns, only_clause(only)),
                    [&](const sqlite::Statement& row) {
                      TrialRow* trial = cursor.at(row.unsigned_integer(0));
                      const auto name = names.find(row.integer(1));
                      if (trial == nullptr || name == names.end()) return;
                      MetricNumbers numbers = numbers_of(read_summary(row, 2));
                      numbers.name = name->second;
                      trial->metrics.push_back(std::move(numbers));
                    });
  if (!read) return read;
  for (TrialRow& trial : trials) {
    std::sort(trial.metrics.begin(), trial.metrics.end(),
              [](const MetricNumbers& a, const MetricNumbers& b) { return a.name < b.name; });
  }
  return {};
}

Result<std::vector<Entry>> read_notes(const sqlite::Database& database, TrialNumber trial,
                                      std::uint64_t most) {
  std::vector<Entry> notes;
  const Status read = database.each(
      fmt::format("SELECT at_ms, trial, kind, text FROM notes WHERE trial={} "
                  "ORDER BY id DESC LIMIT {}",
                  trial, most),
      [&](const sqlite::Statement& row) {
        notes.push_back({Timestamp{row.integer(0)},
                         NoteAdded{row.unsigned_integer(1), row.text(2), row.text(3)}});
      });
  if (!read) return propagate(read);
  std::reverse(notes.begin(), notes.end());
  return notes;
}

}  // namespace seedbed::rows
