#include "results/connection.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/text.h"
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

enum class Way { plain, copy };

Way way_of(const std::string& path) {
  if (file_size(path + "-wal") > 0) {
    // Whoever uses a WAL keeps its shared memory beside it; a WAL alone is what a copy or a crash
    // of the machine left.
    const std::string shared = path + "-shm";
    return ::access(shared.c_str(), R_OK) == 0 ? Way::plain : Way::copy;
  }
  return Way::plain;
}

// A controller that died before its first commit leaves an empty file: then nothing is lost.
bool has_trials(const std::string& study_dir) {
  std::error_code none;
  return fs::directory_iterator(study_dir + "/trials", none) != fs::directory_iterator();
}

Error unreadable(const std::string& path, const std::string& study_dir, const Error& error) {
  if (error.code == ErrorCode::damaged) return with_advice(study_dir, error);
  return error.message.find(path) == std::string::npos ? error.with_context(path) : error;
}

// Begins the read transaction; this is where SQLite looks at the file.
Status begin(const sqlite::Database& database) {
  if (const Status begun = database.execute("PRAGMA query_only=1; PRAGMA cache_size=-256; BEGIN");
      !begun)
    return begun;
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

Status copy_files(const std::string& path, const std::string& target) {
  for (const char* side : {"", "-wal", "-journal"}) {
    std::error_code error;
    fs::remove(target + side, error);
    if (!file_exists(path + side)) continue;
    fs::copy_file(path + side, target + side, error);
    if (error) {
      return fail(ErrorCode::machine,
                  "while making a private copy of " + path + side + ": " + error.message());
    }
  }
  return {};
}

Result<std::string> copy_to_private_folder(const std::string& path) {
  std::error_code error;
  std::string folder = (fs::temp_directory_path(error) / "seedbed-look-XXXXXX").string();
  if (error || ::mkdtemp(folder.data()) == nullptr) {
    return fail(ErrorCode::machine, "cannot make a folder for a private copy in " + folder +
                                        "; set TMPDIR to a folder that can be written");
  }
  // A WAL that grows meanwhile does no harm; a database that was written to meanwhile is not of one
  // moment with the copied WAL.
  constexpr int kMostTries = 5;
  Status copied;
  for (int tries = 0; tries < kMostTries; ++tries) {
    const auto before = fs::last_write_time(path, error);
    copied = copy_files(path, folder + "/" + kDatabaseName);
    if (!copied || fs::last_write_time(path, error) == before) break;
  }
  if (!copied) {
    fs::remove_all(folder, error);
    return propagate(copied);
  }
  return folder;
}

}  // namespace

Error with_advice(const std::string& study_dir, const Error& error) {
  if (error.code != ErrorCode::damaged) return error;
  const std::string path = study_dir + "/" + kDatabaseName;
  std::string what = error.message;
  if (what.starts_with(path + ": ")) what.erase(0, path.size() + 2);
  return {ErrorCode::damaged,
          fmt::format("the record of this study is damaged: {} ({}); what can be repaired is "
                      "repaired, and the damaged file kept, by: seedbed run --study {}",
                      path, what, shell_quote(study_dir))};
}

Result<Connection> Connection::open(const std::string& study_dir) {
  const std::string path = study_dir + "/" + kDatabaseName;
  if (file_size(path) == 0) {
    if (has_trials(study_dir)) {
      const char* how = file_exists(path) ? "it is empty" : "it is missing";
      return tl::unexpected<Error>(with_advice(
          study_dir, {ErrorCode::damaged, fmt::format("{}, but there are trials", how)}));
    }
    return fail(ErrorCode::usage, "there is no study in " + study_dir +
                                      " (no study.db); `seedbed list` shows the studies here");
  }
  Connection connection;
  if (way_of(path) == Way::plain) {
    auto database = open_way(path, sqlite::OpenMode::read);
    const bool beside = file_size(path + "-journal") > 0 || file_size(path + "-wal") > 0;
    const bool locked_out = !database && database.error().code == ErrorCode::machine;
    if (locked_out && !beside && ::access(study_dir.c_str(), W_OK) != 0) {
      database = open_way(path, sqlite::OpenMode::immutable);
    }
    if (database) {
      connection.database_ = std::move(*database);
      return connection;
    }
    // A journal that a dead controller left must be rolled back first: in a copy, not here.
    if (!locked_out || !beside)
      return tl::unexpected<Error>(unreadable(path, study_dir, database.error()));
  }
  auto folder = copy_to_private_folder(path);
  if (!folder) return propagate(folder);
  connection.copy_ = std::make_shared<Copy>();
  connection.copy_->folder = *folder;
  auto database = open_way(*folder + "/" + kDatabaseName, sqlite::OpenMode::write);
  if (!database) return tl::unexpected<Error>(unreadable(path, study_dir, database.error()));
  connection.database_ = std::move(*database);
  return connection;
}

}  // namespace seedbed
