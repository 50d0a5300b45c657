#include "store/schema.h"

#include <fmt/format.h>

#include "base/random.h"

// study.db, schema 1
// ==================
// `records` is the truth: append-only, numbered from 1 without gaps, each with a checksum. Metric
// points and reading positions are truth too, as rows of their own (`points`, `recent`, `metrics`,
// `positions`), because a record of text per point would be ten times as large. Every other table
// is projected from the records in the same transaction and can be made again from them.
//
// Validity: a record counts when its transaction is complete (SQLite's WAL or journal sees to it),
// its number follows the one before, and its checksum holds.
//
// Text is TEXT when it is valid UTF-8 without NUL, else a BLOB of the same bytes. Times are
// milliseconds since 1970 UTC. 64-bit unsigned numbers are stored as the signed number with the
// same bits. A REAL cannot be NaN: NULL in a column of metric steps or values is NaN.
//
// Limits: 999,999 attempts of a trial; trial numbers below 9.2e12. -0.0 is read back as 0.0.
// WAL needs shared memory, so on network file systems a rollback journal is used instead.
//
// Points: every point has its ordinal within (trial, metric), from 1. `points` keeps ordinal o
// when o <= 2048 or o is a multiple of the smallest power of two s with o <= 2048*s: the whole
// curve stays visible at 1024 to 2048 points per doubling. `metrics` has first, last, smallest
// and largest finite value; `recent` the last 128 of those that `points` does not keep
// (seat = ordinal mod 128; a row older than that is stale and must be passed over).

namespace seedbed {
namespace {

constexpr const char* kTruth = R"sql(
CREATE TABLE records(
  id INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL,
  sum INTEGER NOT NULL);
CREATE TABLE metric_names(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE points(
  id INTEGER PRIMARY KEY, attempt INTEGER NOT NULL, metric INTEGER NOT NULL,
  ordinal INTEGER NOT NULL, step REAL, value REAL, at_ms INTEGER NOT NULL);
CREATE TABLE recent(
  trial INTEGER NOT NULL, metric INTEGER NOT NULL, seat INTEGER NOT NULL,
  attempt INTEGER NOT NULL, ordinal INTEGER NOT NULL, step REAL, value REAL,
  at_ms INTEGER NOT NULL, PRIMARY KEY(trial, metric, seat)) WITHOUT ROWID;
CREATE TABLE metrics(
  trial INTEGER NOT NULL, metric INTEGER NOT NULL, n INTEGER NOT NULL,
  not_finite INTEGER NOT NULL, first_step REAL, first_value REAL, first_ms INTEGER NOT NULL,
  last_attempt INTEGER NOT NULL, last_step REAL, last_value REAL, last_ms INTEGER NOT NULL,
  min_attempt INTEGER, min_ordinal INTEGER, min_step REAL, min_value REAL, min_ms INTEGER,
  max_attempt INTEGER, max_ordinal INTEGER, max_step REAL, max_value REAL, max_ms INTEGER,
  first_point INTEGER NOT NULL, last_point INTEGER NOT NULL,
  PRIMARY KEY(trial, metric)) WITHOUT ROWID;
CREATE TABLE positions(
  attempt INTEGER NOT NULL, source TEXT NOT NULL, offset INTEGER NOT NULL, state TEXT NOT NULL,
  PRIMARY KEY(attempt, source)) WITHOUT ROWID;
)sql";

constexpr const char* kProjection = R"sql(
CREATE TABLE spaces(
  revision INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, metric TEXT NOT NULL, goal TEXT NOT NULL,
  seed_parameter TEXT NOT NULL, command_identity TEXT NOT NULL, spec_yaml TEXT NOT NULL,
  walked_trials INTEGER);
CREATE TABLE runs(
  run INTEGER PRIMARY KEY, started_ms INTEGER NOT NULL, host TEXT NOT NULL, pid INTEGER NOT NULL,
  version TEXT NOT NULL, slots INTEGER NOT NULL, machine TEXT NOT NULL,
  details_json TEXT NOT NULL, stop_mode TEXT, stop_reason TEXT, ended_ms INTEGER,
  exit_code INTEGER, reason TEXT);
CREATE TABLE trials(
  trial INTEGER PRIMARY KEY, state TEXT NOT NULL, folder TEXT NOT NULL,
  proposal INTEGER NOT NULL, revision INTEGER NOT NULL, added INTEGER NOT NULL,
  attempts INTEGER NOT NULL, metric_missing INTEGER NOT NULL, reason TEXT NOT NULL,
  proposed_ms INTEGER NOT NULL, command_of INTEGER NOT NULL, finished_ms INTEGER,
  not_before_ms INTEGER);
CREATE TABLE parameters(
  trial INTEGER NOT NULL, position INTEGER NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL,
  spelling TEXT NOT NULL, number REAL, canonical_json TEXT,
  PRIMARY KEY(trial, position)) WITHOUT ROWID;
CREATE TABLE attempts(
  id INTEGER PRIMARY KEY, trial INTEGER NOT NULL, attempt INTEGER NOT NULL, phase TEXT NOT NULL,
  slot INTEGER NOT NULL, planned_ms INTEGER NOT NULL, planned_record INTEGER NOT NULL,
  started_ms INTEGER, started_record INTEGER, host TEXT, pid INTEGER, start_ticks INTEGER,
  boot_id TEXT, stop_cause TEXT, stop_reason TEXT, ended_ms INTEGER, outcome TEXT, code INTEGER,
  detail TEXT, wall_ms INTEGER, cpu_ms INTEGER, peak_memory INTEGER, log_bytes INTEGER,
  released_ms INTEGER);
CREATE TABLE notes(
  id INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, trial INTEGER NOT NULL, kind TEXT NOT NULL,
  text TEXT NOT NULL);
CREATE TABLE settings(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
)sql";

constexpr const char* kClear =
    "DELETE FROM spaces; DELETE FROM runs; DELETE FROM trials; DELETE FROM parameters;"
    "DELETE FROM attempts; DELETE FROM notes; DELETE FROM settings;";

}  // namespace

Status create_schema(const sqlite::Database& database) {
  const std::string sql = fmt::format("{}{}PRAGMA application_id={};PRAGMA user_version={};",
                                      kTruth, kProjection, kApplicationId, kSchemaVersion);
  return database.execute(sql.c_str());
}

Status clear_projection(const sqlite::Database& database) { return database.execute(kClear); }

Result<std::int64_t> schema_version(const sqlite::Database& database) {
  const auto application = database.integer("PRAGMA application_id");
  if (!application) return propagate(application);
  const auto version = database.integer("PRAGMA user_version");
  if (!version) return propagate(version);
  const auto tables = database.integer("SELECT count(*) FROM sqlite_master");
  if (!tables) return propagate(tables);
  if (*application == 0 && *version == 0 && *tables == 0) return 0;
  if (*application != kApplicationId) {
    return fail(ErrorCode::usage, database.path() +
                                      " is a database of another program, not a study; choose "
                                      "another folder or name");
  }
  if (*version > kSchemaVersion) {
    return fail(ErrorCode::usage,
                fmt::format("{} was written by a newer seedbed (schema {}, this version knows {}); "
                            "use that version",
                            database.path(), *version, kSchemaVersion));
  }
  return *version;
}

Result<std::int64_t> attempt_key(AttemptId id) {
  constexpr TrialNumber kMostTrials = 9'200'000'000'000;
  if (id.attempt >= kAttemptsPerTrial || id.trial > kMostTrials) {
    return fail(ErrorCode::internal,
                "attempt " + id.text() + " is beyond what the record can number");
  }
  return static_cast<std::int64_t>(id.trial) * kAttemptsPerTrial + id.attempt;
}

AttemptId attempt_of_key(std::int64_t key) {
  return {static_cast<TrialNumber>(key / kAttemptsPerTrial),
          static_cast<std::uint32_t>(key % kAttemptsPerTrial)};
}

std::int64_t record_sum(std::int64_t id, Timestamp at, std::string_view kind,
                        std::string_view body) {
  const std::uint64_t place =
      mix(static_cast<std::uint64_t>(id), static_cast<std::uint64_t>(at.ms));
  return static_cast<std::int64_t>(hash_text(body, hash_text(kind, place)) & 0xffffffff);
}

}  // namespace seedbed
