#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/metric_source.h"

// For the tests of this room only.

namespace seedbed {

/// `loss@3=0.5`: one point as text, so that NaN compares and failures read well.
inline std::string show(const ParsedPoint& point) {
  return fmt::format("{}@{}={}", point.name, point.step, point.value);
}

inline std::vector<std::string> show(const std::vector<ParsedPoint>& points) {
  std::vector<std::string> list;
  for (const ParsedPoint& point : points) list.push_back(show(point));
  return list;
}

inline std::unique_ptr<MetricParser> parser_of(SourceFormat format,
                                               const std::vector<std::string>& patterns = {}) {
  std::vector<CaptureSpec> capture;
  for (const std::string& pattern : patterns) capture.push_back({"", pattern, ""});
  auto parser = make_parser(format, capture);
  return parser ? std::move(*parser) : nullptr;
}

/// All points of a whole file.
inline std::vector<std::string> read_all(SourceFormat format, std::string_view text,
                                         const std::vector<std::string>& patterns = {}) {
  const auto parser = parser_of(format, patterns);
  std::vector<ParsedPoint> points;
  parser->feed(text, points);
  parser->finish(points);
  return show(points);
}

}  // namespace seedbed
