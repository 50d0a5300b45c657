#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "store/sqlite.h"

namespace seedbed {

/// A study's database open for reading, in one read transaction, until it goes out of scope.
///
/// How it is opened: plainly, with SQLite's locks (with a WAL this may write study.db-shm, the
/// readers' shared memory; the record itself never). Where that cannot be:
///   - with a WAL or a journal that a dead controller left and that cannot be used where it lies
///   (no
///     shared memory beside it, no permission, or a journal to be rolled back first): a private
///     copy;
///   - with neither, in a folder that cannot be written: as an immutable file, without locks.
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
