#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "metrics/metric_source.h"
#include "study/study_spec.h"

namespace seedbed {

/// One point and the rule that found it: `pattern 1`, `name=value`, `name: value`, `object`,
/// `table`, `words`.
struct ExplainedPoint {
  ParsedPoint point;
  std::string rule;
};

/// A line of a log that gave points. Points of a table are shown at the line that ends it.
struct ExplainedLine {
  std::uint64_t number = 0;  ///< from 1, counted by line feeds
  std::string text;          ///< as it stands, without its end
  std::vector<ExplainedPoint> points;
};

struct Explanation {
  std::vector<ExplainedLine> lines;  ///< at most `limit`
  std::uint64_t lines_read = 0;
  std::uint64_t lines_matched = 0;
  std::vector<std::uint64_t> pattern_matches;  ///< lines, for each pattern of `capture` in order
  std::vector<std::string> names;
  std::vector<std::string> notes;
};

/// Which lines of a log match what, for `seedbed capture-test`: exactly what following the same
/// bytes as a trial's log would give. Errors: a pattern that does not compile (usage).
[[nodiscard]] Result<Explanation> explain_lines(std::string_view text,
                                                const std::vector<CaptureSpec>& capture,
                                                std::size_t limit = 1000);

}  // namespace seedbed
