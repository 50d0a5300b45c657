#pragma once

#include <memory>
#include <string>
#include <utility>

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

/// Damage, wherever SQLite or a record shows it, in one sentence with what helps; any other error
/// as it is.
[[nodiscard]] Error with_advice(const std::string& study_dir, const Error& error);

/// What `read` gives of the study's database, read in one transaction. Every read of a study goes
/// through here, since damage may show at the first page or at the last row.
template <typename Read>
auto read_record(const std::string& study_dir, Read read)
    -> decltype(read(std::declval<const sqlite::Database&>())) {
  const auto connection = Connection::open(study_dir);
  if (!connection) return propagate(connection);
  auto result = read(connection->database());
  if (!result) return tl::unexpected<Error>(with_advice(study_dir, result.error()));
  return result;
}

}  // namespace seedbed
