#include "store/sqlite_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "env/posix/files.h"
#include "store/file_system.h"
#include "store/metric_rows.h"
#include "store/projection.h"
#include "store/record_codec.h"
#include "store/schema.h"

namespace seedbed {
namespace {

// The WAL is copied into the database when it is larger than this, by the thread that syncs.
constexpr off_t kCheckpointBytes = 4 << 20;

// Should nobody call sync, SQLite itself keeps the WAL below about 64 MB.
constexpr const char* kWalSetUp =
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=16384;";
constexpr const char* kRollbackSetUp = "PRAGMA journal_mode=DELETE; PRAGMA synchronous=FULL;";

// Threads: `commit`, `load`, `positions` and `close` belong to the owner; `sync` may run beside
// `commit` in another thread. It touches only the WAL's own descriptor and a second connection,
// both behind `sync_mutex_`. Syncing by descriptor is safe because frames of the WAL are chained by
// checksums: after a power cut the longest valid run up to a commit counts.
//
// The WAL is opened by us, never study.db: closing any descriptor of a file drops all locks that
// this process holds on it, and SQLite's are on study.db and study.db-shm.
class SqliteStore : public Store {
 public:
  SqliteStore(sqlite::Database database, std::string study_dir, Journal journal)
      : database_(std::move(database)), study_dir_(std::move(study_dir)), journal_(journal) {}
  SqliteStore(const SqliteStore&) = delete;
  SqliteStore& operator=(const SqliteStore&) = delete;

  ~SqliteStore() override {
    if (database_) static_cast<void>(close());
  }

  Status set_up();
  Status commit(const std::vector<Entry>& entries) override;
  Status sync() override;
  Status in_place() const override;
  Status load_records(const std::function<void(const Entry&)>& take) const override;
  Status load_points(const std::string& metric,
                     const std::function<void(const Entry&)>& take) const override;
  Result<std::vector<SourcePosition>> positions(AttemptId attempt) const override;
  Status close() override;

 private:
  Status write_all(const std::vector<Entry>& entries);
  Status add_record(const Entry& entry);
  Status sync_wal();
  Status checkpoint();

  sqlite::Database database_;
  std::string study_dir_;
  Journal journal_;
  struct stat opened_ = {};      // study.db as it was opened
  std::int64_t last_id_ = 0;     // of a committed record
  std::int64_t pending_id_ = 0;  // of a record of the transaction under way
  Projection projection_;
  MetricRows metrics_;
  sqlite::Statement begin_, commit_, rollback_, add_record_;

  std::mutex sync_mutex_;
  int wal_ = -1;
  bool sync_failed_ = false;
  sqlite::Database checkpointer_;
};

Status SqliteStore::set_up() {
  const bool wal = journal_ == Journal::wal;
  database_.wait_for_locks(10'000);
  if (const Status set = database_.execute(wal ? kWalSetUp : kRollbackSetUp); !set) return set;
  const auto mode = database_.text("PRAGMA journal_mode");
  if (!mode) return propagate(mode);
  if (wal && *mode != "wal") {
    // No shared memory here after all.
    journal_ = Journal::rollback;
    if (const Status set = database_.execute(kRollbackSetUp); !set) return set;
  }
  const auto last = database_.integer("SELECT coalesce(max(id), 0) FROM records");
  if (!last) return propagate(last);
  last_id_ = *last;
  if (::stat(database_.path().c_str(), &opened_) != 0) {
    return fail(ErrorCode::machine, fmt::format("{}: {}", database_.path(), errno_words(errno)));
  }

  auto projection = Projection::prepare(database_);
  if (!projection) return propagate(projection);
  projection_ = std::move(*projection);
  auto metrics = MetricRows::prepare(database_);
  if (!metrics) return propagate(metrics);
  metrics_ = std::move(*metrics);
  const std::pair<sqlite::Statement*, const char*> statements[] = {
      {&begin_, "BEGIN IMMEDIATE"},
      {&commit_, "COMMIT"},
      {&rollback_, "ROLLBACK"},
      {&add_record_, "INSERT INTO records(id, at_ms, kind, body, sum) VALUES(?,?,?,?,?)"},
  };
  for (const auto& [statement, sql] : statements) {
    auto prepared = database_.prepare(sql);
    if (!prepared) return propagate(prepared);
    *statement = std::move(*prepared);
  }
  return {};
}

Status SqliteStore::add_record(const Entry& entry) {
  const std::string_view kind = record_word(entry.record);
  const std::string body = encode_record(entry.record);
  const std::int64_t id = ++pending_id_;
  const Status added = add_record_.bind(1, id)
                           .bind(2, entry.at.ms)
                           .bind_text(3, kind)
                           .bind_text(4, body)
                           .bind(5, record_sum(id, entry.at, kind, body))
                           .run();
  if (!added) return added;
  return projection_.apply(id, entry);
}

Status SqliteStore::write_all(const std::vector<Entry>& entries) {
  if (const Status begun = begin_.run(); !begun) return begun;
  for (const Entry& entry : entries) {
    const auto* report = std::get_if<MetricsReported>(&entry.record);
    const Status written = report != nullptr ? metrics_.write(*report) : add_record(entry);
    if (!written) return written;
  }
  return commit_.run();
}

Status SqliteStore::commit(const std::vector<Entry>& entries) {
  SEEDBED_CHECK(database_);
  if (entries.empty()) return {};
  pending_id_ = last_id_;
  const Status written = write_all(entries);
  if (!written) {
    // A full disk may have rolled back already.
    if (database_.in_transaction()) static_cast<void>(rollback_.run());
    metrics_.forget_all();
    return tl::unexpected<Error>(written.error().with_context("while writing the records"));
  }
  last_id_ = pending_id_;
  for (const Entry& entry : entries) {
    const auto* finished = std::get_if<TrialFinished>(&entry.record);
    if (finished != nullptr) metrics_.forget(finished->trial);
  }
  return {};
}

Status SqliteStore::sync_wal() {
  const std::string path = study_dir_ + "/" + kDatabaseName + "-wal";
  if (wal_ < 0) {
    wal_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (wal_ < 0) {
      return fail(ErrorCode::machine, fmt::format("{}: {}", path, errno_words(errno)));
    }
    if (const Status synced = sync_folder(study_dir_); !synced) return synced;
  }
  if (::fdatasync(wal_) != 0) {
    return fail(ErrorCode::machine, fmt::format("{}: {}", path, errno_words(errno)));
  }
  return {};
}

Status SqliteStore::checkpoint() {
  struct stat info = {};
  if (::fstat(wal_, &info) != 0 || info.st_size < kCheckpointBytes) return {};
  if (!checkpointer_) {
    auto opened = sqlite::Database::open(database_.path(), sqlite::OpenMode::write);
    if (!opened) return propagate(opened);
    checkpointer_ = std::move(*opened);
    if (const Status set = checkpointer_.execute("PRAGMA synchronous=NORMAL"); !set) return set;
  }
  const int code = sqlite3_wal_checkpoint_v2(checkpointer_.handle(), nullptr,
                                             SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  // A reader in the way, or no room for the copy: the WAL holds it all, and the next time will do.
  const int primary = code & 0xff;
  // SQLite calls a quota and a limit on file sizes errors of writing.
  if (code == SQLITE_OK || primary == SQLITE_BUSY || primary == SQLITE_LOCKED ||
      primary == SQLITE_FULL || code == SQLITE_IOERR_WRITE) {
    return {};
  }
  return tl::unexpected<Error>(sqlite::error_of(checkpointer_.handle(), code));
}

Status SqliteStore::sync() {
  const std::scoped_lock lock(sync_mutex_);
  if (sync_failed_) {
    return fail(ErrorCode::machine, "the records of " + study_dir_ + " could not be synced before");
  }
  if (journal_ == Journal::rollback) return {};
  Status outcome = sync_wal();
  if (outcome) outcome = checkpoint();
  if (!outcome) {
    sync_failed_ = true;
    return tl::unexpected<Error>(outcome.error().with_context("while syncing the records"));
  }
  return {};
}

Status SqliteStore::in_place() const {
  struct stat now = {};
  const auto gone = [](const std::string& path, const char* what) {
    return fail(ErrorCode::damaged, fmt::format("{} was {} while the study ran", path, what));
  };
  const std::string& record = database_.path();
  if (::stat(study_dir_.c_str(), &now) != 0) {
    if (errno == ENOENT) return gone(study_dir_, "moved or removed");
    return {};  // a network disk that hangs says nothing
  }
  if (::stat(record.c_str(), &now) != 0) {
    if (errno == ENOENT) return gone(record, "moved or removed");
    return {};
  }
  if (now.st_ino != opened_.st_ino || now.st_dev != opened_.st_dev) return gone(record, "replaced");
  if (now.st_size == 0) return gone(record, "emptied");
  const std::string trials = study_dir_ + "/trials";
  if (::stat(trials.c_str(), &now) != 0 && errno == ENOENT) return gone(trials, "removed");
  return {};
}

Status SqliteStore::load_records(const std::function<void(const Entry&)>& take) const {
  return database_.each(
      "SELECT id, at_ms, kind, body, sum FROM records ORDER BY id",
      [&](const sqlite::Statement& row) -> Status {
        const std::int64_t id = row.integer(0);
        const Timestamp at{row.integer(1)};
        const std::string_view kind = row.view(2);
        const std::string_view body = row.view(3);
        const auto context = [&] { return fmt::format("record {} of {}", id, database_.path()); };
        if (record_sum(id, at, kind, body) != row.integer(4)) {
          return fail(ErrorCode::damaged, context() + ": its checksum does not hold");
        }
        auto record = decode_record(kind, body);
        if (!record) return tl::unexpected<Error>(record.error().with_context(context()));
        take(Entry{at, std::move(*record)});
        return {};
      });
}

Status SqliteStore::load_points(const std::string& metric,
                                const std::function<void(const Entry&)>& take) const {
  return seedbed::load_points(database_, metric, take);
}

Result<std::vector<SourcePosition>> SqliteStore::positions(AttemptId attempt) const {
  return load_positions(database_, attempt);
}

Status SqliteStore::close() {
  const std::scoped_lock lock(sync_mutex_);
  if (!database_) return {};
  checkpointer_.close();
  if (wal_ >= 0) ::close(wal_);
  wal_ = -1;
  projection_ = {};
  metrics_ = {};
  for (sqlite::Statement* statement : {&begin_, &commit_, &rollback_, &add_record_}) {
    *statement = {};
  }
  if (sync_failed_) {
    // What the disk holds is not known: leave it to the next start to find out.
    database_.keep_wal_on_close();
    database_.close();
    return {};
  }
  // A reader may hold on to the WAL; then the next clean end folds it in.
  Status outcome;
  database_.wait_for_locks(1000);
  if (journal_ == Journal::wal) {
    const auto mode = database_.text("PRAGMA journal_mode=DELETE");
    if (!mode && mode.error().code != ErrorCode::machine) outcome = propagate(mode);
    if (!mode || *mode != "delete") {
      const Status copied = database_.execute("PRAGMA wal_checkpoint(FULL)");
      if (!copied) outcome = copied;
    }
  }
  database_.close();
  if (outcome) outcome = sync_folder(study_dir_);
  return outcome;
}

}  // namespace

Result<std::unique_ptr<Store>> make_sqlite_store(sqlite::Database database,
                                                 const std::string& study_dir, Journal journal) {
  auto store = std::make_unique<SqliteStore>(std::move(database), study_dir, journal);
  if (const Status set = store->set_up(); !set) return propagate(set);
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace seedbed
