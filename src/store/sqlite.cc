#include "store/sqlite.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/text.h"
#include "env/posix/files.h"

namespace seedbed::sqlite {
namespace {

ErrorCode code_of(int code) {
  switch (code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
      return ErrorCode::damaged;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_NOMEM:
    case SQLITE_NOLFS:
    case SQLITE_PROTOCOL:
      return ErrorCode::machine;
    default:
      return ErrorCode::internal;
  }
}

std::string remedy(int code) {
  switch (code & 0xff) {
    case SQLITE_FULL:
      return "make room on the disk";
    case SQLITE_BUSY:
      return "another program keeps it locked; end that program";
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
      return "check the permissions of the file and its folder";
    case SQLITE_IOERR:
      return "the disk refused; look for a full disk, a quota or a file-size limit";
    default:
      return {};
  }
}

std::string escape_for_uri(const std::string& path) {
  std::string uri = !path.empty() && path.front() == '/' ? "file://" : "file:";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                       (byte >= '0' && byte <= '9') || std::strchr("/._-", c) != nullptr;
    if (plain && c != '\0') {
      uri.push_back(c);
    } else {
      uri += fmt::format("%{:02x}", byte);
    }
  }
  return uri;
}

}  // namespace

Error error_of(sqlite3* handle, int code) {
  const char* file = handle != nullptr ? sqlite3_db_filename(handle, "main") : nullptr;
  std::string message = file != nullptr && *file != '\0' ? std::string(file) + ": " : "";
  message += sqlite3_errstr(code);
  if (handle != nullptr && sqlite3_errcode(handle) == (code & 0xff)) {
    const std::string detail = sqlite3_errmsg(handle);
    if (detail != sqlite3_errstr(code)) message += " (" + detail + ")";
  }
  const int system = handle != nullptr ? sqlite3_system_errno(handle) : 0;
  const bool about_files = code_of(code) == ErrorCode::machine && (code & 0xff) != SQLITE_BUSY;
  if (about_files && system != 0) message += fmt::format(" ({})", errno_words(system));
  if (const std::string help = remedy(code); !help.empty()) message += "; " + help;
  return {code_of(code), std::move(message)};
}

Statement::~Statement() { sqlite3_finalize(handle_); }

Statement& Statement::bind(int index, std::int64_t value) {
  sqlite3_bind_int64(handle_, index, value);
  return *this;
}

Statement& Statement::bind_unsigned(int index, std::uint64_t value) {
  return bind(index, static_cast<std::int64_t>(value));
}

Statement& Statement::bind_real(int index, double value) {
  sqlite3_bind_double(handle_, index, value);
  return *this;
}

Statement& Statement::bind_text(int index, std::string_view text) {
  const char* data = text.data() != nullptr ? text.data() : "";
  const bool plain = text.find('\0') == std::string_view::npos && is_valid_utf8(text);
  if (plain) {
    sqlite3_bind_text64(handle_, index, data, text.size(), SQLITE_STATIC, SQLITE_UTF8);
  } else {
    sqlite3_bind_blob64(handle_, index, data, text.size(), SQLITE_STATIC);
  }
  return *this;
}

Statement& Statement::bind_null(int index) {
  sqlite3_bind_null(handle_, index);
  return *this;
}

Statement& Statement::bind_column(int index, const Statement& row, int column) {
  sqlite3_bind_value(handle_, index, sqlite3_column_value(row.handle_, column));
  return *this;
}

Result<bool> Statement::step() {
  const int code = sqlite3_step(handle_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  sqlite3* database = sqlite3_db_handle(handle_);
  return tl::unexpected<Error>(error_of(database, sqlite3_extended_errcode(database)));
}

Status Statement::run() {
  const Result<bool> outcome = step();
  reset();
  if (!outcome) return propagate(outcome);
  return {};
}

void Statement::reset() { sqlite3_reset(handle_); }

bool Statement::is_null(int column) const {
  return sqlite3_column_type(handle_, column) == SQLITE_NULL;
}

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(handle_, column); }

std::uint64_t Statement::unsigned_integer(int column) const {
  return static_cast<std::uint64_t>(sqlite3_column_int64(handle_, column));
}

double Statement::real(int column) const {
  if (is_null(column)) return std::numeric_limits<double>::quiet_NaN();
  return sqlite3_column_double(handle_, column);
}

std::string Statement::text(int column) const { return std::string(view(column)); }

std::string_view Statement::view(int column) const {
  const void* data = sqlite3_column_blob(handle_, column);
  const int size = sqlite3_column_bytes(handle_, column);
  if (data == nullptr || size <= 0) return {};
  return {static_cast<const char*>(data), static_cast<std::size_t>(size)};
}

Database::~Database() { close(); }

void Database::close() {
  sqlite3_close_v2(handle_);
  handle_ = nullptr;
}

Result<Database> Database::open(const std::string& path, OpenMode mode) {
  // A connection belongs to one thread at a time, so it needs no mutex of its own.
  int flags = SQLITE_OPEN_URI | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_NOMUTEX;
  std::string uri = escape_for_uri(path);
  switch (mode) {
    case OpenMode::create:
      flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
      break;
    case OpenMode::write:
      flags |= SQLITE_OPEN_READWRITE;
      break;
    case OpenMode::read:
      flags |= SQLITE_OPEN_READONLY;
      break;
    case OpenMode::immutable:
      flags |= SQLITE_OPEN_READONLY;
      uri += "?immutable=1";
      break;
  }
  Database database;
  database.path_ = path;
  const int code = sqlite3_open_v2(uri.c_str(), &database.handle_, flags, nullptr);
  if (code != SQLITE_OK) {
    Error error = error_of(database.handle_, code);
    if (error.message.find(path) == std::string::npos) error = error.with_context(path);
    return tl::unexpected<Error>(std::move(error));
  }
  database.wait_for_locks(5000);
  return database;
}

Result<Statement> Database::prepare(const char* sql) const {
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v3(handle_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) return tl::unexpected<Error>(error_of(handle_, code));
  return Statement(statement);
}

Status Database::execute(const char* sql) const {
  const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return tl::unexpected<Error>(error_of(handle_, code));
  return {};
}

Result<std::int64_t> Database::integer(const char* sql) const {
  Result<Statement> statement = prepare(sql);
  if (!statement) return propagate(statement);
  const Result<bool> row = statement->step();
  if (!row) return propagate(row);
  return *row ? statement->integer(0) : 0;
}

Result<std::string> Database::text(const char* sql) const {
  Result<Statement> statement = prepare(sql);
  if (!statement) return propagate(statement);
  const Result<bool> row = statement->step();
  if (!row) return propagate(row);
  return *row ? statement->text(0) : std::string();
}

std::int64_t Database::last_insert_id() const { return sqlite3_last_insert_rowid(handle_); }

bool Database::in_transaction() const { return sqlite3_get_autocommit(handle_) == 0; }

void Database::wait_for_locks(int milliseconds) const {
  sqlite3_busy_timeout(handle_, milliseconds);
}

void Database::keep_wal_on_close() const {
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

}  // namespace seedbed::sqlite
