#include "store/projection.h"

#include <string>
#include <utility>
#include <variant>

#include "store/record_codec.h"
#include "store/schema.h"

namespace seedbed {

struct Projection::Applier {
  Projection& tables;
  std::int64_t id;
  Timestamp at;

  Status operator()(const SpaceSet& record) const {
    return tables.space_set_.bind(1, record.revision)
        .bind(2, at.ms)
        .bind_text(3, record.metric)
        .bind_text(4, record.goal == Goal::minimize ? "minimize" : "maximize")
        .bind_text(5, record.seed_parameter)
        .bind_text(6, record.command_identity)
        .bind_text(7, record.spec_yaml)
        .run();
  }
  Status operator()(const RunStarted& record) const {
    const Status started = tables.run_started_.bind_unsigned(1, record.run)
                               .bind(2, at.ms)
                               .bind_text(3, record.host)
                               .bind(4, record.pid)
                               .bind_text(5, record.version)
                               .bind(6, record.slots)
                               .bind_text(7, record.machine)
                               .bind_text(8, record.details_json)
                               .run();
    if (!started) return started;
    return tables.setting_.bind_text(1, "slots").bind(2, record.slots).run();
  }
  Status operator()(const RunStopping& record) const {
    return tables.run_stopping_.bind_unsigned(1, record.run)
        .bind_text(2, stop_mode_word(record.mode))
        .bind_text(3, record.reason)
        .run();
  }
  Status operator()(const RunEnded& record) const {
    return tables.run_ended_.bind_unsigned(1, record.run)
        .bind(2, at.ms)
        .bind(3, record.exit_code)
        .bind_text(4, record.reason)
        .run();
  }
  Status operator()(const TrialProposed& record) const {
    Status status = tables.trial_proposed_.bind_unsigned(1, record.trial)
                        .bind_text(2, record.folder)
                        .bind_unsigned(3, record.proposal)
                        .bind(4, record.revision)
                        .bind(5, record.added ? 1 : 0)
                        .bind(6, at.ms)
                        .run();
    std::int64_t position = 0;
    for (const Parameter& parameter : record.point.parameters) {
      if (!status) return status;
      sqlite::Statement& row = tables.parameter_;
      row.bind_unsigned(1, record.trial)
          .bind(2, position++)
          .bind_text(3, parameter.name)
          .bind_text(4, kind_word(parameter.value.kind()))
          .bind_text(5, parameter.value.spelling());
      const auto number = parameter.value.number();
      if (number) {
        row.bind_real(6, *number);
      } else {
        row.bind_null(6);
      }
      if (parameter.value.kind() == ValueKind::structure) {
        row.bind_text(7, parameter.value.canonical_json());
      } else {
        row.bind_null(7);
      }
      status = row.run();
    }
    return status;
  }
  Status operator()(const TrialKept& record) const {
    return tables.in_revision_.bind_unsigned(1, record.trial)
        .bind(2, record.revision)
        .bind_unsigned(3, record.proposal)
        .bind(4, record.added ? 1 : 0)
        .run();
  }
  Status operator()(const WalkMoved&) const { return {}; }
  Status operator()(const SpaceWalked& record) const {
    return tables.space_walked_.bind(1, record.revision).bind_unsigned(2, record.trials).run();
  }
  Status operator()(const AttemptPlanned& record) const {
    const auto key = attempt_key(record.attempt);
    if (!key) return propagate(key);
    const Status planned = tables.attempt_planned_.bind(1, *key)
                               .bind_unsigned(2, record.attempt.trial)
                               .bind(3, record.attempt.attempt)
                               .bind(4, record.allocation.slot)
                               .bind(5, at.ms)
                               .bind(6, id)
                               .run();
    if (!planned) return planned;
    return tables.trial_running_.bind_unsigned(1, record.attempt.trial)
        .bind(2, record.attempt.attempt)
        .run();
  }
  Status operator()(const AttemptStarted& record) const {
    const auto key = attempt_key(record.attempt);
    if (!key) return propagate(key);
    return tables.attempt_started_.bind(1, *key)
        .bind(2, at.ms)
        .bind(3, id)
        .bind_text(4, record.host)
        .bind(5, record.pid)
        .bind_unsigned(6, record.start_ticks)
        .bind_text(7, record.boot_id)
        .run();
  }
  Status operator()(const AttemptStopping& record) const {
    const auto key = attempt_key(record.attempt);
    if (!key) return propagate(key);
    return tables.attempt_stopping_.bind(1, *key)
        .bind_text(2, stop_cause_word(record.cause))
        .bind_text(3, record.reason)
        .run();
  }
  Status operator()(const AttemptEnded& record) const {
    const auto key = attempt_key(record.attempt);
    if (!key) return propagate(key);
    return tables.attempt_ended_.bind(1, *key)
        .bind(2, at.ms)
        .bind_text(3, outcome_word(record.outcome.kind))
        .bind(4, record.outcome.code)
        .bind_text(5, record.outcome.detail)
        .bind(6, record.usage.wall_ms)
        .bind(7, record.usage.cpu_ms)
        .bind_unsigned(8, record.usage.peak_memory)
        .bind_unsigned(9, record.usage.log_bytes)
        .run();
  }
  Status operator()(const AllocationReleased& record) const {
    const auto key = attempt_key(record.attempt);
    if (!key) return propagate(key);
    return tables.allocation_released_.bind(1, *key).bind(2, at.ms).run();
  }
  Status operator()(const TrialRequeued& record) const {
    return tables.trial_waiting_.bind_unsigned(1, record.trial).bind(2, record.not_before.ms).run();
  }
  Status operator()(const TrialFinished& record) const {
    return tables.trial_finished_.bind_unsigned(1, record.trial)
        .bind_text(2, trial_state_word(record.state))
        .bind_text(3, record.reason)
        .bind(4, record.metric_missing ? 1 : 0)
        .bind(5, at.ms)
        .run();
  }
  Status operator()(const TrialReopened& record) const {
    return tables.trial_reopened_.bind_unsigned(1, record.trial).run();
  }
  Status operator()(const MetricsReported&) const { return {}; }
  Status operator()(const PauseSet& record) const {
    const Status paused =
        tables.setting_.bind_text(1, "paused").bind(2, record.paused ? 1 : 0).run();
    if (!paused) return paused;
    return tables.setting_.bind_text(1, "frozen").bind(2, record.frozen ? 1 : 0).run();
  }
  Status operator()(const WidthSet& record) const {
    return tables.setting_.bind_text(1, "slots").bind(2, record.slots).run();
  }
  Status operator()(const ResourcesHeld&) const { return {}; }
  Status operator()(const NoteAdded& record) const {
    return tables.note_.bind(1, at.ms)
        .bind_unsigned(2, record.trial)
        .bind_text(3, record.kind)
        .bind_text(4, record.text)
        .run();
  }
};

Result<Projection> Projection::prepare(const sqlite::Database& database) {
  Projection p;
  const std::pair<sqlite::Statement*, const char*> statements[] = {
      {&p.space_set_,
       "INSERT OR REPLACE INTO spaces(revision, at_ms, metric, goal, seed_parameter, "
       "command_identity, spec_yaml) VALUES(?,?,?,?,?,?,?)"},
      {&p.run_started_,
       "INSERT OR REPLACE INTO runs(run, started_ms, host, pid, version, slots, machine, "
       "details_json) VALUES(?,?,?,?,?,?,?,?)"},
      {&p.run_stopping_, "UPDATE runs SET stop_mode=?2, stop_reason=?3 WHERE run=?1"},
      {&p.run_ended_, "UPDATE runs SET ended_ms=?2, exit_code=?3, reason=?4 WHERE run=?1"},
      {&p.trial_proposed_,
       "INSERT OR REPLACE INTO trials(trial, state, folder, proposal, revision, added, attempts, "
       "metric_missing, reason, proposed_ms, command_of) VALUES(?1,'waiting',?2,?3,?4,?5,0,0,'',"
       "?6,(SELECT coalesce(max(revision), 0) FROM spaces))"},
      {&p.parameter_,
       "INSERT OR REPLACE INTO parameters(trial, position, name, kind, spelling, number, "
       "canonical_json) VALUES(?,?,?,?,?,?,?)"},
      {&p.in_revision_,
       "UPDATE trials SET revision=?2, proposal=?3, added=max(added, ?4) WHERE trial=?1"},
      {&p.space_walked_, "UPDATE spaces SET walked_trials=?2 WHERE revision=?1"},
      {&p.attempt_planned_,
       "INSERT OR REPLACE INTO attempts(id, trial, attempt, phase, slot, planned_ms, "
       "planned_record) VALUES(?1,?2,?3,'planned',?4,?5,?6)"},
      {&p.trial_running_,
       "UPDATE trials SET state='running', attempts=?2, not_before_ms=NULL WHERE trial=?1"},
      {&p.attempt_started_,
       "UPDATE attempts SET phase=iif(phase='planned','running',phase), started_ms=?2, "
       "started_record=?3, host=?4, pid=?5, start_ticks=?6, boot_id=?7 WHERE id=?1"},
      {&p.attempt_stopping_,
       "UPDATE attempts SET phase='stopping', stop_cause=?2, stop_reason=?3 WHERE id=?1"},
      {&p.attempt_ended_,
       "UPDATE attempts SET phase='ended', ended_ms=?2, outcome=?3, code=?4, detail=?5, "
       "wall_ms=?6, cpu_ms=?7, peak_memory=?8, log_bytes=?9 WHERE id=?1"},
      {&p.allocation_released_, "UPDATE attempts SET released_ms=?2 WHERE id=?1"},
      {&p.trial_waiting_, "UPDATE trials SET state='waiting', not_before_ms=?2 WHERE trial=?1"},
      {&p.trial_finished_,
       "UPDATE trials SET state=?2, reason=?3, metric_missing=?4, finished_ms=?5 WHERE trial=?1"},
      {&p.trial_reopened_,
       "UPDATE trials SET state='waiting', reason='', metric_missing=0, finished_ms=NULL, "
       "not_before_ms=NULL WHERE trial=?1"},
      {&p.setting_, "INSERT OR REPLACE INTO settings(name, value) VALUES(?,?)"},
      {&p.note_, "INSERT INTO notes(at_ms, trial, kind, text) VALUES(?,?,?,?)"},
  };
  for (const auto& [statement, sql] : statements) {
    auto prepared = database.prepare(sql);
    if (!prepared) return propagate(prepared);
    *statement = std::move(*prepared);
  }
  return p;
}

Status Projection::apply(std::int64_t id, const Entry& entry) {
  return std::visit(Applier{*this, id, entry.at}, entry.record);
}

namespace {

Status project_all(const sqlite::Database& database) {
  if (const Status cleared = clear_projection(database); !cleared) return cleared;
  auto projection = Projection::prepare(database);
  if (!projection) return propagate(projection);
  return database.each(
      "SELECT id, at_ms, kind, body FROM records ORDER BY id",
      [&](const sqlite::Statement& row) -> Status {
        auto record = decode_record(row.view(2), row.view(3));
        if (!record) return propagate(record);
        return projection->apply(row.integer(0), {Timestamp{row.integer(1)}, std::move(*record)});
      });
}

}  // namespace

Status rebuild_projection(const sqlite::Database& database) {
  if (const Status begun = database.execute("BEGIN IMMEDIATE"); !begun) return begun;
  Status outcome = project_all(database);
  if (outcome) outcome = database.execute("COMMIT");
  if (!outcome && database.in_transaction()) {
    static_cast<void>(database.execute("ROLLBACK"));
  }
  return outcome;
}

Result<bool> projection_agrees(const sqlite::Database& database) {
  const auto recorded = database.text(
      "SELECT count(*) FILTER (WHERE kind='trial_proposed') || ' ' ||"
      " count(*) FILTER (WHERE kind='attempt_planned') || ' ' ||"
      " (count(*) FILTER (WHERE kind='trial_finished') -"
      "  count(*) FILTER (WHERE kind='trial_reopened')) || ' ' ||"
      " count(*) FILTER (WHERE kind='note_added') || ' ' ||"
      " count(*) FILTER (WHERE kind='run_started') || ' ' ||"
      " count(*) FILTER (WHERE kind='space_set') FROM records");
  if (!recorded) return propagate(recorded);
  const auto projected = database.text(
      "SELECT (SELECT count(*) FROM trials) || ' ' || (SELECT count(*) FROM attempts) || ' ' ||"
      " (SELECT count(*) FROM trials WHERE state NOT IN ('waiting','running')) || ' ' ||"
      " (SELECT count(*) FROM notes) || ' ' || (SELECT count(*) FROM runs) || ' ' ||"
      " (SELECT count(*) FROM spaces)");
  if (!projected) return propagate(projected);
  return *recorded == *projected;
}

}  // namespace seedbed
