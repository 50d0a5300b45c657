#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/records.h"

namespace seedbed {

/// The durable record of a study, for its one writer. Readers use results/.
class Store {
 public:
  virtual ~Store() = default;

  /// Commits the entries in one transaction, all or none: after success they survive the death of
  /// this process, and after the next `sync` a power cut. A full disk is an error with code
  /// `machine`; nothing was written then and the same call may be repeated.
  [[nodiscard]] virtual Status commit(const std::vector<Entry>& entries) = 0;

  /// Makes what was committed before the call survive a power cut. May be called from a worker
  /// thread while the owner commits. A failure is final: do not go on.
  [[nodiscard]] virtual Status sync() = 0;

  /// Whether the record and the trials' folder are still where they were opened. An error says what
  /// is gone: what is committed from then on goes to files that nobody finds.
  [[nodiscard]] virtual Status in_place() const { return {}; }

  /// Gives every entry but MetricsReported, in the order of commitment.
  [[nodiscard]] virtual Status load_records(
      const std::function<void(const Entry&)>& take) const = 0;
  /// Gives the points of one metric as MetricsReported entries, a bounded number in each.
  [[nodiscard]] virtual Status load_points(const std::string& metric,
                                           const std::function<void(const Entry&)>& take) const = 0;
  /// The records, then the points of `metric` (empty: none).
  [[nodiscard]] Status load(const std::string& metric,
                            const std::function<void(const Entry&)>& take) const {
    const Status records = load_records(take);
    return records && !metric.empty() ? load_points(metric, take) : records;
  }

  /// How far the sources of an attempt had been read.
  [[nodiscard]] virtual Result<std::vector<SourcePosition>> positions(AttemptId attempt) const = 0;

  /// Clean end: leaves one plain file without WAL.
  [[nodiscard]] virtual Status close() = 0;
};

/// Opens STUDY/study.db for writing, creating it when `create`. Checks integrity, drops a torn
/// tail, saves what can be saved of a damaged file (and says so in `notes`), refuses other schemas
/// and file systems whose locks do not work. The caller holds the study's lock.
struct OpenedStore {
  std::unique_ptr<Store> store;
  std::vector<std::string> notes;  ///< what was dropped or repaired, for people
};
/// Without `mend` a damaged file is an error and stays as it is.
[[nodiscard]] Result<OpenedStore> open_store(const std::string& study_dir, bool create,
                                             bool mend = true);

}  // namespace seedbed
