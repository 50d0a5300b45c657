#include "metrics/metric_source.h"

#include "base/text.h"
#include "metrics/output_lines.h"
#include "metrics/parsers.h"

namespace seedbed {

SourceFormat format_of(std::string_view file_name) {
  const std::size_t slash = file_name.rfind('/');
  if (slash != std::string_view::npos) file_name.remove_prefix(slash + 1);
  const std::size_t dot = file_name.rfind('.');
  if (dot == std::string_view::npos) return SourceFormat::output_lines;
  const std::string ending = lower(file_name.substr(dot + 1));
  for (const std::string_view known : {"jsonl", "json", "ndjson"}) {
    if (ending == known) return SourceFormat::json_lines;
  }
  if (ending == "csv") return SourceFormat::csv;
  for (const std::string_view known : {"txt", "tsv", "tab", "dat"}) {
    if (ending == known) return SourceFormat::tsv;
  }
  return SourceFormat::output_lines;
}

Result<std::unique_ptr<MetricParser>> make_parser(SourceFormat format,
                                                  const std::vector<CaptureSpec>& capture) {
  switch (format) {
    case SourceFormat::json_lines:
      return make_json_lines_parser();
    case SourceFormat::csv:
      return make_table_parser(true);
    case SourceFormat::tsv:
      return make_table_parser(false);
    case SourceFormat::output_lines:
      break;
  }
  return OutputLinesParser::make(capture);
}

}  // namespace seedbed
