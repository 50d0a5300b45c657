#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

// SQLite without its pitfalls: handles that close themselves, errors as Result, text of any bytes.
// For store/ and results/ only.

namespace seedbed::sqlite {

/// One prepared statement. Indices of parameters count from 1, of columns from 0, as in SQLite.
class Statement {
 public:
  Statement() = default;
  explicit Statement(sqlite3_stmt* handle) : handle_(handle) {}
  Statement(Statement&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Statement& operator=(Statement&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Statement();

  Statement& bind(int index, std::int64_t value);
  Statement& bind_unsigned(int index, std::uint64_t value);
  /// NaN has no REAL form in SQLite and becomes NULL; infinities are kept.
  Statement& bind_real(int index, double value);
  /// Any bytes. Valid UTF-8 without NUL is kept as TEXT, everything else as BLOB, so that every
  /// other program can read the file too. The bytes must live until the statement is reset.
  Statement& bind_text(int index, std::string_view text);
  Statement& bind_null(int index);
  /// The value of another statement's row, with its type; it is copied.
  Statement& bind_column(int index, const Statement& row, int column);

  /// True: a row is there. False: done.
  [[nodiscard]] Result<bool> step();
  /// Steps to the end and resets; for statements without rows.
  [[nodiscard]] Status run();
  void reset();
  /// Calls `take` with each row that is left. It gives nothing, or a Status; an error ends the
  /// walk.
  template <typename Take>
  [[nodiscard]] Status each(Take take);

  [[nodiscard]] bool is_null(int column) const;
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] std::uint64_t unsigned_integer(int column) const;
  [[nodiscard]] double real(int column) const;  ///< NULL is NaN
  [[nodiscard]] std::string text(int column) const;
  /// Lives until the next step or reset.
  [[nodiscard]] std::string_view view(int column) const;

 private:
  sqlite3_stmt* handle_ = nullptr;
};

enum class OpenMode {
  create,     ///< read and write; made when it is not there
  write,      ///< read and write
  read,       ///< never writes the database
  immutable,  ///< the file is taken as it stands: no lock, no WAL, no journal
};

class Database {
 public:
  Database() = default;
  Database(Database&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), path_(std::move(other.path_)) {}
  Database& operator=(Database&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(path_, other.path_);
    return *this;
  }
  ~Database();

  [[nodiscard]] static Result<Database> open(const std::string& path, OpenMode mode);

  [[nodiscard]] Result<Statement> prepare(const char* sql) const;
  [[nodiscard]] Status execute(const char* sql) const;
  /// Calls `take` with each row of a query that has no parameters, as Statement::each does.
  template <typename Take>
  [[nodiscard]] Status each(const std::string& sql, Take take) const;
  /// The first column of the first row.
  [[nodiscard]] Result<std::int64_t> integer(const char* sql) const;
  [[nodiscard]] Result<std::string> text(const char* sql) const;
  [[nodiscard]] std::int64_t last_insert_id() const;
  [[nodiscard]] bool in_transaction() const;
  /// How long a call waits for a lock of another process.
  void wait_for_locks(int milliseconds) const;
  /// Leave the WAL as it is when the last connection closes.
  void keep_wal_on_close() const;
  void close();

  [[nodiscard]] sqlite3* handle() const { return handle_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] explicit operator bool() const { return handle_ != nullptr; }

 private:
  sqlite3* handle_ = nullptr;
  std::string path_;
};

/// SQLite's result code as an error of ours: what happened to which file, and what helps.
[[nodiscard]] Error error_of(sqlite3* handle, int code);

template <typename Take>
Status Statement::each(Take take) {
  while (true) {
    const Result<bool> row = step();
    if (!row) return propagate(row);
    if (!*row) return {};
    const Statement& here = *this;
    if constexpr (std::is_void_v<decltype(take(here))>) {
      take(here);
    } else if (Status taken = take(here); !taken) {
      return taken;
    }
  }
}

template <typename Take>
Status Database::each(const std::string& sql, Take take) const {
  Result<Statement> rows = prepare(sql.c_str());
  if (!rows) return propagate(rows);
  return rows->each(std::move(take));
}

}  // namespace seedbed::sqlite
