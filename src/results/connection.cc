#include "results/connection.h"

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "store/file_system.h"
#include "store/schema.h"

namespace seedbed {

namespace fs = std::filesystem;

// A folder of our own, gone when the connection is.
struct Connection::Copy {
  std::string folder;
  ~Copy() {
    std::error_code ignored;
    if (!folder.empty()) fs::remove_all(folder, ignored);
  }
};

namespace {

enum class Way { plain, immutable, copy };

Way way_of(const std::string& study_dir, const std::string& path) {
  const bool folder_writable = ::access(study_dir.c_str(), W_OK) == 0;
  if (file_size(path + "-wal") > 0) {
    // Whoever uses a WAL keeps its shared memory beside it; a WAL alone is what a copy or a crash
    // of the machine left.
    const std::string shared = path + "-shm";
    const bool usable = file_exists(shared) && ::access(shared.c_str(), R_OK | W_OK) == 0;
    return usable ? Way::plain : Way::copy;
  }
  if (!folder_writable) return Way::immutable;
  return Way::plain;
}

Error unreadable(const std::string& path, const Error& error) {
  if (error.code == ErrorCode::damaged) {
    return {ErrorCode::damaged, "the record of this study is damaged (" + error.message +
                                    "); `seedbed run` saves what can be saved and keeps the rest"};
  }
  return error.message.find(path) == std::string::npos ? error.with_context(path) : error;
}

// Begins the read transaction; this is where SQLite looks at the file.
Status begin(const sqlite::Database& database) {
  if (const Status begun = database.execute("PRAGMA query_only=1; BEGIN"); !begun) return begun;
  const auto version = schema_version(database);
  if (!version) return propagate(version);
  if (*version == 0) {
    return fail(ErrorCode::usage, database.path() + " holds no study yet; `seedbed run` makes one");
  }
  return {};
}

Result<sqlite::Database> open_way(const std::string& path, sqlite::OpenMode mode) {
  auto database = sqlite::Database::open(path, mode);
  if (!database) return database;
  database->keep_wal_on_close();
  if (const Status begun = begin(*database); !begun) return propagate(begun);
  return database;
}

Result<std::string> copy_to_private_folder(const std::string& path) {
  std::error_code error;
  std::string folder = (fs::temp_directory_path(error) / "seedbed-look-XXXXXX").string();
  if (error || ::mkdtemp(folder.data()) == nullptr) {
    return fail(ErrorCode::machine, "cannot make a folder for a private copy in " + folder +
                                        "; set TMPDIR to a folder that can be written");
  }
  const std::string target = folder + "/" + kDatabaseName;
  for (const char* side : {"", "-wal", "-journal"}) {
    if (!file_exists(path + side)) continue;
    fs::copy_file(path + side, target + side, error);
    if (error) {
      std::error_code ignored;
      fs::remove_all(folder, ignored);
      return fail(ErrorCode::machine,
                  "while making a private copy of " + path + side + ": " + error.message());
    }
  }
  return folder;
}

}  // namespace

Result<Connection> Connection::open(const std::string& study_dir) {
  const std::string path = study_dir + "/" + kDatabaseName;
  if (file_size(path) == 0) {
    return fail(ErrorCode::usage, "there is no study in " + study_dir +
                                      " (no study.db); `seedbed list` shows the studies here");
  }
  Connection connection;
  const Way way = way_of(study_dir, path);
  if (way != Way::copy) {
    auto database = open_way(
        path, way == Way::immutable ? sqlite::OpenMode::immutable : sqlite::OpenMode::read);
    if (database) {
      connection.database_ = std::move(*database);
      return connection;
    }
    // A journal that a dead controller left must be rolled back first: in a copy, not here.
    const bool copy_may_help = database.error().code == ErrorCode::machine &&
                               (file_exists(path + "-journal") || file_exists(path + "-wal"));
    if (!copy_may_help) return tl::unexpected<Error>(unreadable(path, database.error()));
  }
  auto folder = copy_to_private_folder(path);
  if (!folder) return propagate(folder);
  connection.copy_ = std::make_shared<Copy>();
  connection.copy_->folder = *folder;
  auto database = open_way(*folder + "/" + kDatabaseName, sqlite::OpenMode::write);
  if (!database) return tl::unexpected<Error>(unreadable(path, database.error()));
  connection.database_ = std::move(*database);
  return connection;
}

}  // namespace seedbed
