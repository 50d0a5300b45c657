#pragma once

#include <string>

#include "base/result.h"
#include "study/reader_context.h"
#include "study/space.h"

namespace seedbed {

/// Reads a table of trials: comma-separated (or by tabs or semicolons, when the header has no
/// comma), a header of parameter names, quotes as in RFC 4180. An empty cell is an absent value,
/// `""` the empty text; quoted cells are text, others are read as plain values, without outer
/// spaces. Blank lines are skipped. Errors carry file, line and column.
/// Bounds: 64 MiB, 1 million cells.
[[nodiscard]] Result<ExplicitRows> read_csv_trials(const SourceText& source, ValueNotes& notes);

}  // namespace seedbed
