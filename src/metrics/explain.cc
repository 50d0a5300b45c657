#include "metrics/explain.h"

#include <fmt/format.h>

#include "metrics/output_lines.h"

namespace seedbed {
namespace {

std::string rule_words(Rule rule) {
  switch (rule) {
    case Rule::equals:
      return "name=value";
    case Rule::colon:
      return "name: value";
    case Rule::object:
      return "object";
    case Rule::table:
      return "table";
    case Rule::words:
      return "words";
    default:
      return fmt::format("pattern {}",
                         static_cast<int>(rule) - static_cast<int>(Rule::first_pattern) + 1);
  }
}

}  // namespace

Result<Explanation> explain_lines(std::string_view text, const std::vector<CaptureSpec>& capture,
                                  std::size_t limit) {
  Result<std::unique_ptr<OutputLinesParser>> made = OutputLinesParser::make(capture);
  if (!made) return propagate(made);
  OutputLinesParser& parser = **made;
  Explanation explanation;
  for (const CaptureSpec& spec : capture) {
    if (!spec.pattern.empty()) explanation.pattern_matches.push_back(0);
  }
  std::vector<ParsedPoint> points;
  ExplainedLine line;
  std::vector<bool> matched(explanation.pattern_matches.size(), false);
  const auto take_row = [&](const Row& row, std::size_t from) {
    std::size_t at = from;
    for (const Cell& cell : row) {
      if (&cell == row.step() || at >= points.size() || points[at].name != cell.name) continue;
      line.points.push_back({points[at], rule_words(cell.rule)});
      ++at;
    }
  };
  parser.observe(take_row, [&matched](std::size_t pattern) { matched[pattern] = true; });
  const auto end_line = [&]() {
    for (std::size_t i = 0; i < matched.size(); ++i) {
      explanation.pattern_matches[i] += matched[i] ? 1 : 0;
      matched[i] = false;
    }
    if (line.points.empty()) return;
    ++explanation.lines_matched;
    if (explanation.lines.size() < limit) explanation.lines.push_back(line);
    line.points.clear();
    points.clear();
  };
  while (!text.empty()) {
    const std::size_t feed = text.find('\n');
    const bool ended = feed != std::string_view::npos;
    line.number = ++explanation.lines_read;
    line.text.assign(text.substr(0, feed));
    parser.feed(text.substr(0, ended ? feed + 1 : text.size()), points);
    text.remove_prefix(ended ? feed + 1 : text.size());
    if (text.empty()) parser.finish(points);
    end_line();
  }
  explanation.names = parser.names();
  explanation.notes = parser.take_notes();
  return explanation;
}

}  // namespace seedbed
