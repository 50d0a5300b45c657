#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "env/posix/network_disk.h"
#include "store/file_system.h"
#include "store/projection.h"
#include "store/salvage.h"
#include "store/schema.h"
#include "store/sqlite_store.h"
#include "store/wal_tail.h"

namespace seedbed {
namespace {

// The part of SQLite's header that says how long the file should be. Read before SQLite opens the
// file: closing a descriptor of it later would drop SQLite's locks.
struct FileShape {
  bool readable_header = false;
  std::uint64_t page = 0;
  std::uint64_t pages = 0;  ///< 0: not known
  std::uint64_t size = 0;

  [[nodiscard]] std::uint64_t expected() const { return page * pages; }
};

std::uint32_t big_endian(const unsigned char* bytes) {
  return static_cast<std::uint32_t>(bytes[0]) << 24 | static_cast<std::uint32_t>(bytes[1]) << 16 |
         static_cast<std::uint32_t>(bytes[2]) << 8 | bytes[3];
}

FileShape shape_of(const std::string& path) {
  FileShape shape;
  shape.size = file_size(path);
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return shape;
  std::array<unsigned char, 100> header{};
  const ssize_t got = ::pread(file, header.data(), header.size(), 0);
  ::close(file);
  if (got != 100 || std::memcmp(header.data(), "SQLite format 3", 16) != 0) return shape;
  shape.readable_header = true;
  shape.page = static_cast<std::uint64_t>(header[16]) << 8 | header[17];
  if (shape.page == 1) shape.page = 65536;
  const bool pages_known = big_endian(&header[24]) == big_endian(&header[92]);
  if (pages_known) shape.pages = big_endian(&header[28]);
  return shape;
}

struct Opening {
  std::string study_dir;
  std::string path;
  bool create = false;
  bool mend = true;
  Journal journal = Journal::wal;
  std::vector<std::string> notes;

  Result<OpenedStore> open();

 private:
  tl::unexpected<Error> no_study() const {
    return fail(ErrorCode::usage, "there is no study in " + study_dir +
                                      " (no records yet); `seedbed list` shows the studies here");
  }
  Result<sqlite::Database> create_database() const;
  Result<sqlite::Database> open_sound();
  Status check_shape();
  Status check_content(const sqlite::Database& database) const;
  void note_wal_tail(const sqlite::Database& database);
};

Result<sqlite::Database> Opening::create_database() const {
  auto database = sqlite::Database::open(path, sqlite::OpenMode::create);
  if (!database) return database;
  // In rollback mode and at once on the disk: a database of size zero would make SQLite throw its
  // WAL away.
  Status made = database->execute("PRAGMA synchronous=FULL; BEGIN IMMEDIATE;");
  if (made) {
    const auto version = schema_version(*database);
    made = version && *version == 0 ? create_schema(*database) : Status(propagate(version));
  }
  if (made) made = database->execute("COMMIT");
  if (made) made = sync_folder(study_dir);
  if (!made) return propagate(made);
  return database;
}

// The length of the file against its header. With a WAL or a journal the file may be in between;
// then a broken last page is for the salvage, which has the WAL at hand.
Status Opening::check_shape() {
  const FileShape shape = shape_of(path);
  if (!shape.readable_header || shape.page == 0) return {};  // SQLite has its own words for it
  const bool at_rest = file_size(path + "-wal") == 0 && file_size(path + "-journal") == 0;
  if (at_rest && shape.pages != 0 && shape.size > shape.expected()) {
    notes.push_back(fmt::format("{} bytes behind the end of {} are no record and were passed over",
                                shape.size - shape.expected(), path));
    return {};
  }
  if (shape.size % shape.page != 0 ||
      (at_rest && shape.pages != 0 && shape.size < shape.expected())) {
    return fail(ErrorCode::damaged,
                fmt::format("{} is {} bytes long and should be {}", path, shape.size,
                            at_rest ? std::to_string(shape.expected())
                                    : fmt::format("a multiple of {}", shape.page)));
  }
  return {};
}

Status Opening::check_content(const sqlite::Database& database) const {
  const auto verdict = database.text("PRAGMA quick_check(1)");
  if (!verdict) return propagate(verdict);
  if (*verdict != "ok") return fail(ErrorCode::damaged, path + ": " + *verdict);
  auto rows = database.prepare("SELECT id, at_ms, kind, body, sum FROM records ORDER BY id");
  if (!rows) return propagate(rows);
  for (std::int64_t expected = 1;; ++expected) {
    const Result<bool> row = rows->step();
    if (!row) return propagate(row);
    if (!*row) return {};
    const std::int64_t id = rows->integer(0);
    if (id != expected) {
      return fail(ErrorCode::damaged, fmt::format("{}: record {} is missing", path, expected));
    }
    const Timestamp at{rows->integer(1)};
    if (record_sum(id, at, rows->view(2), rows->view(3)) != rows->integer(4)) {
      return fail(ErrorCode::damaged,
                  fmt::format("{}: the checksum of record {} does not hold", path, id));
    }
  }
}

void Opening::note_wal_tail(const sqlite::Database& database) {
  int frames = -1;
  const int code = sqlite3_wal_checkpoint_v2(database.handle(), nullptr, SQLITE_CHECKPOINT_PASSIVE,
                                             &frames, nullptr);
  if (code != SQLITE_OK || frames < 0) return;
  if (const auto tail = describe_wal_tail(path + "-wal", static_cast<std::uint64_t>(frames))) {
    notes.push_back("the last controller of this study did not end cleanly: " + *tail);
  }
}

// An error with code `damaged` is for the salvage.
Result<sqlite::Database> Opening::open_sound() {
  if (const Status shape = check_shape(); !shape) return propagate(shape);
  auto database = sqlite::Database::open(path, sqlite::OpenMode::write);
  if (!database) return database;
  const auto version = schema_version(*database);
  if (!version) return propagate(version);
  if (*version == 0) {
    // No tables. Who made it died before its first commit: SQLite has just rolled that back.
    return create ? create_database() : Result<sqlite::Database>(no_study());
  }
  if (file_exists(path + "-wal")) note_wal_tail(*database);
  if (const Status content = check_content(*database); !content) return propagate(content);
  return database;
}

Result<OpenedStore> Opening::open() {
  if (const Status finished = finish_salvage(study_dir); !finished) return propagate(finished);
  const bool exists = file_size(path) > 0;
  if (!exists && !create) {
    return no_study();
  }
  if (const Status locks = check_locks(study_dir); !locks) return propagate(locks);
  Result<sqlite::Database> database = exists ? open_sound() : create_database();
  if (!database && database.error().code == ErrorCode::damaged && mend) {
    auto lost = salvage(study_dir, database.error().message);
    if (!lost) return propagate(lost);
    notes.insert(notes.end(), lost->begin(), lost->end());
    database = open_sound();
  }
  if (!database) return propagate(database);
  const auto agrees = projection_agrees(*database);
  if (!agrees) return propagate(agrees);
  if (!*agrees) {
    if (const Status rebuilt = rebuild_projection(*database); !rebuilt) return propagate(rebuilt);
    notes.push_back("the tables did not agree with the records and were made again from them");
  }
  auto store = make_sqlite_store(std::move(*database), study_dir, journal);
  if (!store) return propagate(store);
  return OpenedStore{std::move(*store), std::move(notes)};
}

}  // namespace

Result<OpenedStore> open_store_as(const std::string& study_dir, bool create, Journal journal,
                                  bool mend) {
  Opening opening{study_dir, study_dir + "/" + kDatabaseName, create, mend, journal, {}};
  return opening.open();
}

Result<OpenedStore> open_store(const std::string& study_dir, bool create, bool mend) {
  return open_store_as(study_dir, create,
                       on_network_disk(study_dir) ? Journal::rollback : Journal::wal, mend);
}

}  // namespace seedbed
