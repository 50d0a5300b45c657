#pragma once

#include <cstdint>

#include "base/result.h"
#include "engine/records.h"
#include "store/sqlite.h"

namespace seedbed {

/// Keeps the projected tables of study.db in step with the records; within the caller's
/// transaction. Holds no state: what it writes depends on the record and the tables alone.
class Projection {
 public:
  [[nodiscard]] static Result<Projection> prepare(const sqlite::Database& database);

  /// Applies record number `id`. MetricsReported is not its business.
  [[nodiscard]] Status apply(std::int64_t id, const Entry& entry);

 private:
  struct Applier;

  sqlite::Statement space_set_, run_started_, run_stopping_, run_ended_, trial_proposed_,
      parameter_, in_revision_, space_walked_, attempt_planned_, trial_running_, attempt_started_,
      attempt_stopping_, attempt_ended_, allocation_released_, trial_waiting_, trial_finished_,
      trial_reopened_, setting_, note_;
};

/// Makes the projected tables again from the records of the same database, in one transaction.
[[nodiscard]] Status rebuild_projection(const sqlite::Database& database);

/// Whether the projected tables hold what the records say, as far as counting shows.
[[nodiscard]] Result<bool> projection_agrees(const sqlite::Database& database);

}  // namespace seedbed
