// The study as one YAML text, kept as STUDY/sweep.yaml and read again by `run --study NAME`.
//
// Names and texts are double-quoted, so that no reader takes them for something else; numbers keep
// their spelling. A list or map that is one value is written as it was spelled when that is YAML
// with the same meaning, else as `!spelled ["SPELLING", JSON]`. The emitter of yaml-cpp is not
// used: it drops quotes.
#include <cmath>
#include <cstdio>

#include "base/text.h"
#include "study/reader_context.h"
#include "study/readers.h"

namespace seedbed {

namespace {

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7F) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\x%02X", static_cast<unsigned>(byte));
      out += escape;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string number_text(double value, bool integer) {
  if (integer) {
    char text[32];
    std::snprintf(text, sizeof text, "%.0f", value);
    return text;
  }
  std::string text = format_number(value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

// A plain number of the settings: whole ones without a point.
std::string plain_number(double value) {
  return number_text(value, std::rint(value) == value && std::fabs(value) < 1e15);
}

std::string milliseconds(Milliseconds duration) { return std::to_string(duration.count()) + "ms"; }

std::string in_brackets(const std::vector<std::string>& parts) {
  return "[" + join(parts, ", ") + "]";
}

std::string structure_text(const Value& value) {
  const std::string json = value.canonical().substr(2);
  const SourceText source("value", "v: " + value.spelling() + "\n");
  if (Result<YamlPointer> tree = parse_yaml(source); tree && (*tree)->is_map()) {
    const YamlNode* node = (*tree)->entries.size() == 1 ? (*tree)->find("v") : nullptr;
    ReadContext context;
    context.source = &source;
    ValueNotes notes;
    if (node != nullptr && !node->is_scalar() && node->tag.empty()) {
      const Result<Value> again = read_value(context, *node, notes);
      if (again && *again == value && again->spelling() == value.spelling()) {
        return value.spelling();
      }
    }
  }
  return "!spelled [" + in_quotes(value.spelling()) + ", " + json + "]";
}

std::string value_text(const Value& value) {
  switch (value.kind()) {
    case ValueKind::absent:
      return "!absent \"\"";
    case ValueKind::null:
      return "null";
    case ValueKind::boolean:
      return value.number() == 1.0 ? "true" : "false";
    case ValueKind::integer:
    case ValueKind::real:
      return value.spelling();
    case ValueKind::text:
      return in_quotes(value.spelling());
    case ValueKind::structure:
      return structure_text(value);
  }
  return "null";
}

std::string_view distribution_word(DistributionKind kind) {
  switch (kind) {
    case DistributionKind::int_uniform:
      return "int_uniform";
    case DistributionKind::uniform:
      return "uniform";
    case DistributionKind::q_uniform:
      return "q_uniform";
    case DistributionKind::log_uniform:
      return "log_uniform";
    case DistributionKind::log_uniform_values:
      return "log_uniform_values";
    case DistributionKind::q_log_uniform:
      return "q_log_uniform";
    case DistributionKind::q_log_uniform_values:
      return "q_log_uniform_values";
    case DistributionKind::inv_log_uniform:
      return "inv_log_uniform";
    case DistributionKind::inv_log_uniform_values:
      return "inv_log_uniform_values";
    case DistributionKind::normal:
      return "normal";
    case DistributionKind::q_normal:
      return "q_normal";
    case DistributionKind::log_normal:
      return "log_normal";
    case DistributionKind::q_log_normal:
      return "q_log_normal";
    case DistributionKind::beta:
      return "beta";
    case DistributionKind::q_beta:
      return "q_beta";
  }
  return "uniform";
}

std::string distribution_text(const Distribution& distribution) {
  const std::string word(distribution_word(distribution.kind));
  std::string text = "distribution: " + word;
  const bool integer = distribution.kind == DistributionKind::int_uniform;
  if (word.find("normal") != std::string::npos) {
    text += ", mu: " + number_text(distribution.mu, false);
    text += ", sigma: " + number_text(distribution.sigma, false);
  } else if (word.find("beta") != std::string::npos) {
    text += ", a: " + number_text(distribution.a, false);
    text += ", b: " + number_text(distribution.b, false);
  } else {
    text += ", min: " + number_text(distribution.min, integer);
    text += ", max: " + number_text(distribution.max, integer);
  }
  if (word.starts_with("q_")) {
    text += ", q: " + number_text(distribution.q, distribution.integer_result);
  }
  if (distribution.log_integer) text += ", log: true";
  return text;
}

std::string_view flag_word(FlagStyle style) {
  switch (style) {
    case FlagStyle::python:
      return "python";
    case FlagStyle::present:
      return "present";
    case FlagStyle::no:
      return "no";
    case FlagStyle::zero_one:
      return "01";
    case FlagStyle::true_false:
      return "true-false";
  }
  return "python";
}

std::string dimension_text(const Dimension& dimension) {
  std::string text = "{";
  if (!dimension.values.empty()) {
    std::vector<std::string> values;
    for (const Value& value : dimension.values) values.push_back(value_text(value));
    text += "values: " + in_brackets(values);
  } else if (dimension.distribution) {
    text += distribution_text(*dimension.distribution);
  }
  if (!dimension.probabilities.empty()) {
    std::vector<std::string> weights;
    for (const double weight : dimension.probabilities)
      weights.push_back(number_text(weight, false));
    text += ", probabilities: " + in_brackets(weights);
  }
  if (dimension.when) text += ", when: " + in_quotes(dimension.when->text());
  if (dimension.flag != FlagStyle::python) {
    text += ", flag: \"" + std::string(flag_word(dimension.flag)) + "\"";
  }
  return text + "}";
}

std::string row_text(const std::vector<Parameter>& row) {
  std::vector<std::string> parts;
  for (const Parameter& parameter : row) {
    parts.push_back(in_quotes(parameter.name) + ": " + value_text(parameter.value));
  }
  return "{" + join(parts, ", ") + "}";
}

std::string quoted_list(const std::vector<std::string>& texts) {
  std::vector<std::string> parts;
  for (const std::string& text : texts) parts.push_back(in_quotes(text));
  return in_brackets(parts);
}

// The keys of one branch, each line after `indent`.
std::string branch_text(const SpaceBranch& branch, const std::string& indent) {
  std::string text;
  if (!branch.dimensions.empty()) {
    text += indent + "parameters:\n";
    for (const Dimension& dimension : branch.dimensions) {
      text += indent + "  " + in_quotes(dimension.name) + ": " + dimension_text(dimension) + "\n";
    }
  }
  if (!branch.zips.empty()) {
    std::vector<std::string> groups;
    for (const std::vector<std::string>& group : branch.zips) groups.push_back(quoted_list(group));
    text += indent + "zip: " + in_brackets(groups) + "\n";
  }
  if (branch.explicit_rows) {
    text += indent + "trials:\n";
    for (const std::vector<Parameter>& row : branch.explicit_rows->rows) {
      text += indent + "  - " + row_text(row) + "\n";
    }
  }
  if (!branch.where.empty()) {
    std::vector<std::string> conditions;
    for (const Expression& where : branch.where) conditions.push_back(where.text());
    text += indent + "where: " + quoted_list(conditions) + "\n";
  }
  return text;
}

std::string space_text(const Space& space) {
  const std::vector<SpaceBranch>& branches = space.branches();
  if (branches.empty()) return {};
  if (branches.size() == 1) return branch_text(branches[0], "");
  std::string text = "union:\n";
  for (const SpaceBranch& branch : branches) {
    const std::string keys = branch_text(branch, "    ");
    text += keys.empty() ? "  - {parameters: {}}\n" : "  -\n" + keys;
  }
  return text;
}

void add_line(std::string& out, std::string_view key, const std::string& text) {
  out.append(key).append(": ").append(text).append("\n");
}

void add_text(std::string& out, std::string_view key, const std::string& text) {
  if (!text.empty()) add_line(out, key, in_quotes(text));
}

void add_map(std::string& out, std::string_view key, const std::vector<std::string>& parts) {
  if (!parts.empty()) add_line(out, key, "{" + join(parts, ", ") + "}");
}

std::string command_text(const StudySpec& spec) {
  static constexpr std::string_view kStyles[] = {"python", "true-false", "01"};
  const CommandTemplate::Options& options = spec.command.options();
  std::string text;
  add_text(text, "program", spec.program);
  if (!spec.command.words().empty()) add_line(text, "command", quoted_list(spec.command.words()));
  if (options.shell) text += "shell: true\n";
  if (options.params_by_file) text += "params: file\n";
  if (options.bool_style != BoolStyle::python) {
    add_text(text, "bool_style",
             std::string(kStyles[static_cast<std::size_t>(options.bool_style)]));
  }
  add_text(text, "template", spec.template_file);
  return text;
}

std::string search_text(const StudySpec& spec) {
  static constexpr std::string_view kMethods[] = {"grid", "random", "sobol"};
  static constexpr std::string_view kOrders[] = {"given", "shuffled", "longest-first"};
  std::string text;
  if (!spec.objective.metric.empty()) {
    std::vector<std::string> metric{"name: " + in_quotes(spec.objective.metric)};
    if (spec.objective.goal_stated) {
      metric.emplace_back(spec.objective.goal == Goal::minimize ? "goal: minimize"
                                                                : "goal: maximize");
    }
    add_map(text, "metric", metric);
  }
  if (spec.method_stated) {
    add_line(text, "method", std::string(kMethods[static_cast<std::size_t>(spec.method)]));
  }
  add_line(text, "sampler_seed", std::to_string(spec.sampler_seed));
  if (spec.order != Order::given) {
    add_line(text, "order", std::string(kOrders[static_cast<std::size_t>(spec.order)]));
  }
  if (spec.seed_parameter != "seed") {
    add_line(text, "seed_parameter",
             in_quotes(spec.seed_parameter.empty() ? "none" : spec.seed_parameter));
  }
  if (spec.run_cap) add_line(text, "run_cap", std::to_string(*spec.run_cap));
  return text;
}

std::string resources_text(const StudySpec& spec) {
  std::string text;
  if (spec.slots) add_line(text, "slots", std::to_string(*spec.slots));
  std::vector<std::string> parts;
  const ResourceSpec& resources = spec.resources;
  if (resources.cpus) parts.push_back("cpus: " + plain_number(*resources.cpus));
  if (resources.gpus > 0) parts.push_back("gpus: " + plain_number(resources.gpus));
  if (resources.gpu_memory > 0) {
    parts.push_back("gpus: {memory: " + std::to_string(resources.gpu_memory) + "}");
  }
  if (resources.memory != 0) parts.push_back("memory: " + std::to_string(resources.memory));
  if (resources.ranks != 1) parts.push_back("ranks: " + std::to_string(resources.ranks));
  if (!resources.mpi.empty()) parts.push_back("mpi: " + in_quotes(resources.mpi));
  for (const auto& [name, amount] : resources.named) {
    parts.push_back(in_quotes(name) + ": " + plain_number(amount));
  }
  add_map(text, "resources", parts);
  parts.clear();
  const LimitSpec& limits = spec.limits;
  if (limits.time) parts.push_back("time: " + milliseconds(*limits.time));
  if (limits.silence) parts.push_back("silence: " + milliseconds(*limits.silence));
  if (limits.study) parts.push_back("study: " + milliseconds(*limits.study));
  if (limits.log_bytes) parts.push_back("log: " + std::to_string(*limits.log_bytes));
  add_map(text, "limits", parts);
  return text;
}

std::string settings_text(const StudySpec& spec) {
  std::string text;
  const RetrySpec& retries = spec.retries;
  if (retries.count > 0 || retries.on != RetrySpec{}.on || retries.wait.count() > 0) {
    std::vector<std::string> causes;
    for (const OutcomeKind kind : retries.on) causes.emplace_back(outcome_word(kind));
    std::vector<std::string> parts{"count: " + std::to_string(retries.count),
                                   "on: " + in_brackets(causes)};
    if (retries.wait.count() > 0) parts.push_back("wait: " + milliseconds(retries.wait));
    add_map(text, "retries", parts);
  }
  if (!spec.halt.empty()) add_text(text, "halt", spec.halt);
  std::vector<std::string> rules;
  for (const PrunerSpec& rule : spec.pruners) {
    std::string one = "{type: " + in_quotes(rule.type);
    for (const auto& [key, number] : rule.options) one += ", " + key + ": " + plain_number(number);
    rules.push_back(one + "}");
  }
  rules.insert(rules.end(), spec.rules_to_come.begin(), spec.rules_to_come.end());
  if (!rules.empty()) add_line(text, "early_terminate", in_brackets(rules));
  std::vector<std::string> variables;
  for (const auto& [name, value] : spec.env) {
    variables.push_back(in_quotes(name) + ": " + in_quotes(value));
  }
  add_map(text, "env", variables);
  if (spec.workdir == Workdir::trial) text += "workdir: trial\n";
  std::vector<std::string> captures;
  for (const CaptureSpec& capture : spec.capture) {
    if (!capture.file.empty()) captures.push_back("{file: " + in_quotes(capture.file) + "}");
    if (!capture.pattern.empty())
      captures.push_back("{pattern: " + in_quotes(capture.pattern) + "}");
    if (!capture.failure.empty())
      captures.push_back("{failure: " + in_quotes(capture.failure) + "}");
  }
  if (!captures.empty()) add_line(text, "capture", in_brackets(captures));
  if (spec.snapshot) text += "snapshot: true\n";
  return text;
}

}  // namespace

std::string write_study(const StudySpec& spec) {
  std::string text = "# The study as it was last run; written by seedbed.\n";
  add_text(text, "name", spec.name);
  add_text(text, "description", spec.description);
  add_text(text, "project", spec.project);
  add_text(text, "entity", spec.entity);
  text += command_text(spec);
  text += search_text(spec);
  text += space_text(spec.space);
  text += resources_text(spec);
  text += settings_text(spec);
  return text;
}

}  // namespace seedbed
