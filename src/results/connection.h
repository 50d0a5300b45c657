#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "store/sqlite.h"

namespace seedbed {

/// A study's database open for reading, in one read transaction, until it goes out of scope.
///
/// How it is opened (the first that fits):
///   1. A WAL or a journal of a dead controller that cannot be used where it lies (no shared memory
///      beside it, no permission, or a journal that would have to be rolled back): a private copy.
///   2. Nothing beside it and the folder not writable (a read-only mount): as an immutable file.
///   3. Otherwise plain reading with SQLite's locks. With a WAL this may write study.db-shm, the
///      readers' shared memory; the record itself never.
class Connection {
 public:
  [[nodiscard]] static Result<Connection> open(const std::string& study_dir);

  [[nodiscard]] const sqlite::Database& database() const { return database_; }

 private:
  struct Copy;

  std::shared_ptr<Copy> copy_;  // declared first: goes after the database
  sqlite::Database database_;
};

}  // namespace seedbed
