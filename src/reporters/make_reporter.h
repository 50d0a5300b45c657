#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "reporters/output.h"
#include "reporters/reporter.h"

namespace seedbed {

/// What a reporter must know that is not in the records.
struct ReportFacts {
  std::string study;            ///< name
  std::string study_dir;        ///< as people can type it: `studies/digits`
  std::string study_word = {};  ///< STUDY of other commands; empty: the name
  /// The line that goes on with the study, where that is more than `seedbed run --study STUDY`.
  std::string run_again = {};
  std::string version = {};  ///< of seedbed
  /// Points of the space, when known without walking it; `total_is_bound`: at most so many.
  std::optional<std::uint64_t> total = {};
  bool total_is_bound = false;
  Milliseconds grace{10'000};
  /// The run goes on already and this is a look at it: the start lines come at once.
  bool attached = false;
};

/// The last `lines` lines of an attempt's log, oldest first; nothing when it cannot be read.
/// `folder` is TrialStatus::folder.
using LogTail = std::function<std::vector<std::string>(const std::string& folder,
                                                       std::uint32_t attempt, std::size_t lines)>;

/// Plain lines: for pipes, files and terminals that cannot move their cursor. The output must live
/// longer than the reporter; `tail` may be empty.
[[nodiscard]] std::unique_ptr<Reporter> make_plain_reporter(Output& output, ReportFacts facts,
                                                            LogTail tail);

/// The live view. Hides the cursor; shows it again in `ended`, `left` and the destructor.
[[nodiscard]] std::unique_ptr<Reporter> make_live_reporter(Output& output, ReportFacts facts,
                                                           LogTail tail);

/// JSON lines (docs/reference/output-json.md).
[[nodiscard]] std::unique_ptr<Reporter> make_json_reporter(Output& output, ReportFacts facts);

/// Bytes that give a terminal back as it was; for signal handlers and after a crashed view.
inline constexpr std::string_view kRestoreTerminal = "\x1b[?7h\x1b[?25h\x1b[0m";

}  // namespace seedbed
