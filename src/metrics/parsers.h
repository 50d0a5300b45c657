#pragma once

#include <memory>

#include "metrics/metric_source.h"

// The parsers of files; make_parser (metric_source.h) is the way to them.

namespace seedbed {

/// One JSON object per line, as $SEEDBED_METRICS takes them: see json_lines.cc.
[[nodiscard]] std::unique_ptr<MetricParser> make_json_lines_parser();

/// CSV, TSV and blank-separated tables: see table_file.cc.
[[nodiscard]] std::unique_ptr<MetricParser> make_table_parser(bool csv);

}  // namespace seedbed
