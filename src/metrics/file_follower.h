#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "metrics/metric_source.h"
#include "metrics/notes.h"

namespace seedbed {

/// Follows one file that another program writes: not there yet (nor its folder), growing,
/// truncated, replaced by rename, rewritten in place. Holds it open only within a call.
///
/// The file is known by its content, not by its inode, so that a study can be copied: at each
/// change the last bytes before the offset are compared with what was read there. If they differ,
/// or the file is shorter than the offset, the parser starts anew at the beginning and drops the
/// points it has already given. A hole that was punched into a log (zero bytes) is skipped.
class FileFollower {
 public:
  FileFollower(std::string path, std::unique_ptr<MetricParser> parser);

  /// What a step did.
  struct Step {
    bool more = false;  ///< stopped at the limit, more is there
  };

  /// Reads what is new, about `limit` bytes at most. A file that cannot be read is noted once and
  /// tried again at the next call.
  Step step(std::vector<ParsedPoint>& points, std::size_t limit = 1u << 20);

  /// After the last step: what is pending without a line end counts now.
  void finish(std::vector<ParsedPoint>& points) { parser_->finish(points); }

  [[nodiscard]] std::uint64_t offset() const { return offset_; }
  [[nodiscard]] std::string state() const;
  /// Goes on where another follower of the same file was; with `next_attempt` that one read for an
  /// earlier attempt (MetricParser::next_attempt). Errors: damaged.
  [[nodiscard]] Status resume(std::uint64_t offset, std::string_view state,
                              bool next_attempt = false);

  [[nodiscard]] const MetricParser& parser() const { return *parser_; }
  [[nodiscard]] std::vector<std::string> take_notes();

 private:
  /// What stat said when the file had been read to its end; unchanged means nothing to do.
  struct Seen {
    std::uint64_t device = 0, inode = 0, size = 0;
    std::int64_t modified_s = 0, modified_ns = 0;
    bool operator==(const Seen&) const = default;
  };

  bool read_new(int fd, std::uint64_t size, std::size_t limit, std::vector<ParsedPoint>& points);
  void feed(std::string_view bytes, std::vector<ParsedPoint>& points);
  void skip_hole(int fd, std::uint64_t size, std::vector<ParsedPoint>& points);
  void start_again(const char* why);
  void remember_tail(std::string_view bytes);
  [[nodiscard]] bool same_tail(int fd);

  std::string path_;
  std::unique_ptr<MetricParser> parser_;
  std::uint64_t offset_ = 0;
  std::string tail_;  ///< the last bytes read, some hundred; empty after `resume` until compared
  std::uint64_t tail_length_ = 0, tail_hash_ = 0;
  Seen seen_;
  bool caught_up_ = false;
  bool behind_hole_ = false;  ///< within the line whose beginning the hole has taken
  Notes notes_;
};

}  // namespace seedbed
