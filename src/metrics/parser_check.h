#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "metrics/metric_source.h"

// For tests and fuzzers: what every metric parser must do with any bytes. It may not crash, nor
// depend on how they are cut; it goes on exactly from a saved state; it gives nothing twice when a
// file is rewritten.

namespace seedbed {

inline bool same_points(const std::vector<ParsedPoint>& a, const std::vector<ParsedPoint>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool both_nan = std::isnan(a[i].value) && std::isnan(b[i].value);
    if (a[i].name != b[i].name || a[i].step != b[i].step) return false;
    if (!both_nan && a[i].value != b[i].value) return false;
  }
  return true;
}

/// What is broken, or nothing. The first two bytes of `data` say where to cut the rest.
inline std::string check_parser(SourceFormat format, const std::vector<CaptureSpec>& capture,
                                std::string_view data) {
  if (data.size() < 2) return {};
  const std::size_t seed =
      static_cast<unsigned char>(data[0]) * 256u + static_cast<unsigned char>(data[1]);
  const std::string_view text = data.substr(2);
  const std::size_t cut = seed % (text.size() + 1);
  const auto parser = [&] { return std::move(*make_parser(format, capture)); };

  std::vector<ParsedPoint> whole;
  const auto first = parser();
  first->feed(text, whole);
  first->finish(whole);
  for (const ParsedPoint& point : whole) {
    if (point.name.empty() || !is_valid_utf8(point.name)) return "a name is empty or no UTF-8";
    if (!std::isfinite(point.step)) return "a step is not finite";
  }

  std::vector<ParsedPoint> parts;
  const auto before = parser();
  before->feed(text.substr(0, cut), parts);
  const std::string state = before->state();
  const auto after = parser();
  if (!after->restore(state)) return "its own state is refused";
  if (after->state() != state) return "a restored state differs";
  after->feed(text.substr(cut), parts);
  after->finish(parts);
  if (!same_points(whole, parts)) return "a cut with save and restore changed the points";

  std::vector<ParsedPoint> rewritten;
  const auto again = parser();
  again->feed(text.substr(0, cut), rewritten);
  again->restart();
  again->feed(text, rewritten);
  again->finish(rewritten);
  if (!same_points(whole, rewritten)) return "a rewrite changed the points";

  // Any bytes as a state: refused, or harmless.
  if (before->restore(text)) before->feed(text, parts);
  return {};
}

}  // namespace seedbed
