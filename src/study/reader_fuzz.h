#pragma once

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "study/csv_reader.h"
#include "study/readers.h"

// What every reader of a study must do with any bytes: never crash, give errors that are valid
// text and the user's, and read back what it has written. The fuzzers of tests/fuzz and the test
// that replays their corpora share these.

namespace seedbed::reader_fuzz {

inline void require(bool condition) {
  if (!condition) std::abort();
}

inline void check_error(const Error& error) {
  require(error.code == ErrorCode::usage);
  require(!error.message.empty() && is_valid_utf8(error.message));
}

inline Result<std::string> no_files(const std::string& path) {
  if (path == "t") return std::string("{lr} {x}");
  if (path == "r.csv") return std::string("lr,x\n1,\n,\"\"\n");
  return fail(ErrorCode::usage, "no such file");
}

// Draws points and writes the study twice: the written text is read again and says the same.
inline void check_study(const StudySpec& spec) {
  (void)spec.space.count();
  const std::vector<double> unit(spec.space.axes(), 0.625);
  if (auto point = spec.space.point_at(unit); !point) check_error(point.error());
  if (spec.space.index_count() > 0) {
    if (auto point = spec.space.point(spec.space.index_count() - 1); !point) {
      check_error(point.error());
    }
  }
  StudySources again;
  again.file_name = "sweep.yaml";
  again.file_text = write_study(spec);
  const Result<StudySpec> second = read_study(again, no_files);
  require(second.has_value());
  require(write_study(*second) == again.file_text);
  require(second->space.names() == spec.space.names());
}

inline void sweep_file(std::string_view text) {
  StudySources sources;
  sources.file_name = "f.yaml";
  sources.file_text = std::string(text);
  const Result<StudySpec> spec = read_study(sources, no_files);
  if (!spec) return check_error(spec.error());
  check_study(*spec);
}

inline void word(std::string_view text) {
  const Result<Dimension> dimension = read_word(text, 3);
  if (!dimension) return check_error(dimension.error());
  require(!dimension->values.empty() || dimension->distribution.has_value());
  if (dimension->values.size() > 10'000) return;  // a million of them written twice takes long
  StudySources sources;
  sources.words = {std::string(text)};
  sources.command = {"run"};
  const Result<StudySpec> spec = read_study(sources, no_files);
  if (!spec) return check_error(spec.error());
  check_study(*spec);
}

inline void csv(std::string_view text) {
  ValueNotes notes;
  const Result<ExplicitRows> rows = read_csv_trials(SourceText("r.csv", std::string(text)), notes);
  if (!rows) return check_error(rows.error());
  require(!rows->rows.empty());
  for (const auto& row : rows->rows) require(row.size() == rows->rows[0].size());
}

inline void expression(std::string_view text) {
  const Result<Expression> parsed = Expression::parse(text);
  if (!parsed) return check_error(parsed.error());
  require(Expression::parse(parsed->text()).has_value());
  const Value number = Value::from_plain("2.5");
  const Value word_value = Value::from_text("a");
  const Expression::Lookup lookup = [&](std::string_view name) -> const Value* {
    if (name.empty() || name[0] == 'z') return nullptr;
    return name[0] < 'n' ? &number : &word_value;
  };
  if (auto holds = parsed->holds(lookup); !holds) check_error(holds.error());
}

}  // namespace seedbed::reader_fuzz
