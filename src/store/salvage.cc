#include "store/salvage.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <system_error>
#include <utility>

#include "env/posix/files.h"
#include "store/file_system.h"
#include "store/mend.h"
#include "store/metric_rows.h"
#include "store/projection.h"
#include "store/record_codec.h"
#include "store/schema.h"
#include "store/sqlite.h"

// The order of things on the disk
//   1. study.db.old      a copy of the damaged files, cut to whole pages; read from
//   2. study.db.new      the sound database, being written
//   3. study.db.ready    the same, complete and synced: from here on the salvage will be finished
//   4. study.db.damaged-N (-wal, -journal)   the damaged files, as they were
//   5. study.db-wal and the like go, study.db.ready becomes study.db

namespace seedbed {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSides[] = {"-wal", "-journal", "-shm"};
constexpr std::uint64_t kPage = 4096;

Status file_error(const std::string& path, const std::error_code& error) {
  return fail(ErrorCode::machine, path + ": " + error.message());
}

void remove_with_sides(const std::string& path) {
  std::error_code ignored;
  fs::remove(path, ignored);
  for (const char* side : kSides) fs::remove(path + side, ignored);
}

Status copy_with_sides(const std::string& from, const std::string& to) {
  std::error_code error;
  remove_with_sides(to);
  fs::copy_file(from, to, error);
  if (error) return file_error(to, error);
  for (const char* side : {"-wal", "-journal"}) {
    if (!file_exists(from + side)) continue;
    fs::copy_file(from + side, to + side, error);
    if (error) return file_error(to + side, error);
  }
  return {};
}

Status sync_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool synced = file >= 0 && ::fsync(file) == 0;
  const int cause = errno;
  if (file >= 0) ::close(file);
  if (!synced) return fail(ErrorCode::machine, path + ": " + errno_words(cause));
  return {};
}

// Rows of a table of which some pages cannot be read: from the front to the first bad page, from
// the back to the last one, and what lies between by number, one by one.
class TolerantReader {
 public:
  using Take = std::function<void(const sqlite::Statement& row)>;

  TolerantReader(const sqlite::Database& database, std::string table, std::string columns)
      : database_(database), table_(std::move(table)), columns_(std::move(columns)) {}

  /// For tables numbered by `id`, the first column. False when something could not be read.
  bool by_id(const Take& take) const {
    std::int64_t next = 1;
    const bool whole = scan("ORDER BY id", [&](const sqlite::Statement& row) {
      next = row.integer(0) + 1;
      take(row);
    });
    if (whole) return true;
    // The rows behind the damage, remembered by number only: they come last first.
    std::int64_t first_behind = 0;
    scan(fmt::format("WHERE id>={} ORDER BY id DESC", next),
         [&](const sqlite::Statement& row) { first_behind = row.integer(0); });
    constexpr std::int64_t kMostProbed = 10'000'000;
    const std::int64_t end = first_behind != 0 ? first_behind : next;
    for (std::int64_t id = next; id < end && id - next < kMostProbed; ++id) {
      scan(fmt::format("WHERE id={}", id), take);
    }
    if (first_behind != 0) scan(fmt::format("WHERE id>={} ORDER BY id", first_behind), take);
    return false;
  }

  /// For the others: what can be read from the front and from the back; a row may come twice.
  bool both_ways(const std::string& key, const std::string& key_descending,
                 const Take& take) const {
    if (scan("ORDER BY " + key, take)) return true;
    scan("ORDER BY " + key_descending, take);
    return false;
  }

 private:
  /// False when it ended at something unreadable.
  bool scan(const std::string& rest, const Take& take) const {
    const std::string sql = fmt::format("SELECT {} FROM {} {}", columns_, table_, rest);
    auto rows = database_.prepare(sql.c_str());
    if (!rows) return false;
    while (true) {
      const Result<bool> row = rows->step();
      if (!row) return false;
      if (!*row) return true;
      take(*rows);
    }
  }

  const sqlite::Database& database_;
  std::string table_, columns_;
};

struct Salvage {
  const sqlite::Database& from;
  const sqlite::Database& to;
  Status status{};
  std::uint64_t kept = 0, unreadable = 0, points = 0;
  std::int64_t last_seen = 0;  // number of a record
  bool metrics_whole = true;
  Mender mender{};

  void keep(Status outcome) {
    if (status && !outcome) status = std::move(outcome);
  }

  void learn_spaces();
  void copy_records();
  void copy_points();
  void copy_names();
  void copy_table(const std::string& table, const std::string& columns, int count,
                  const std::string& key, const std::string& key_descending, int trial_column,
                  std::int64_t per_trial);
  void add_missing_summaries();
};

void Salvage::learn_spaces() {
  const TolerantReader reader(
      from, "spaces", "revision, at_ms, spec_yaml, command_identity, metric, goal, seed_parameter");
  reader.both_ways("revision", "revision DESC", [&](const sqlite::Statement& row) {
    SpaceSet space;
    space.revision = static_cast<std::uint32_t>(row.integer(0));
    space.spec_yaml = row.text(2);
    space.command_identity = row.text(3);
    space.metric = row.text(4);
    space.goal = row.view(5) == "maximize" ? Goal::maximize : Goal::minimize;
    space.seed_parameter = row.text(6);
    if (space.revision != 0) mender.know({Timestamp{row.integer(1)}, space});
  });
}

void Salvage::copy_records() {
  auto add = to.prepare("INSERT INTO records(id, at_ms, kind, body, sum) VALUES(?,?,?,?,?)");
  if (!add) return keep(propagate(add));
  std::int64_t next = 1;
  Timestamp last_at;
  const auto put = [&](const std::vector<Entry>& entries) {
    for (const Entry& entry : entries) {
      const std::string_view kind = record_word(entry.record);
      const std::string body = encode_record(entry.record);
      keep(add->bind(1, next)
               .bind(2, entry.at.ms)
               .bind_text(3, kind)
               .bind_text(4, body)
               .bind(5, record_sum(next, entry.at, kind, body))
               .run());
      ++next;
    }
  };
  const TolerantReader reader(from, "records", "id, at_ms, kind, body, sum");
  reader.by_id([&](const sqlite::Statement& row) {
    const std::int64_t id = row.integer(0);
    const Timestamp at{row.integer(1)};
    if (id <= last_seen || record_sum(id, at, row.view(2), row.view(3)) != row.integer(4)) return;
    auto record = decode_record(row.view(2), row.view(3));
    if (!record) {
      if (record.error().code == ErrorCode::usage) keep(propagate(record));
      return;
    }
    unreadable += static_cast<std::uint64_t>(id - last_seen - 1);
    last_seen = id;
    last_at = at;
    put(mender.take({at, std::move(*record)}));
    ++kept;
  });
  put(mender.finish(last_at));
}

void Salvage::copy_names() {
  auto add = to.prepare("INSERT OR IGNORE INTO metric_names(id, name) VALUES(?,?)");
  if (!add) return keep(propagate(add));
  const TolerantReader reader(from, "metric_names", "id, name");
  const bool whole = reader.by_id([&](const sqlite::Statement& row) {
    const std::string name = row.text(1);
    keep(add->bind(1, row.integer(0)).bind_text(2, name).run());
  });
  metrics_whole = metrics_whole && whole;
}

void Salvage::copy_points() {
  auto add = to.prepare(
      "INSERT OR IGNORE INTO points(id, attempt, metric, ordinal, step, value, at_ms) "
      "SELECT ?1,?2,?3,?4,?5,?6,?7 WHERE EXISTS(SELECT 1 FROM metric_names WHERE id=?3)");
  if (!add) return keep(propagate(add));
  const TolerantReader reader(from, "points", "id, attempt, metric, ordinal, step, value, at_ms");
  const bool whole = reader.by_id([&](const sqlite::Statement& row) {
    if (!mender.knows(attempt_of_key(row.integer(1)).trial) || row.integer(3) < 1) return;
    for (int i = 0; i < 7; ++i) {
      if (i == 4 || i == 5) {
        add->bind_real(i + 1, row.real(i));
      } else {
        add->bind(i + 1, row.integer(i));
      }
    }
    keep(add->run());
    ++points;
  });
  metrics_whole = metrics_whole && whole;
}

// Tables whose rows belong to a trial, copied column by column with their types.
void Salvage::copy_table(const std::string& table, const std::string& columns, int count,
                         const std::string& key, const std::string& key_descending,
                         int trial_column, std::int64_t per_trial) {
  std::string places = "?";
  for (int i = 1; i < count; ++i) places += ",?";
  auto add = to.prepare(
      fmt::format("INSERT OR IGNORE INTO {}({}) VALUES({})", table, columns, places).c_str());
  if (!add) return keep(propagate(add));
  const TolerantReader reader(from, table, columns);
  const bool whole = reader.both_ways(key, key_descending, [&](const sqlite::Statement& row) {
    const auto trial = static_cast<TrialNumber>(row.integer(trial_column) / per_trial);
    if (!mender.knows(trial)) return;
    for (int i = 0; i < count; ++i) add->bind_column(i + 1, row, i);
    keep(add->run());
  });
  metrics_whole = metrics_whole && whole;
}

// A summary that could not be read is made again from the points that were kept.
void Salvage::add_missing_summaries() {
  auto rows = to.prepare(
      "SELECT p.attempt, p.metric, p.ordinal, p.step, p.value, p.at_ms, p.id, n.name FROM points p "
      "JOIN metric_names n ON n.id=p.metric WHERE NOT EXISTS(SELECT 1 FROM metrics m WHERE "
      "m.trial=p.attempt/1000000 AND m.metric=p.metric) ORDER BY p.id");
  if (!rows) return keep(propagate(rows));
  std::map<std::pair<TrialNumber, std::int64_t>, MetricSummary> summaries;
  while (true) {
    const Result<bool> row = rows->step();
    if (!row) return keep(propagate(row));
    if (!*row) break;
    const StoredPoint point{rows->integer(0), rows->unsigned_integer(2), rows->real(3),
                            rows->real(4), Timestamp{rows->integer(5)}};
    const TrialNumber trial = attempt_of_key(point.attempt).trial;
    summaries[{trial, rows->integer(1)}].add(point, rows->integer(6));
  }
  for (const auto& [key, summary] : summaries) {
    keep(put_summary(to, key.first, key.second, summary));
  }
}

std::string describe_put_back(const std::vector<TrialNumber>& trials) {
  constexpr std::size_t kNamed = 10;
  std::string names;
  for (std::size_t i = 0; i < std::min(trials.size(), kNamed); ++i) {
    names += fmt::format("{}{}", i == 0 ? "" : ", ", trials[i]);
  }
  if (trials.size() > kNamed) names += fmt::format(" and {} more", trials.size() - kNamed);
  return trials.size() == 1
             ? fmt::format("what became of trial {} could not be read: it waits to be run again",
                           names)
             : fmt::format("what became of trials {} could not be read: they wait to be run again",
                           names);
}

Result<std::vector<std::string>> copy_all(const std::string& old_path, const std::string& new_path,
                                          const std::string& problem) {
  auto from = sqlite::Database::open(old_path, sqlite::OpenMode::write);
  if (!from) return propagate(from);
  // Without this SQLite refuses a file that is shorter than its header says.
  if (const Status set = from->execute("PRAGMA writable_schema=ON"); !set) return propagate(set);
  const auto version = schema_version(*from);
  if (!version) return propagate(version);
  if (*version == 0) return fail(ErrorCode::damaged, problem);

  auto to = sqlite::Database::open(new_path, sqlite::OpenMode::create);
  if (!to) return propagate(to);
  Status made = to->execute("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN;");
  if (made) made = create_schema(*to);
  if (!made) return propagate(made);
  Salvage work{*from, *to};
  work.learn_spaces();
  work.copy_records();
  work.copy_names();
  work.copy_points();
  const std::string summary = fmt::format("trial, metric, {}", kSummaryColumns);
  work.copy_table("metrics", summary, 23, "trial, metric", "trial DESC, metric DESC", 0, 1);
  work.copy_table("recent", "trial, metric, seat, attempt, ordinal, step, value, at_ms", 8,
                  "trial, metric, seat", "trial DESC, metric DESC, seat DESC", 0, 1);
  work.copy_table("positions", "attempt, source, offset, state", 4, "attempt, source",
                  "attempt DESC, source DESC", 0, kAttemptsPerTrial);
  work.add_missing_summaries();
  if (work.status) work.status = to->execute("COMMIT");
  if (work.status) work.status = rebuild_projection(*to);
  if (!work.status) return propagate(work.status);

  std::vector<std::string> notes;
  const auto counted = [](std::uint64_t count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  if (work.kept == 0) {
    notes.push_back(
        fmt::format("the record was damaged ({}) and none of it could be saved", problem));
  } else {
    notes.push_back(fmt::format(
        "the record was damaged ({}); {} and {} were saved{}; what came after record {}, if "
        "anything, is lost",
        problem, counted(work.kept, "record"), counted(work.points, "metric point"),
        work.unreadable == 0
            ? std::string()
            : ", " + counted(work.unreadable, "record") + " in between could not be read",
        work.last_seen));
  }
  if (!work.metrics_whole) {
    notes.push_back(
        "metric values could not all be read, but the trials' logs hold them: move study.db away, "
        "and the next run takes ends and values from the trials' folders");
  }
  if (work.mender.left_out() != 0) {
    notes.push_back(fmt::format("{} record{} left out because what {} about is missing",
                                work.mender.left_out(),
                                work.mender.left_out() == 1 ? " was" : "s were",
                                work.mender.left_out() == 1 ? "it is" : "they are"));
  }
  if (work.mender.added() != 0) {
    notes.push_back(
        fmt::format("{} records that the others prove were added", work.mender.added()));
  }
  if (!work.mender.put_back().empty()) notes.push_back(describe_put_back(work.mender.put_back()));
  return notes;
}

std::string free_name(const std::string& path) {
  for (int number = 1;; ++number) {
    std::string name = fmt::format("{}.damaged-{}", path, number);
    if (!file_exists(name)) return name;
  }
}

}  // namespace

Status finish_salvage(const std::string& study_dir) {
  const std::string path = study_dir + "/" + kDatabaseName;
  if (!file_exists(path + ".ready")) return {};
  std::error_code error;
  for (const char* side : kSides) {
    fs::remove(path + side, error);
    if (error) return file_error(path + side, error);
  }
  if (const Status synced = sync_folder(study_dir); !synced) return synced;
  fs::rename(path + ".ready", path, error);
  if (error) return file_error(path, error);
  remove_with_sides(path + ".old");
  return sync_folder(study_dir);
}

Result<std::vector<std::string>> salvage(const std::string& study_dir, const std::string& problem) {
  const std::string path = study_dir + "/" + kDatabaseName;
  const std::string old_path = path + ".old";
  const std::string new_path = path + ".new";
  remove_with_sides(new_path);
  if (const Status copied = copy_with_sides(path, old_path); !copied) return propagate(copied);
  std::error_code error;
  fs::resize_file(old_path, file_size(old_path) / kPage * kPage, error);
  auto notes = copy_all(old_path, new_path, problem);
  remove_with_sides(old_path);
  if (!notes) {
    remove_with_sides(new_path);
    if (notes.error().code != ErrorCode::damaged) return notes;
    return fail(
        ErrorCode::damaged,
        fmt::format("{} cannot be read ({}); nothing was changed. Put a copy of it back, or "
                    "move it away to begin anew: the trials' folders stay as they are",
                    path, problem));
  }
  if (const Status synced = sync_file(new_path); !synced) return propagate(synced);
  const std::string kept_path = free_name(path);
  if (const Status copied = copy_with_sides(path, kept_path); !copied) return propagate(copied);
  fs::rename(new_path, path + ".ready", error);
  if (error) return propagate(file_error(path, error));
  if (const Status finished = finish_salvage(study_dir); !finished) return propagate(finished);
  notes->push_back("the damaged file is kept as " + kept_path);
  return notes;
}

}  // namespace seedbed
