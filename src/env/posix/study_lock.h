#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "env/posix/files.h"

namespace seedbed {

/// Who holds, or held, a study.
struct LockHolder {
  std::int64_t pid = 0;
  std::uint64_t start_ticks = 0;
  std::string boot_id;
  std::string host;
  std::string since;    ///< `2026-01-31T12:00:00.250Z`
  std::string command;  ///< one line

  bool operator==(const LockHolder&) const = default;
};

/// `seedbed.lock` in the study's folder: one controller per study. Two things together: a lock on
/// the open file (gone with the process, however it dies) and its text (for people, and for disks
/// that several hosts share, where the lock of one host may not be seen by another). The file stays
/// when it is released, empty: removing it would race with the next holder.
class StudyLock {
 public:
  struct Options {
    std::string command;  ///< of this controller, for others to read
    Timestamp now;
    bool take_over = false;  ///< `--take-over`: also from a holder on another host
  };

  /// Errors: `in_use` while another controller lives here, or may live on another host;
  /// `machine` where locks do not work or the file cannot be written. A dead holder of this host is
  /// replaced silently: see `previous`.
  [[nodiscard]] static Result<StudyLock> acquire(const std::string& study_dir,
                                                 const Options& options);

  StudyLock(StudyLock&&) = default;
  StudyLock& operator=(StudyLock&&) = default;
  ~StudyLock();  ///< releases

  /// A holder that died without releasing.
  [[nodiscard]] const std::optional<LockHolder>& previous() const { return previous_; }

  /// The live controller of the study, if there is one (or may be: another host). For `status`,
  /// `list`; takes and changes nothing.
  [[nodiscard]] static std::optional<LockHolder> holder(const std::string& study_dir);

 private:
  StudyLock() = default;

  Descriptor file_;
  std::optional<LockHolder> previous_;
};

/// The text of the lock file, for tests and `doctor`. Nothing for an empty or foreign text.
[[nodiscard]] std::string encode_lock(const LockHolder& holder);
[[nodiscard]] std::optional<LockHolder> decode_lock(std::string_view text);

}  // namespace seedbed
