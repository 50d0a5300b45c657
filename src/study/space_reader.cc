// The branches of the space: parameters, zip, trials, where, union, repeat, and the words of the
// command line put over them.
#include <algorithm>

#include "base/text.h"
#include "study/csv_reader.h"
#include "study/reader_draft.h"
#include "study/word_numbers.h"

namespace seedbed {

namespace {

struct BranchTarget {
  StudyDraft* draft;
  BranchDraft* branch;
};

Status branch_parameters(ReadContext& context, const YamlNode& node, BranchTarget& target) {
  return read_parameters_key(context, node, *target.draft, *target.branch);
}
Status branch_zip(ReadContext& context, const YamlNode& node, BranchTarget& target) {
  return read_zip(context, node, *target.branch);
}
Status branch_trials(ReadContext& context, const YamlNode& node, BranchTarget& target) {
  return read_trials(context, node, *target.draft->text_reader, *target.branch);
}
Status branch_where(ReadContext& context, const YamlNode& node, BranchTarget& target) {
  return read_where(context, node, *target.branch);
}

constexpr Key<BranchTarget> kBranchKeys[] = {
    {"parameters", "parameters of this branch", branch_parameters},
    {"zip", "groups of this branch that vary together", branch_zip},
    {"trials", "explicit points of this branch", branch_trials},
    {"where", "keep only these points of this branch", branch_where},
};

Status read_row(ReadContext& context, const YamlNode& node,
                std::map<std::string, ValueNotes>& notes, ExplicitRows& rows) {
  if (!node.is_map()) {
    return context.error(node, "a trial is a map of parameters and values",
                         "write - {lr: 0.1, batch: 32}");
  }
  std::vector<Parameter> row;
  for (const YamlEntry& entry : node.entries) {
    if (const auto problem = name_problem(entry.key)) {
      return context.error_at(entry.key_offset, *problem);
    }
    Result<Value> value = read_value(context, *entry.value, notes[entry.key]);
    if (!value) return propagate(value);
    row.push_back({entry.key, std::move(*value)});
  }
  rows.rows.push_back(std::move(row));
  return {};
}

Status read_csv_file(ReadContext& context, const YamlNode& node, const TextReader& reader,
                     BranchDraft& branch) {
  if (node.text.empty()) return context.error(node, "`trials` names no file");
  if (!reader) return context.error(node, "no file can be read here");
  Result<std::string> text = reader(node.text);
  if (!text) {
    return context.error(node, "`trials`: " + text.error().message, "check the path");
  }
  const SourceText source(node.text, std::move(*text));
  ValueNotes notes;
  Result<ExplicitRows> rows = read_csv_trials(source, notes);
  if (!rows) return propagate(rows);
  branch.rows = std::move(*rows);
  if (notes.null) {
    context.warn(node.offset, "`trials`: " + in_ticks(node.text) +
                                  " has null values, which reach the program as None; an empty "
                                  "cell leaves the option out");
  }
  return {};
}

PlacedDimension* find(BranchDraft& branch, std::string_view name) {
  for (PlacedDimension& placed : branch.dimensions) {
    if (placed.dimension.name == name) return &placed;
  }
  return nullptr;
}

std::set<std::string> row_names(const BranchDraft& branch) {
  std::set<std::string> names;
  if (!branch.rows) return names;
  for (const auto& row : branch.rows->rows) {
    for (const Parameter& parameter : row) names.insert(parameter.name);
  }
  return names;
}

// Common keys come first; a branch's own parameter takes the place of a common one.
Result<std::vector<BranchDraft>> merge_unions(StudyDraft& draft) {
  if (draft.unions.empty()) return std::vector<BranchDraft>{std::move(draft.common)};
  std::vector<BranchDraft> branches;
  for (BranchDraft& own : draft.unions) {
    BranchDraft branch = draft.common;
    for (PlacedDimension& placed : own.dimensions) {
      if (PlacedDimension* known = find(branch, placed.dimension.name)) {
        *known = std::move(placed);
      } else {
        branch.dimensions.push_back(std::move(placed));
      }
    }
    if (own.rows && branch.rows) {
      return tl::unexpected(own.rows_place.error("`trials` is written outside of `union` too",
                                                 "keep one of the two"));
    }
    if (own.rows) {
      branch.rows = std::move(own.rows);
      branch.rows_place = own.rows_place;
    }
    std::move(own.zips.begin(), own.zips.end(), std::back_inserter(branch.zips));
    std::move(own.where.begin(), own.where.end(), std::back_inserter(branch.where));
    branches.push_back(std::move(branch));
  }
  return branches;
}

Status add_repeat(const StudyDraft& draft, std::vector<BranchDraft>& branches) {
  if (!draft.repeat) return {};
  const std::string& seed = draft.spec.seed_parameter;
  if (seed.empty()) {
    return tl::unexpected(draft.repeat_place.error(
        "`repeat` needs a seed parameter, and `seed_parameter` is none", "remove one of the two"));
  }
  Result<NumberSet> seeds =
      number_range(Value::integer(0), Value::integer(static_cast<std::int64_t>(*draft.repeat)),
                   Value::integer(1));
  if (!seeds) return tl::unexpected(draft.repeat_place.error("`repeat`: " + seeds.error().message));
  for (BranchDraft& branch : branches) {
    if (find(branch, seed) != nullptr || row_names(branch).contains(seed)) {
      return tl::unexpected(draft.repeat_place.error(
          "`repeat` adds the parameter " + in_ticks(seed) + ", which is there already",
          "remove `repeat` or the parameter"));
    }
    Dimension dimension;
    dimension.name = seed;
    dimension.values = seeds->values;
    dimension.distribution = seeds->distribution;
    branch.dimensions.push_back({std::move(dimension), draft.repeat_place});
  }
  return {};
}

// A fixed value takes a parameter out of its zip group.
void leave_zip(BranchDraft& branch, const std::string& name) {
  for (ZipDraft& zip : branch.zips) std::erase(zip.names, name);
  std::erase_if(branch.zips, [](const ZipDraft& zip) { return zip.names.size() < 2; });
}

void apply_word(std::vector<BranchDraft>& branches, const PlacedDimension& word) {
  const std::string& name = word.dimension.name;
  bool found = false;
  for (BranchDraft& branch : branches) {
    if (row_names(branch).contains(name)) {
      for (auto& row : branch.rows->rows) {
        std::erase_if(row, [&](const Parameter& parameter) { return parameter.name == name; });
      }
      branch.dimensions.push_back(word);
      found = true;
    } else if (PlacedDimension* known = find(branch, name)) {
      Dimension dimension = word.dimension;
      dimension.when = known->dimension.when;  // a word cannot say these
      dimension.flag = known->dimension.flag;
      *known = {std::move(dimension), word.place};
      found = true;
      if (word.dimension.values.size() == 1) leave_zip(branch, name);
    }
  }
  if (found) return;
  for (BranchDraft& branch : branches) branch.dimensions.push_back(word);
}

Status check_names(const BranchDraft& branch) {
  std::set<std::string> known;
  const std::set<std::string> of_rows = row_names(branch);
  for (const PlacedDimension& placed : branch.dimensions) {
    const std::string& name = placed.dimension.name;
    if (!known.insert(name).second) {
      return tl::unexpected(placed.place.error("parameter " + in_ticks(name) + " is written twice",
                                               "keep one of the two"));
    }
    if (of_rows.contains(name)) {
      return tl::unexpected(placed.place.error(
          "parameter " + in_ticks(name) + " is in `trials` too", "keep one of the two"));
    }
  }
  return {};
}

Status check_zip(BranchDraft& branch, const ZipDraft& zip, std::set<std::string>& zipped) {
  std::vector<std::string> names;
  for (const PlacedDimension& placed : branch.dimensions) names.push_back(placed.dimension.name);
  const Dimension* first = nullptr;
  for (const std::string& name : zip.names) {
    const PlacedDimension* placed = find(branch, name);
    if (placed == nullptr) {
      return tl::unexpected(zip.place.error("`zip` names the unknown parameter " + in_ticks(name),
                                            suggest(name, names)));
    }
    if (!zipped.insert(name).second) {
      return tl::unexpected(zip.place.error("parameter " + in_ticks(name) + " is zipped twice"));
    }
    const Dimension& dimension = placed->dimension;
    if (!dimension.finite()) {
      return tl::unexpected(zip.place.error(
          "`zip` takes lists, and " + in_ticks(name) + " is a range", "list its values"));
    }
    if (first == nullptr) {
      first = &dimension;
    } else if (first->size() != dimension.size()) {
      return tl::unexpected(
          zip.place.error("`zip` takes lists of equal length: " + in_ticks(first->name) + " has " +
                              std::to_string(first->size()) + " values, " + in_ticks(name) +
                              " has " + std::to_string(dimension.size()),
                          "make them equal"));
    }
  }
  return {};
}

// Two spellings of one value are one value; the first stays.
void merge_equal_values(ReadContext& context, PlacedDimension& placed) {
  Dimension& dimension = placed.dimension;
  if (dimension.values.size() < 2) return;
  std::map<std::string, std::size_t> first;  // canonical form to position
  std::vector<Value> values;
  std::vector<double> probabilities;
  std::string merged;
  for (std::size_t i = 0; i < dimension.values.size(); ++i) {
    const Value& value = dimension.values[i];
    const auto [known, added] = first.emplace(value.canonical(), values.size());
    if (added) {
      values.push_back(value);
      if (!dimension.probabilities.empty()) probabilities.push_back(dimension.probabilities[i]);
      continue;
    }
    if (!dimension.probabilities.empty()) {
      probabilities[known->second] += dimension.probabilities[i];
    }
    if (merged.empty()) {
      const std::string& kept = values[known->second].spelling();
      merged = kept == value.spelling()
                   ? in_ticks(kept) + " is listed twice"
                   : in_ticks(kept) + " and " + in_ticks(value.spelling()) + " are the same value";
    }
  }
  if (merged.empty()) return;
  dimension.values = std::move(values);
  dimension.probabilities = std::move(probabilities);
  context.warnings.push_back(placed.place.text() + ": `" + dimension.name + "`: " + merged +
                             ", run once");
}

// Rows of a zip that are equal in all its members are one.
void merge_equal_zip_rows(ReadContext& context, BranchDraft& branch, const ZipDraft& zip) {
  std::vector<Dimension*> members;
  for (const std::string& name : zip.names) {
    members.push_back(&find(branch, name)->dimension);
    if (members.back()->values.empty()) return;  // a range: its values differ
  }
  std::set<std::string> known;
  std::vector<std::size_t> kept;
  const std::size_t size = members.front()->values.size();
  for (std::size_t row = 0; row < size; ++row) {
    Point point;
    for (const Dimension* member : members) {
      point.parameters.push_back({member->name, member->values[row]});
    }
    if (known.insert(point.identity()).second) kept.push_back(row);
  }
  if (kept.size() == size) return;
  for (Dimension* member : members) {
    std::vector<Value> values;
    for (const std::size_t row : kept) values.push_back(member->values[row]);
    member->values = std::move(values);
  }
  context.warnings.push_back(zip.place.text() + ": `zip` [" + join(zip.names, ", ") +
                             "]: " + std::to_string(size - kept.size()) +
                             (size - kept.size() == 1 ? " row repeats" : " rows repeat") +
                             " an earlier one, run once");
}

// `1` and `"1"` are two values, but tables, names and arguments show them alike; `1` and `1.0` are
// the same number to most programs.
void warn_of_twins(ReadContext& context, const PlacedDimension& placed) {
  std::map<std::string_view, const Value*> spelled;
  std::map<double, const Value*> numbers;
  for (const Value& value : placed.dimension.values) {
    if (value.is_absent()) continue;
    const Value* twin = spelled.emplace(value.spelling(), &value).first->second;
    const bool alike = twin->kind() != value.kind();
    if (!alike && value.is_number()) twin = numbers.emplace(*value.number(), &value).first->second;
    if (twin->kind() == value.kind()) continue;
    const std::string both =
        alike ? in_ticks(value.spelling()) + " is"
              : in_ticks(twin->spelling()) + " and " + in_ticks(value.spelling()) + " are";
    std::string warning = placed.place.text() + ": `" + placed.dimension.name + "`: " + both +
                          " listed as " + std::string(kind_word(twin->kind())) + " and as " +
                          std::string(kind_word(value.kind())) + ": two values, whose trials " +
                          (alike ? "look the same" : "may be the same") +
                          "; keep one, or write one apart";
    // A parameter that branches of a union share is told once.
    const auto& told = context.warnings;
    if (std::find(told.begin(), told.end(), warning) == told.end()) {
      context.warnings.push_back(std::move(warning));
    }
    return;
  }
}

void merge_equal_rows(ReadContext& context, BranchDraft& branch) {
  if (!branch.rows) return;
  std::set<std::string> known;
  const std::size_t before = branch.rows->rows.size();
  std::erase_if(branch.rows->rows, [&](const std::vector<Parameter>& row) {
    return !known.insert(Point{row}.identity()).second;
  });
  const std::size_t merged = before - branch.rows->rows.size();
  if (merged == 0) return;
  context.warnings.push_back(branch.rows_place.text() + ": `trials`: " + std::to_string(merged) +
                             (merged == 1 ? " trial repeats" : " trials repeat") +
                             " an earlier one, run once");
}

std::vector<std::string> all_names(const std::vector<BranchDraft>& branches) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const BranchDraft& branch : branches) {
    for (const std::string& name : row_names(branch)) add(name);
    for (const PlacedDimension& placed : branch.dimensions) add(placed.dimension.name);
  }
  return names;
}

Status check_expression(const Expression& expression, const std::string& place,
                        const std::vector<std::string>& names) {
  for (const std::string& name : expression.names()) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    return fail(ErrorCode::usage,
                place + ": unknown parameter " + in_ticks(name) + " in " +
                    in_ticks(expression.text()) + "; " +
                    (names.empty() ? "there are no parameters" : suggest(name, names)));
  }
  return {};
}

Status check_expressions(const std::vector<BranchDraft>& branches,
                         const std::vector<std::string>& names) {
  for (const BranchDraft& branch : branches) {
    for (const PlacedExpression& where : branch.where) {
      if (Status fine = check_expression(where.expression, where.place, names); !fine) return fine;
    }
    for (const PlacedDimension& placed : branch.dimensions) {
      if (!placed.dimension.when) continue;
      const std::string place = placed.place.text() + ": `when` of `" + placed.dimension.name + "`";
      if (Status fine = check_expression(*placed.dimension.when, place, names); !fine) return fine;
    }
  }
  return {};
}

SpaceBranch finished(BranchDraft& draft) {
  SpaceBranch branch;
  for (PlacedDimension& placed : draft.dimensions) {
    branch.dimensions.push_back(std::move(placed.dimension));
  }
  for (ZipDraft& zip : draft.zips) branch.zips.push_back(std::move(zip.names));
  branch.explicit_rows = std::move(draft.rows);
  for (PlacedExpression& where : draft.where) branch.where.push_back(std::move(where.expression));
  return branch;
}

}  // namespace

Status read_parameters_key(ReadContext& context, const YamlNode& node, StudyDraft& draft,
                           BranchDraft& branch) {
  return read_parameters(context, node, branch.dimensions, draft.nested);
}

Status read_zip(ReadContext& context, const YamlNode& node, BranchDraft& branch) {
  const std::string remedy = "write zip: [[model, batch]]";
  if (!node.is_sequence()) return context.error(node, "`zip` takes a list of groups", remedy);
  const bool one_group = std::all_of(node.items.begin(), node.items.end(),
                                     [](const YamlPointer& item) { return item->is_scalar(); });
  std::vector<const YamlNode*> groups;
  if (one_group && !node.items.empty()) {
    groups.push_back(&node);
  } else {
    for (const YamlPointer& item : node.items) groups.push_back(item.get());
  }
  for (const YamlNode* group : groups) {
    if (!group->is_sequence()) return context.error(*group, "a group of `zip` is a list", remedy);
    Result<std::vector<std::string>> names = read_texts(context, *group, "a group of `zip`");
    if (!names) return propagate(names);
    if (names->size() < 2) {
      return context.error(*group, "a group of `zip` has at least two parameters", remedy);
    }
    branch.zips.push_back({std::move(*names), {context.source, group->offset}});
  }
  return {};
}

Status read_trials(ReadContext& context, const YamlNode& node, const TextReader& reader,
                   BranchDraft& branch) {
  branch.rows_place = {context.source, node.offset};
  if (node.is_scalar()) return read_csv_file(context, node, reader, branch);
  if (!node.is_sequence()) {
    return context.error(node, "`trials` takes a list of trials or the name of a CSV file",
                         "write trials: [{lr: 0.1}, {lr: 0.2}] or trials: runs.csv");
  }
  if (node.items.empty()) return context.error(node, "`trials` is empty", "list at least one");
  ExplicitRows rows;
  std::map<std::string, ValueNotes> notes;
  for (const YamlPointer& item : node.items) {
    if (Status row = read_row(context, *item, notes, rows); !row) return row;
  }
  for (const auto& [name, told] : notes) tell(context, node.offset, name, told);
  branch.rows = std::move(rows);
  return {};
}

Status read_where(ReadContext& context, const YamlNode& node, BranchDraft& branch) {
  std::vector<const YamlNode*> nodes{&node};
  if (node.is_sequence()) {
    nodes.clear();
    for (const YamlPointer& item : node.items) nodes.push_back(item.get());
  }
  for (const YamlNode* each : nodes) {
    Result<PlacedExpression> where = read_expression(context, *each, "`where`");
    if (!where) return propagate(where);
    branch.where.push_back(std::move(*where));
  }
  return {};
}

Status read_union(ReadContext& context, const YamlNode& node, StudyDraft& draft) {
  if (!node.is_sequence() || node.items.empty()) {
    return context.error(node, "`union` takes a list of branches",
                         "write union: [{parameters: {…}}, {parameters: {…}}]");
  }
  for (const YamlPointer& item : node.items) {
    BranchDraft branch;
    BranchTarget target{&draft, &branch};
    read_keys<BranchTarget>(context, *item, "a branch of `union`", kBranchKeys, target);
    draft.unions.push_back(std::move(branch));
  }
  return {};
}

Result<Space> assemble_space(ReadContext& context, StudyDraft& draft,
                             const std::vector<PlacedDimension>& words) {
  Result<std::vector<BranchDraft>> branches = merge_unions(draft);
  if (!branches) return propagate(branches);
  if (Status fine = add_repeat(draft, *branches); !fine) return propagate(fine);
  for (const PlacedDimension& word : words) apply_word(*branches, word);
  for (BranchDraft& branch : *branches) {
    if (Status fine = check_names(branch); !fine) return propagate(fine);
    std::set<std::string> zipped;
    for (const ZipDraft& zip : branch.zips) {
      if (Status fine = check_zip(branch, zip, zipped); !fine) return propagate(fine);
    }
    for (const ZipDraft& zip : branch.zips) merge_equal_zip_rows(context, branch, zip);
    for (PlacedDimension& placed : branch.dimensions) {
      if (!zipped.contains(placed.dimension.name)) merge_equal_values(context, placed);
      warn_of_twins(context, placed);
    }
    merge_equal_rows(context, branch);
  }
  const std::vector<std::string> names = all_names(*branches);
  if (Status fine = check_expressions(*branches, names); !fine) return propagate(fine);
  if (draft.seed_parameter_place && !draft.spec.seed_parameter.empty() &&
      std::find(names.begin(), names.end(), draft.spec.seed_parameter) == names.end()) {
    return tl::unexpected(draft.seed_parameter_place->error(
        "`seed_parameter` names the unknown parameter " + in_ticks(draft.spec.seed_parameter),
        suggest(draft.spec.seed_parameter, names)));
  }
  std::vector<SpaceBranch> finished_branches;
  for (BranchDraft& branch : *branches) finished_branches.push_back(finished(branch));
  return Space::build(std::move(finished_branches));
}

std::vector<KeyDoc> branch_key_docs() { return key_docs<BranchTarget>("union", kBranchKeys); }

}  // namespace seedbed
