#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "metrics/line_scan.h"
#include "metrics/metric_source.h"
#include "metrics/piece_splitter.h"
#include "metrics/point_sink.h"

namespace re2 {
class RE2;
}

namespace seedbed {

/// The parser of output lines (line_scan.h has the rules), with the user's patterns.
///
/// Pieces end at CR and at LF. A user's pattern may match several times in a piece; names of its
/// groups are given by patterns alone, never by the built-in rules, which go on for other names. A
/// group whose name is a step is the step of its match; a match with nothing else sets the step
/// for the following pieces, as a piece that is only a step does (`Epoch 3/10`).
///
/// Where the lines are marked with ranks (`[rank 2] `, `[1,2]<stdout>:`), only rank 0 gives
/// metrics.
class OutputLinesParser : public MetricParser {
 public:
  /// What gave the points `from`... to the end of the list.
  using Observer = std::function<void(const Row& row, std::size_t from)>;
  /// Which of the user's patterns has matched, from 0; also where no point comes of it.
  using MatchObserver = std::function<void(std::size_t pattern)>;

  [[nodiscard]] static Result<std::unique_ptr<OutputLinesParser>> make(
      const std::vector<CaptureSpec>& capture);
  ~OutputLinesParser() override;

  void feed(std::string_view bytes, std::vector<ParsedPoint>& points) override;
  void finish(std::vector<ParsedPoint>& points) override;
  void restart() override;
  [[nodiscard]] std::string state() const override;
  [[nodiscard]] Status restore(std::string_view state) override;
  [[nodiscard]] std::vector<std::string> names() const override { return sink_.names(); }
  void next_attempt() override { sink_.next_attempt(); }
  [[nodiscard]] bool traceback_seen() const override { return traceback_; }
  [[nodiscard]] std::string failure_line() const override { return failure_line_; }
  [[nodiscard]] std::vector<std::string> take_notes() override { return sink_.notes().take(); }

  void observe(Observer observer, MatchObserver matches) {
    observer_ = std::move(observer);
    match_observer_ = std::move(matches);
  }

 private:
  struct Pattern;

  OutputLinesParser() = default;
  void piece(std::string_view text, bool whole, std::vector<ParsedPoint>& points);
  [[nodiscard]] bool of_other_rank(std::string_view& text);
  void look_for_crash(std::string_view text);
  void look_for_failure(std::string_view text);
  void table_cell(const TableLine& line, std::vector<ParsedPoint>& points);
  void end_table(std::vector<ParsedPoint>& points);
  void match_patterns(std::string_view text, std::vector<ParsedPoint>& points);
  void one_match(std::size_t pattern, std::vector<ParsedPoint>& points);
  void drop_owned(std::size_t from);
  void give(const Row& row, std::optional<double> fallback, std::vector<ParsedPoint>& points);

  std::vector<std::unique_ptr<Pattern>> patterns_;
  std::vector<std::unique_ptr<re2::RE2>> failures_;
  std::vector<std::string> owned_;  ///< names of the patterns' groups, sorted
  LineScanner scanner_;
  PieceSplitter splitter_{true};
  PointSink sink_;
  std::optional<double> context_;  ///< step of the last piece that was only a step
  Row row_, match_row_, table_;
  bool in_table_ = false;
  std::string section_;  ///< of the table: `rollout/`
  bool traceback_ = false;
  std::string failure_line_;
  std::string scratch_;
  Observer observer_;
  MatchObserver match_observer_;
};

}  // namespace seedbed
