#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "study/reader_context.h"
#include "study/readers.h"
#include "study/study_spec.h"

namespace seedbed {

/// A place in the sweep file or in a word, kept until everything is merged.
struct SourcePlace {
  const SourceText* source = nullptr;
  std::size_t offset = 0;

  [[nodiscard]] std::string text() const { return source->place_text(offset); }
  [[nodiscard]] Error error(const std::string& message, const std::string& remedy = {}) const {
    return source->error(offset, message, remedy);
  }
};

struct PlacedDimension {
  Dimension dimension;
  SourcePlace place;
};

/// A `where`, from the file or the command line, with what to call it in messages.
struct PlacedExpression {
  Expression expression;
  std::string place;  ///< `sweep.yaml:7:8: where` or `--where`
};

struct ZipDraft {
  std::vector<std::string> names;
  SourcePlace place;
};

/// One branch of a union as it was written.
struct BranchDraft {
  std::vector<PlacedDimension> dimensions;
  std::vector<ZipDraft> zips;
  std::optional<ExplicitRows> rows;
  SourcePlace rows_place;
  std::vector<PlacedExpression> where;
};

/// Everything the file and the options said, before it is merged and checked.
struct StudyDraft {
  StudySpec spec;
  BranchDraft common;               ///< keys outside of `union`: part of every branch
  std::vector<BranchDraft> unions;  ///< empty: the common part is the only branch

  std::string program;
  std::vector<std::string> command;
  std::optional<SourcePlace> command_place;
  CommandTemplate::Options command_options;
  std::optional<SourcePlace> template_place;

  std::optional<std::uint64_t> repeat;
  SourcePlace repeat_place;
  std::optional<SourcePlace> seed_parameter_place;

  SourcePlace metric_place;
  std::optional<SourcePlace> method_place;
  bool method_replaced = false;  ///< by --method: the file's is not looked at
  bool nested = false;           ///< a group of parameters was written
  const TextReader* text_reader = nullptr;
};

/// Reads `parameters:` into a list, groups under dotted names.
[[nodiscard]] Status read_parameters(ReadContext& context, const YamlNode& node,
                                     std::vector<PlacedDimension>& dimensions, bool& nested);

/// Reads an expression; the error names the place and what it is (`when` of `batch`).
[[nodiscard]] Result<PlacedExpression> read_expression(const ReadContext& context,
                                                       const YamlNode& node,
                                                       const std::string& what);

/// Keys of a branch: parameters, zip, trials, where. The same handlers serve the top level.
[[nodiscard]] Status read_parameters_key(ReadContext& context, const YamlNode& node,
                                         StudyDraft& draft, BranchDraft& branch);
[[nodiscard]] Status read_zip(ReadContext& context, const YamlNode& node, BranchDraft& branch);
[[nodiscard]] Status read_trials(ReadContext& context, const YamlNode& node,
                                 const TextReader& reader, BranchDraft& branch);
[[nodiscard]] Status read_where(ReadContext& context, const YamlNode& node, BranchDraft& branch);
[[nodiscard]] Status read_union(ReadContext& context, const YamlNode& node, StudyDraft& draft);

/// Merges branches, repeat and words, checks names and lengths, and builds the space.
/// Words replace parameters of the same name in place, or come last.
[[nodiscard]] Result<Space> assemble_space(ReadContext& context, StudyDraft& draft,
                                           const std::vector<PlacedDimension>& words);

/// The metric's direction: refuses a missing goal for a name that is to be maximized, warns when
/// goal and name disagree. `place` is where the metric was named.
[[nodiscard]] Status check_goal(ReadContext& context, Objective& objective,
                                const std::string& place);

/// Keys with a table of their own, for reading and for the reference page.
struct KeyDoc {
  std::string map;  ///< empty: top level
  std::string key;
  std::string meaning;
};
[[nodiscard]] std::vector<KeyDoc> sweep_file_keys();

// The tables, one per map of the file.
[[nodiscard]] std::vector<KeyDoc> parameter_key_docs();
[[nodiscard]] std::vector<KeyDoc> settings_key_docs();
[[nodiscard]] std::vector<KeyDoc> branch_key_docs();

// Handlers of the settings (settings_reader.cc).
[[nodiscard]] Status read_metric(ReadContext& context, const YamlNode& node, StudyDraft& draft);
[[nodiscard]] Status read_resources(ReadContext& context, const YamlNode& node, StudyDraft& draft);
[[nodiscard]] Status read_limits(ReadContext& context, const YamlNode& node, StudyDraft& draft);
[[nodiscard]] Status read_retries(ReadContext& context, const YamlNode& node, StudyDraft& draft);
[[nodiscard]] Status read_env(ReadContext& context, const YamlNode& node, StudyDraft& draft);
[[nodiscard]] Status read_capture(ReadContext& context, const YamlNode& node, StudyDraft& draft);
[[nodiscard]] Status read_early_terminate(ReadContext& context, const YamlNode& node,
                                          StudyDraft& draft);

template <typename Target>
[[nodiscard]] std::vector<KeyDoc> key_docs(const std::string& map,
                                           std::span<const Key<Target>> keys) {
  std::vector<KeyDoc> docs;
  for (const Key<Target>& key : keys) {
    docs.push_back({map, std::string(key.name), std::string(key.meaning)});
  }
  return docs;
}

}  // namespace seedbed
