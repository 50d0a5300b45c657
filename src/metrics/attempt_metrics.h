#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "metrics/file_follower.h"
#include "study/study_spec.h"

// All metrics of one attempt: its log, the client's metric file and the captured files, followed
// while it runs. The controller makes one of these per running attempt, polls it, commits what it
// gives in one record, and drains it when the attempt has ended.

namespace seedbed {

/// A metric's value and when it was read.
struct MetricSample {
  std::string name;
  double step = 0;
  double value = 0;  ///< may be NaN or infinite
  Timestamp at;
};

/// How far one source has been read. To be committed together with the samples it came with:
/// resuming from it gives every later point exactly once.
struct ReadPosition {
  std::string source;        ///< `log`, `client`, or `file:` and a captured file's name
  std::uint64_t offset = 0;  ///< bytes
  std::string state;         ///< opaque, printable ASCII

  bool operator==(const ReadPosition&) const = default;
};

/// What an attempt's metrics are read from. A path that is empty is no source; one that does not
/// exist (yet) is waited for.
struct AttemptSources {
  struct File {
    std::string name;  ///< as written in `capture:`; its ending decides the format
    std::string path;  ///< after placeholders, absolute
  };
  std::string log_path;
  std::string client_path;  ///< $SEEDBED_METRICS
  std::vector<File> files;
  std::vector<CaptureSpec> capture;  ///< the patterns among them are for the log
  int ranks = 1;                     ///< processes that may all write the captured files
};

struct MetricsRead {
  std::vector<MetricSample> samples;    ///< in order within each source
  std::vector<ReadPosition> positions;  ///< of the sources that moved

  [[nodiscard]] bool empty() const { return samples.empty() && positions.empty(); }
};

/// Not thread-safe. Holds no file open between calls.
///
/// A name that several sources give belongs to the highest of them: the client's file, then a
/// captured file (in the order of `capture:`), then the log. From the moment it gives the name,
/// points of that name from lower sources are dropped; those given before stay.
///
/// A captured file of an attempt of several ranks in which a step comes again is taken to be
/// written by all of them: nothing more is read from it, and a note says so (case G7).
class AttemptMetrics {
 public:
  /// `positions`: what earlier polls of the same attempt gave, the latest of each source; empty for
  /// a new attempt. Errors: a pattern that does not compile (usage), a position that cannot be
  /// read (damaged).
  [[nodiscard]] static Result<std::unique_ptr<AttemptMetrics>> make(
      const AttemptSources& sources, const std::vector<ReadPosition>& positions);

  /// For a later attempt of a trial, whose files are shared with the earlier ones (all but the
  /// log): the last positions of the attempt before, made into starting positions, so that what
  /// that attempt wrote is not read as this one's. The first poll gives them back as this
  /// attempt's.
  [[nodiscard]] static std::vector<ReadPosition> for_next_attempt(
      const std::vector<ReadPosition>& last);

  /// Reads at most about 1 MiB per source. Nothing when there is nothing to commit. When nothing
  /// changed it costs one stat per source.
  [[nodiscard]] std::optional<MetricsRead> poll(Timestamp now);

  /// The last poll stopped at its limit: poll again soon.
  [[nodiscard]] bool behind() const { return behind_; }

  /// Final drain, after the attempt has ended: call until `done()`, each call bounded as `poll`.
  /// What was pending without a line end counts then.
  [[nodiscard]] std::optional<MetricsRead> finish(Timestamp now);
  [[nodiscard]] bool done() const { return done_; }

  /// Every metric name any source gave, sorted: for "metric missing" messages.
  [[nodiscard]] std::vector<std::string> names_seen() const;

  /// The log holds a Python traceback, a Rust panic or a C++ terminate message.
  [[nodiscard]] bool traceback_seen() const;

  /// The first line of the log that the user's text for a failure is found in; empty: none.
  [[nodiscard]] std::string failure_line() const;

  /// Oddities for people, each once: `out/progress.csv: 3 rows have more fields than columns`.
  [[nodiscard]] std::vector<std::string> take_notes();

 private:
  struct Source {
    std::string name;
    std::unique_ptr<FileFollower> follower;
    std::uint64_t reported_offset = 0;             ///< of the position given last
    bool of_ranks = false;                         ///< all ranks may write it
    bool mixed = false;                            ///< they do
    std::map<std::string, double> last_step = {};  ///< of each name, where `of_ranks`
    bool inherited = false;  ///< starts where an earlier attempt ended, and has not said so yet
  };

  AttemptMetrics() = default;
  Status add_source(std::string_view name, const std::string& path, SourceFormat format,
                    const std::vector<CaptureSpec>& capture,
                    const std::vector<ReadPosition>& positions);
  void take(std::size_t rank, std::vector<ParsedPoint>& points, Timestamp now, MetricsRead& read);
  /// Whether a step of these points has been before.
  static bool repeats_step(Source& source, const std::vector<ParsedPoint>& points);
  void note_position(Source& source, bool has_points, MetricsRead& read);

  std::vector<Source> sources_;                            ///< highest rank first
  std::map<std::string, std::size_t, std::less<>> owner_;  ///< name → index of its source
  bool behind_ = false;
  bool done_ = false;
};

}  // namespace seedbed
