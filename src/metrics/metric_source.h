#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "study/study_spec.h"

namespace seedbed {

/// A point as a parser reads it.
struct ParsedPoint {
  std::string name;  ///< valid UTF-8
  double step = 0;   ///< finite
  double value = 0;  ///< may be NaN or infinite
};

/// Turns the bytes of one file into points. Pure; memory bounded whatever the bytes are (a piece
/// longer than 64 KiB without an end of line is matched in parts or skipped, and counted).
class MetricParser {
 public:
  virtual ~MetricParser() = default;

  /// Takes the next bytes, in pieces of any size: the points do not depend on how they are cut.
  virtual void feed(std::string_view bytes, std::vector<ParsedPoint>& points) = 0;

  /// No more bytes will come: what is pending without a line end counts now.
  virtual void finish(std::vector<ParsedPoint>& points) = 0;

  /// The file was truncated or replaced: what comes next starts a new file. Points already seen
  /// (same content replayed from the start by a rename) are not given again; to know them, a few
  /// may be held back until the new file differs, goes beyond the old one, or ends.
  virtual void restart() = 0;

  /// What comes next is written by another attempt to the same file: if it starts the file again,
  /// its points are given even where they repeat earlier ones.
  virtual void next_attempt() = 0;

  /// Everything needed to go on after a restart of ours at the same offset.
  [[nodiscard]] virtual std::string state() const = 0;
  [[nodiscard]] virtual Status restore(std::string_view state) = 0;

  /// Every metric name seen so far, sorted.
  [[nodiscard]] virtual std::vector<std::string> names() const = 0;

  /// The text holds a crash report: a Python traceback, a Rust panic, a C++ terminate.
  [[nodiscard]] virtual bool traceback_seen() const { return false; }

  /// The first line in which the user's text for a failure is found, shortened; empty: none.
  [[nodiscard]] virtual std::string failure_line() const { return {}; }

  /// Oddities for people, each once: ragged rows, repeated headers, skipped bytes.
  [[nodiscard]] virtual std::vector<std::string> take_notes() = 0;
};

/// Which parser reads a source.
enum class SourceFormat { output_lines, json_lines, csv, tsv };

/// By name: `.jsonl`, `.json`, `.ndjson` → json_lines, `.csv` → csv, `.txt`, `.tsv`, `.tab`, `.dat`
/// → tsv; anything else (`.log`, `.out`, no ending) → output_lines.
[[nodiscard]] SourceFormat format_of(std::string_view file_name);

/// `capture` gives the user's patterns for output lines (RE2; named groups are metrics, group names
/// with `_` stand as they are). Step columns: step, epoch, iteration, iter, TotalEnvInteracts,
/// global_step, … ; where there is none, each metric's own running number from 1.
[[nodiscard]] Result<std::unique_ptr<MetricParser>> make_parser(
    SourceFormat format, const std::vector<CaptureSpec>& capture);

}  // namespace seedbed
