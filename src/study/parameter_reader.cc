// One parameter of the sweep file: W&B's keys, and ours beside them.
#include <array>
#include <cmath>

#include "base/text.h"
#include "study/reader_draft.h"
#include "study/word_numbers.h"

namespace seedbed {

namespace {

// A number with the place where it stands.
struct Bound {
  Value value;
  std::size_t offset = 0;

  [[nodiscard]] double number() const { return *value.number(); }
  [[nodiscard]] bool integer() const { return value.kind() == ValueKind::integer; }
};

struct ParameterDraft {
  std::string name;
  std::size_t offset = 0;
  std::string listed_by;  // value, values, linspace or geomspace; empty: none yet
  std::vector<Value> values;
  ValueNotes notes;
  std::map<std::string, Bound> bounds;  // min max q mu sigma a b
  std::string distribution;
  std::size_t distribution_offset = 0;
  bool log = false;
  std::vector<double> probabilities;
  std::size_t probabilities_offset = 0;
  std::optional<Expression> when;
  std::optional<FlagStyle> flag;
  std::size_t flag_offset = 0;
  const YamlNode* group = nullptr;

  [[nodiscard]] std::string title() const { return in_ticks(name); }
};

Status listed(ReadContext& context, const YamlNode& node, ParameterDraft& draft,
              const std::string& key) {
  if (!draft.listed_by.empty()) {
    return context.error(
        node, draft.title() + " has both `" + draft.listed_by + "` and `" + key + "`", "keep one");
  }
  draft.listed_by = key;
  return {};
}

Status read_one_value(ReadContext& context, const YamlNode& node, ParameterDraft& draft) {
  if (Status one = listed(context, node, draft, "value"); !one) return one;
  Result<Value> value = read_value(context, node, draft.notes);
  if (!value) return propagate(value);
  draft.values = {std::move(*value)};
  return {};
}

Status read_value_list(ReadContext& context, const YamlNode& node, ParameterDraft& draft) {
  if (Status one = listed(context, node, draft, "values"); !one) return one;
  if (!node.is_sequence()) {
    return context.error(node, draft.title() + ": `values` takes a list",
                         "write values: [a, b], or value: for one");
  }
  if (node.items.empty()) {
    return context.error(node, draft.title() + ": the list of values is empty",
                         "write at least one value, or leave the parameter out");
  }
  for (const YamlPointer& item : node.items) {
    Result<Value> value = read_value(context, *item, draft.notes);
    if (!value) return propagate(value);
    draft.values.push_back(std::move(*value));
  }
  return {};
}

Result<Bound> read_bound(ReadContext& context, const YamlNode& node, const ParameterDraft& draft,
                         const std::string& key) {
  if (Result<double> number = read_number(context, node, draft.title() + ": `" + key + "`");
      !number) {
    return propagate(number);
  }
  return Bound{Value::from_plain(node.text), node.offset};
}

template <typename Make>
Status read_spaced(ReadContext& context, const YamlNode& node, ParameterDraft& draft,
                   const std::string& key, const Make& make) {
  if (Status one = listed(context, node, draft, key); !one) return one;
  if (!node.is_sequence() || node.items.size() != 3) {
    return context.error(node, draft.title() + ": `" + key + "` takes a list of three numbers",
                         "write " + key + ": [first, last, number of values]");
  }
  std::array<Value, 3> numbers;
  for (std::size_t i = 0; i < 3; ++i) {
    Result<Bound> number = read_bound(context, *node.items[i], draft, key);
    if (!number) return propagate(number);
    numbers[i] = number->value;
  }
  Result<std::vector<Value>> values = make(numbers[0], numbers[1], numbers[2]);
  if (!values) return context.error(node, draft.title() + ": " + values.error().message);
  draft.values = std::move(*values);
  return {};
}

Status read_linspace(ReadContext& context, const YamlNode& node, ParameterDraft& draft) {
  return read_spaced(context, node, draft, "linspace", linear_values);
}

Status read_geomspace(ReadContext& context, const YamlNode& node, ParameterDraft& draft) {
  return read_spaced(context, node, draft, "geomspace", geometric_values);
}

enum class BoundKey { min, max, q, mu, sigma, a, b };
constexpr std::array<const char*, 7> kBoundNames = {"min", "max", "q", "mu", "sigma", "a", "b"};

template <BoundKey Which>
Status read_named_bound(ReadContext& context, const YamlNode& node, ParameterDraft& draft) {
  const std::string key = kBoundNames[static_cast<std::size_t>(Which)];
  Result<Bound> bound = read_bound(context, node, draft, key);
  if (!bound) return propagate(bound);
  draft.bounds[key] = std::move(*bound);
  return {};
}

Status read_distribution_word(ReadContext& context, const YamlNode& node, ParameterDraft& draft) {
  Result<std::string> word = read_text(context, node, "`distribution`");
  if (!word) return propagate(word);
  draft.distribution = *word;
  draft.distribution_offset = node.offset;
  return {};
}

Status read_log(ReadContext& context, const YamlNode& node, ParameterDraft& draft) {
  Result<bool> log = read_bool(context, node, "`log`");
  if (!log) return propagate(log);
  draft.log = *log;
  return {};
}

Status read_probabilities(ReadContext& context, const YamlNode& node, ParameterDraft& draft) {
  if (!node.is_sequence()) {
    return context.error(node, draft.title() + ": `probabilities` takes a list of numbers");
  }
  for (const YamlPointer& item : node.items) {
    Result<double> number = read_number(context, *item, draft.title() + ": a probability");
    if (!number) return propagate(number);
    if (*number < 0) return context.error(*item, draft.title() + ": a probability below zero");
    draft.probabilities.push_back(*number);
  }
  draft.probabilities_offset = node.offset;
  return {};
}

Status read_when(ReadContext& context, const YamlNode& node, ParameterDraft& draft) {
  Result<PlacedExpression> when = read_expression(context, node, "`when` of " + draft.title());
  if (!when) return propagate(when);
  draft.when = std::move(when->expression);
  return {};
}

Status read_flag(ReadContext& context, const YamlNode& node, ParameterDraft& draft) {
  static constexpr std::array kStyles = {FlagStyle::present, FlagStyle::no, FlagStyle::zero_one,
                                         FlagStyle::true_false, FlagStyle::python};
  Result<std::size_t> style = read_choice(context, node, draft.title() + ": `flag`",
                                          {"present", "no", "01", "true-false", "python"});
  if (!style) return propagate(style);
  draft.flag = kStyles[*style];
  draft.flag_offset = node.offset;
  return {};
}

Status read_group(ReadContext& context, const YamlNode& node, ParameterDraft& draft) {
  if (!node.is_map()) {
    return context.error(node, draft.title() + ": `parameters` takes a map of parameters");
  }
  draft.group = &node;
  return {};
}

constexpr Key<ParameterDraft> kParameterKeys[] = {
    {"value", "one value", read_one_value},
    {"values", "list of values, in the order to try them", read_value_list},
    {"min", "lower end of a range; integers when `max` is one too",
     read_named_bound<BoundKey::min>},
    {"max", "upper end of a range, included for integers", read_named_bound<BoundKey::max>},
    {"log", "`true`: the range between `min` and `max` is drawn on a log scale", read_log},
    {"distribution", "one of the distributions below", read_distribution_word},
    {"q", "step of the `q_` distributions; 1", read_named_bound<BoundKey::q>},
    {"mu", "mean of the normal distributions; 0", read_named_bound<BoundKey::mu>},
    {"sigma", "standard deviation of the normal distributions; 1",
     read_named_bound<BoundKey::sigma>},
    {"a", "first shape of the beta distributions; 1", read_named_bound<BoundKey::a>},
    {"b", "second shape of the beta distributions; 1", read_named_bound<BoundKey::b>},
    {"probabilities", "one weight per value, adding up to 1; for random and Sobol search",
     read_probabilities},
    {"linspace", "`[first, last, n]`: n values, evenly spaced, ends included", read_linspace},
    {"geomspace", "`[first, last, n]`: n values in even ratios, ends included", read_geomspace},
    {"when", "the parameter exists only where this expression holds", read_when},
    {"flag", "how true and false reach the program: present, no, 01, true-false, python",
     read_flag},
    {"parameters", "a group: its parameters are named `group.name`", read_group},
};

// What each distribution reads besides its name.
struct DistributionWord {
  std::string_view name;
  std::optional<DistributionKind> kind;  // nothing: values, not numbers
  std::string_view needs;
  std::string_view may;
};

constexpr DistributionWord kDistributions[] = {
    {"constant", std::nullopt, "", ""},
    {"categorical", std::nullopt, "", ""},
    {"categorical_w_probabilities", std::nullopt, "", ""},
    {"int_uniform", DistributionKind::int_uniform, "min max", ""},
    {"uniform", DistributionKind::uniform, "min max", ""},
    {"q_uniform", DistributionKind::q_uniform, "min max", "q"},
    {"log_uniform", DistributionKind::log_uniform, "min max", ""},
    {"log_uniform_values", DistributionKind::log_uniform_values, "min max", ""},
    {"q_log_uniform", DistributionKind::q_log_uniform, "min max", "q"},
    {"q_log_uniform_values", DistributionKind::q_log_uniform_values, "min max", "q"},
    {"inv_log_uniform", DistributionKind::inv_log_uniform, "min max", ""},
    {"inv_log_uniform_values", DistributionKind::inv_log_uniform_values, "min max", ""},
    {"normal", DistributionKind::normal, "", "mu sigma"},
    {"q_normal", DistributionKind::q_normal, "", "mu sigma q"},
    {"log_normal", DistributionKind::log_normal, "", "mu sigma"},
    {"q_log_normal", DistributionKind::q_log_normal, "", "mu sigma q"},
    {"beta", DistributionKind::beta, "", "a b"},
    {"q_beta", DistributionKind::q_beta, "", "a b q"},
};

bool has_word(std::string_view words, std::string_view word) {
  for (std::string_view each : split(words, ' ')) {
    if (each == word) return true;
  }
  return false;
}

const DistributionWord* find_distribution(std::string_view name) {
  for (const DistributionWord& word : kDistributions) {
    if (word.name == name) return &word;
  }
  return nullptr;
}

// The distribution's name when the file gives none: from the kind of the numbers.
Result<std::string> implied_distribution(const ReadContext& context, const ParameterDraft& draft) {
  for (const char* key : {"mu", "sigma", "a", "b"}) {
    const auto bound = draft.bounds.find(key);
    if (bound == draft.bounds.end()) continue;
    return context.error_at(
        bound->second.offset, draft.title() + ": `" + key + "` needs a `distribution`",
        key[0] == 'm' || key[0] == 's' ? "write distribution: normal" : "write distribution: beta");
  }
  const auto min = draft.bounds.find("min");
  const auto max = draft.bounds.find("max");
  if (min == draft.bounds.end() || max == draft.bounds.end()) {
    const bool lower_missing = min == draft.bounds.end();
    return context.error_at(
        draft.offset, draft.title() + ": `" + (lower_missing ? "min" : "max") + "` is missing");
  }
  if (draft.bounds.contains("q"))
    return std::string(draft.log ? "q_log_uniform_values" : "q_uniform");
  if (min->second.integer() && max->second.integer()) return std::string("int_uniform");
  return std::string(draft.log ? "log_uniform_values" : "uniform");
}

Status check_bounds(const ReadContext& context, const ParameterDraft& draft,
                    const DistributionWord& word) {
  for (std::string_view need : split(word.needs, ' ')) {
    if (!need.empty() && draft.bounds.find(std::string(need)) == draft.bounds.end()) {
      return context.error_at(
          draft.distribution_offset,
          draft.title() + ": " + std::string(word.name) + " needs `" + std::string(need) + "`");
    }
  }
  for (const auto& [key, bound] : draft.bounds) {
    if (has_word(word.needs, key) || has_word(word.may, key)) continue;
    return context.error_at(bound.offset, draft.title() + ": `" + key + "` means nothing for " +
                                              std::string(word.name));
  }
  const auto min = draft.bounds.find("min");
  const auto max = draft.bounds.find("max");
  if (min == draft.bounds.end()) return {};
  if (*word.kind == DistributionKind::int_uniform &&
      !(min->second.integer() && max->second.integer())) {
    return context.error_at(min->second.offset,
                            draft.title() + ": int_uniform takes integers as `min` and `max`");
  }
  if (min->second.number() == max->second.number()) {
    return context.error_at(
        max->second.offset,
        draft.title() + ": `min` and `max` are both " + max->second.value.spelling(),
        "write value: " + max->second.value.spelling());
  }
  if (min->second.number() > max->second.number()) {
    return context.error_at(min->second.offset, draft.title() + ": `min` is above `max`",
                            "exchange them");
  }
  return {};
}

Result<Distribution> make_distribution(ReadContext& context, ParameterDraft& draft) {
  if (draft.distribution.empty()) {
    Result<std::string> implied = implied_distribution(context, draft);
    if (!implied) return propagate(implied);
    draft.distribution = *implied;
    draft.distribution_offset = draft.offset;
  }
  const DistributionWord* word = find_distribution(draft.distribution);
  if (word == nullptr) {
    std::vector<std::string> names;
    for (const DistributionWord& known : kDistributions) names.emplace_back(known.name);
    return context.error_at(
        draft.distribution_offset,
        draft.title() + ": unknown distribution " + in_ticks(draft.distribution),
        suggest(draft.distribution, names));
  }
  if (!word->kind) {
    return context.error_at(draft.distribution_offset, draft.title() + ": " + draft.distribution +
                                                           " needs `value` or `values`");
  }
  if (Status fine = check_bounds(context, draft, *word); !fine) return propagate(fine);
  Distribution distribution;
  distribution.kind = *word->kind;
  const std::pair<const char*, double*> fields[] = {
      {"min", &distribution.min},     {"max", &distribution.max}, {"mu", &distribution.mu},
      {"sigma", &distribution.sigma}, {"a", &distribution.a},     {"b", &distribution.b},
      {"q", &distribution.q}};
  for (const auto& [key, field] : fields) {
    const auto bound = draft.bounds.find(key);
    if (bound != draft.bounds.end()) *field = bound->second.number();
  }
  const auto q = draft.bounds.find("q");
  const bool quantised = has_word(word->may, "q");
  distribution.integer_result = distribution.kind == DistributionKind::int_uniform ||
                                (quantised && (q == draft.bounds.end() || q->second.integer()));
  if (draft.log && distribution.kind == DistributionKind::int_uniform) {
    distribution.log_integer = true;
  } else if (draft.log && draft.distribution.find("log_uniform_values") == std::string::npos) {
    return context.error_at(draft.distribution_offset,
                            draft.title() + ": `log` means nothing for " + draft.distribution);
  }
  if (Status valid = distribution.validate(); !valid) {
    return context.error_at(draft.offset, draft.title() + ": " + valid.error().message);
  }
  if (const std::string doubt = distribution.doubt(); !doubt.empty()) {
    context.warn(draft.distribution_offset, draft.title() + ": " + doubt);
  }
  return distribution;
}

Status check_probabilities(const ReadContext& context, const ParameterDraft& draft) {
  if (draft.probabilities.empty()) return {};
  if (draft.probabilities.size() != draft.values.size()) {
    return context.error_at(draft.probabilities_offset,
                            draft.title() + ": " + std::to_string(draft.probabilities.size()) +
                                " probabilities for " + std::to_string(draft.values.size()) +
                                " values");
  }
  double sum = 0;
  for (const double probability : draft.probabilities) sum += probability;
  if (std::fabs(sum - 1) > 1e-6) {
    return context.error_at(
        draft.probabilities_offset,
        draft.title() + ": the probabilities add up to " + format_number(sum) + ", not 1");
  }
  return {};
}

Status check_flag(const ReadContext& context, const ParameterDraft& draft) {
  if (!draft.flag) return {};
  for (const Value& value : draft.values) {
    if (value.kind() == ValueKind::boolean) return {};
  }
  return context.error_at(draft.flag_offset,
                          draft.title() +
                              ": `flag` is for true and false, which are not among "
                              "its values",
                          "write values: [true, false]");
}

Status finish(ReadContext& context, ParameterDraft& draft,
              std::vector<PlacedDimension>& dimensions) {
  Dimension dimension;
  dimension.name = draft.name;
  const bool categorical =
      draft.distribution.empty() || (find_distribution(draft.distribution) != nullptr &&
                                     !find_distribution(draft.distribution)->kind);
  if (!draft.listed_by.empty()) {
    if (!draft.bounds.empty() || draft.log || !categorical) {
      return context.error_at(
          draft.offset,
          draft.title() + " has both `" + draft.listed_by + "` and a range or distribution",
          "keep one");
    }
  } else if (!draft.bounds.empty() || !draft.distribution.empty()) {
    Result<Distribution> distribution = make_distribution(context, draft);
    if (!distribution) return propagate(distribution);
    dimension.distribution = *distribution;
  } else {
    return context.error_at(draft.offset, draft.title() + " has no values",
                            "write values: [a, b], value: a, or min: and max:");
  }
  if (Status fine = check_probabilities(context, draft); !fine) return fine;
  if (Status fine = check_flag(context, draft); !fine) return fine;
  dimension.values = std::move(draft.values);
  dimension.probabilities = std::move(draft.probabilities);
  dimension.when = std::move(draft.when);
  dimension.flag = draft.flag.value_or(FlagStyle::python);
  tell(context, draft.offset, draft.name, draft.notes);
  dimensions.push_back({std::move(dimension), {context.source, draft.offset}});
  return {};
}

Status read_parameter_list(ReadContext& context, const YamlNode& node, const std::string& prefix,
                           std::vector<PlacedDimension>& dimensions, bool& nested);

Status read_parameter(ReadContext& context, const YamlEntry& entry, const std::string& prefix,
                      std::vector<PlacedDimension>& dimensions, bool& nested) {
  ParameterDraft draft;
  draft.name = prefix + entry.key;
  draft.offset = entry.key_offset;
  if (const auto problem = name_problem(entry.key)) {
    return context.error_at(entry.key_offset, *problem);
  }
  const YamlNode& node = *entry.value;
  if (node.is_sequence() && node.tag.empty()) {
    if (Status list = read_value_list(context, node, draft); !list) return list;
    return finish(context, draft, dimensions);
  }
  if (!node.is_map()) {
    if (Status value = read_one_value(context, node, draft); !value) return value;
    return finish(context, draft, dimensions);
  }
  const std::size_t errors = context.errors.size();
  read_keys<ParameterDraft>(context, node, "parameter " + draft.title(), kParameterKeys, draft,
                            "write value: {…} for a map as one value, parameters: {…} for a group");
  if (context.errors.size() > errors) return {};  // told already
  if (draft.group == nullptr) return finish(context, draft, dimensions);
  if (node.entries.size() > 1) {
    return context.error_at(draft.offset,
                            draft.title() + " is a group and has keys of a parameter besides",
                            "keep `parameters` alone");
  }
  nested = true;
  return read_parameter_list(context, *draft.group, draft.name + ".", dimensions, nested);
}

Status read_parameter_list(ReadContext& context, const YamlNode& node, const std::string& prefix,
                           std::vector<PlacedDimension>& dimensions, bool& nested) {
  for (const YamlEntry& entry : node.entries) {
    Status read = read_parameter(context, entry, prefix, dimensions, nested);
    if (!read) context.keep(read.error());
  }
  return {};
}

}  // namespace

Status read_parameters(ReadContext& context, const YamlNode& node,
                       std::vector<PlacedDimension>& dimensions, bool& nested) {
  if (node.kind == YamlNode::Kind::null) return {};
  if (!node.is_map()) {
    return context.error(node, "`parameters` takes a map of parameters",
                         "write parameters: {lr: {values: [0.1, 0.01]}}");
  }
  return read_parameter_list(context, node, "", dimensions, nested);
}

Result<PlacedExpression> read_expression(const ReadContext& context, const YamlNode& node,
                                         const std::string& what) {
  Result<std::string> text = read_text(context, node, what);
  if (!text) return propagate(text);
  const std::string place = context.source->place_text(node.offset) + ": " + what;
  Result<Expression> expression = Expression::parse(trim(*text));
  if (!expression) return tl::unexpected(expression.error().with_context(place));
  return PlacedExpression{std::move(*expression), place};
}

std::vector<KeyDoc> parameter_key_docs() {
  return key_docs<ParameterDraft>("parameter", kParameterKeys);
}

}  // namespace seedbed
