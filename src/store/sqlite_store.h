#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "store/sqlite.h"
#include "store/store.h"

namespace seedbed {

/// How the database reaches the disk.
enum class Journal {
  wal,       ///< local disks: a commit is a write, `sync` makes it safe
  rollback,  ///< network disks: every commit is safe at once, and slower
};

/// The store over an open, checked database.
[[nodiscard]] Result<std::unique_ptr<Store>> make_sqlite_store(sqlite::Database database,
                                                               const std::string& study_dir,
                                                               Journal journal);

/// `open_store` with the file system's kind given instead of asked; for tests.
[[nodiscard]] Result<OpenedStore> open_store_as(const std::string& study_dir, bool create,
                                                Journal journal, bool mend = true);

}  // namespace seedbed
