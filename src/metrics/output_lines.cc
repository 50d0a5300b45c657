#include "metrics/output_lines.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "metrics/number.h"
#include "metrics/step_names.h"

namespace seedbed {
namespace {

constexpr std::string_view kStateKind = "output2";
constexpr std::string_view kEarlierKind = "output1";  // mostly without a line of failure
constexpr int kMostMatches = 1000;                    // of one pattern in one piece
constexpr std::size_t kMostTableRows = 500;
constexpr int kPatternRank = 1000;  // a step that a pattern names wins over any other

}  // namespace

struct OutputLinesParser::Pattern {
  explicit Pattern(const std::string& text, const RE2::Options& options)
      : regex(re2::StringPiece(text), options) {}
  RE2 regex;
  struct Group {
    int index = 0;
    std::string name;
    int rank = 0;
  };
  std::vector<Group> groups;  ///< named ones, in the order in which they are written
  bool has_step = false;
  std::vector<re2::StringPiece> found;
};

OutputLinesParser::~OutputLinesParser() = default;

Result<std::unique_ptr<OutputLinesParser>> OutputLinesParser::make(
    const std::vector<CaptureSpec>& capture) {
  auto parser = std::unique_ptr<OutputLinesParser>(new OutputLinesParser());
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(4 << 20);
  const auto refused = [](const std::string& text, const RE2& regex) {
    return fail(ErrorCode::usage,
                fmt::format("capture: the pattern `{}` is not understood: {} (RE2 syntax; it has "
                            "no look-around and no back-references)",
                            one_line(text, 200), regex.error()));
  };
  for (const CaptureSpec& spec : capture) {
    if (!spec.failure.empty()) {
      auto regex = std::make_unique<RE2>(re2::StringPiece(spec.failure), options);
      if (!regex->ok()) return refused(spec.failure, *regex);
      parser->failures_.push_back(std::move(regex));
    }
    if (spec.pattern.empty()) continue;
    auto pattern = std::make_unique<Pattern>(spec.pattern, options);
    if (!pattern->regex.ok()) return refused(spec.pattern, pattern->regex);
    for (const auto& [index, name] : pattern->regex.CapturingGroupNames()) {
      const int rank = step_rank(name);
      pattern->groups.push_back({index, name, rank > 0 ? kPatternRank + rank : 0});
      pattern->has_step = pattern->has_step || rank > 0;
      parser->owned_.push_back(name);
    }
    if (pattern->groups.empty()) {
      return fail(ErrorCode::usage,
                  fmt::format("capture: the pattern `{}` names no metric; write the group that "
                              "holds the number as (?P<name>...), for example 'acc=(?P<acc>\\S+)'",
                              one_line(spec.pattern, 200)));
    }
    pattern->found.resize(static_cast<std::size_t>(pattern->regex.NumberOfCapturingGroups()) + 1);
    parser->patterns_.push_back(std::move(pattern));
  }
  std::sort(parser->owned_.begin(), parser->owned_.end());
  return parser;
}

void OutputLinesParser::feed(std::string_view bytes, std::vector<ParsedPoint>& points) {
  splitter_.feed(bytes, [&](std::string_view text, bool whole) { piece(text, whole, points); });
}

void OutputLinesParser::finish(std::vector<ParsedPoint>& points) {
  splitter_.finish([&](std::string_view text, bool whole) { piece(text, whole, points); });
  end_table(points);
  sink_.finish(points);
}

void OutputLinesParser::restart() {
  splitter_.clear();
  table_.clear();
  in_table_ = false;
  section_.clear();
  context_.reset();
  sink_.restart();
}

void OutputLinesParser::piece(std::string_view text, bool whole, std::vector<ParsedPoint>& points) {
  if (!whole) sink_.notes().add("a line longer than 64 KiB was read in parts");
  text = without_escapes(text, scratch_);
  look_for_crash(text);
  look_for_failure(text);
  if (of_other_rank(text)) return;
  if (const std::optional<TableLine> line = whole ? table_line(text) : std::nullopt) {
    table_cell(*line, points);
    if (patterns_.empty()) return;
  } else {
    end_table(points);
  }
  row_.clear();
  match_patterns(text, points);
  const std::size_t matched = row_.size();
  if (!in_table_) {
    const PieceKind kind = scanner_.scan(text, whole, row_);
    if (kind == PieceKind::step_only) {
      const Cell* step = row_.step();
      if (step && step->rank < kPatternRank) context_ = step->value;
      row_.shrink(matched);
    } else {
      drop_owned(matched);
    }
  }
  if (row_.empty()) return;
  const Cell* step = row_.step();
  if (step && step->rank == kPositionRank && context_) {
    row_[static_cast<std::size_t>(step - row_.begin())].value = *context_;
  }
  give(row_, context_, points);
}

/// `[rank 2] text`, as seedbed's own ranks mark their lines, or `[1,2]<stdout>:text` of Open MPI's
/// --tag-output: takes the mark off; whether the rank is not 0.
bool OutputLinesParser::of_other_rank(std::string_view& text) {
  if (text.size() < 8 || text[0] != '[') return false;
  constexpr std::string_view kOurs = "[rank ";
  if (text.starts_with(kOurs)) {
    const std::size_t end = text.find_first_not_of("0123456789", kOurs.size());
    if (end == std::string_view::npos || end == kOurs.size() || text[end] != ']') return false;
    const std::string_view rank = text.substr(kOurs.size(), end - kOurs.size());
    const bool other = rank.find_first_not_of('0') != rank.npos;
    text.remove_prefix(end + 1);
    return other;
  }
  std::size_t at = text.find_first_not_of("0123456789", 1);
  if (at == std::string_view::npos || at == 1 || text[at] != ',') return false;
  const std::size_t rank_at = at + 1;
  at = text.find_first_not_of("0123456789", rank_at);
  if (at == std::string_view::npos || at == rank_at || text.substr(at, 5) != "]<std") return false;
  const std::size_t colon = text.find(">:", at);
  if (colon == std::string_view::npos || colon > at + 8) return false;
  const bool other = text.substr(rank_at, at - rank_at).find_first_not_of('0') != text.npos;
  text.remove_prefix(colon + 2);
  if (other) {
    sink_.notes().add("lines of several ranks: metrics are read from rank 0 only");
  }
  return other;
}

void OutputLinesParser::look_for_crash(std::string_view text) {
  if (traceback_ || text.empty()) return;
  constexpr std::string_view kPython = "Traceback (most recent call last)";
  const std::size_t at = text.find(kPython.substr(0, 11));
  traceback_ = (at != std::string_view::npos && text.substr(at, kPython.size()) == kPython) ||
               (text[0] == 't' && text.substr(0, 17) == "terminate called ") ||
               (text[0] == 't' && text.substr(0, 8) == "thread '" &&
                text.find("' panicked at") != std::string_view::npos);
}

void OutputLinesParser::look_for_failure(std::string_view text) {
  if (!failure_line_.empty()) return;
  const re2::StringPiece subject(text.data(), text.size());
  for (const auto& regex : failures_) {
    re2::StringPiece found;
    if (!regex->Match(subject, 0, text.size(), RE2::UNANCHORED, &found, 1)) continue;
    // Of a long line what stands around it.
    constexpr std::size_t kBefore = 80, kMost = 200;
    const auto at = static_cast<std::size_t>(found.data() - text.data());
    const std::string_view part = text.substr(at > kBefore ? at - kBefore : 0);
    failure_line_ = text.empty() ? "(an empty line)" : one_line(trim(part), kMost);
    return;
  }
}

void OutputLinesParser::table_cell(const TableLine& line, std::vector<ParsedPoint>& points) {
  if (table_.size() >= kMostTableRows) end_table(points);
  in_table_ = true;
  if (line.value.empty() && !line.name.empty() && line.name.back() == '/') {
    section_ = line.name;
    if (section_.size() > 100 || !is_valid_utf8(section_)) section_.clear();
    return;
  }
  const std::optional<double> value = whole_number(line.value);
  const bool named = !line.name.empty() && line.name.size() <= 100 && is_valid_utf8(line.name) &&
                     !whole_number(line.name);
  if (!value || !named) return;
  const std::string name = section_ + std::string(line.name);
  table_.add(name, *value, Rule::table, step_rank(name));
}

void OutputLinesParser::end_table(std::vector<ParsedPoint>& points) {
  if (!in_table_) return;
  in_table_ = false;
  section_.clear();
  if (!table_.empty()) give(table_, context_, points);
  table_.clear();
}

void OutputLinesParser::match_patterns(std::string_view text, std::vector<ParsedPoint>& points) {
  const re2::StringPiece subject(text.data(), text.size());
  for (std::size_t p = 0; p < patterns_.size(); ++p) {
    Pattern& pattern = *patterns_[p];
    std::size_t start = 0;
    for (int matches = 0; matches < kMostMatches && start <= text.size(); ++matches) {
      if (!pattern.regex.Match(subject, start, text.size(), RE2::UNANCHORED, pattern.found.data(),
                               static_cast<int>(pattern.found.size()))) {
        break;
      }
      if (match_observer_) match_observer_(p);
      one_match(p, points);
      const re2::StringPiece& all = pattern.found[0];
      const std::size_t end = static_cast<std::size_t>(all.data() + all.size() - text.data());
      start = end > start ? end : start + 1;
    }
  }
}

void OutputLinesParser::one_match(std::size_t index, std::vector<ParsedPoint>& points) {
  Pattern& pattern = *patterns_[index];
  Row& row = pattern.has_step ? match_row_ : row_;
  if (pattern.has_step) match_row_.clear();
  const auto rule = static_cast<Rule>(static_cast<std::size_t>(Rule::first_pattern) + index);
  for (const Pattern::Group& group : pattern.groups) {
    const re2::StringPiece& found = pattern.found[static_cast<std::size_t>(group.index)];
    if (found.data() == nullptr) continue;
    const std::string_view word(found.data(), found.size());
    const std::optional<double> value = lenient_number(word);
    if (value) {
      row.add(group.name, *value, rule, group.rank);
    } else {
      sink_.notes().add(fmt::format("pattern {}: its group {} has matched text that is no number",
                                    index + 1, group.name));
    }
  }
  if (!pattern.has_step) return;
  const Cell* step = match_row_.step();
  if (step && match_row_.size() == 1) {
    context_ = step->value;
  } else if (!match_row_.empty()) {
    give(match_row_, context_, points);
  }
}

/// Takes out what the built-in rules found under a name that belongs to a pattern.
void OutputLinesParser::drop_owned(std::size_t from) {
  if (owned_.empty()) return;
  std::size_t kept = from;
  for (std::size_t i = from; i < row_.size(); ++i) {
    const bool owned = std::binary_search(owned_.begin(), owned_.end(), row_[i].name);
    if (owned && row_[i].rank == 0) continue;
    if (kept != i) std::swap(row_[kept], row_[i]);
    ++kept;
  }
  row_.shrink(kept);
}

void OutputLinesParser::give(const Row& row, std::optional<double> fallback,
                             std::vector<ParsedPoint>& points) {
  const std::size_t from = points.size();
  sink_.add_row(row, fallback, points);
  if (observer_ && points.size() > from) observer_(row, from);
}

std::string OutputLinesParser::state() const {
  StateWriter state;
  state.text(kStateKind);
  splitter_.save(state);
  sink_.save(state);
  state.flag(context_.has_value());
  state.real(context_.value_or(0));
  state.flag(traceback_);
  state.flag(in_table_);
  state.text(section_);
  state.number(table_.size());
  for (const Cell& cell : table_) {
    state.text(cell.name);
    state.real(cell.value);
  }
  state.text(failure_line_);
  return state.take();
}

Status OutputLinesParser::restore(std::string_view text) {
  StateReader state(text);
  const std::string kind = state.text();
  if (kind != kStateKind && kind != kEarlierKind) {
    return fail(ErrorCode::damaged, "the stored reading position of a log is not understood");
  }
  splitter_.load(state);
  sink_.load(state);
  const bool has_context = state.flag();
  const double context = state.real();
  context_ = has_context ? std::optional(context) : std::nullopt;
  traceback_ = state.flag();
  in_table_ = state.flag();
  section_ = state.text();
  table_.clear();
  for (std::size_t i = state.count(); i > 0 && state.ok(); --i) {
    const std::string name = state.text();
    const double value = state.real();
    table_.add(name, value, Rule::table, step_rank(name));
  }
  failure_line_ = kind == kEarlierKind && state.at_end() ? "" : state.text();
  if (!state.at_end()) {
    return fail(ErrorCode::damaged, "the stored reading position of a log is damaged");
  }
  return {};
}

}  // namespace seedbed
