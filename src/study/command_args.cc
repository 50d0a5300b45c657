#include "study/command_args.h"

#include "base/text.h"
#include "study/value_json.h"

namespace seedbed {
namespace {

FlagStyle style_of(const Parameter& parameter, const FlagStyles& flags) {
  const auto found = flags.find(parameter.name);
  return found == flags.end() ? FlagStyle::python : found->second;
}

bool is_true(const Value& value) { return value == Value::boolean(true); }

void add_option(std::vector<std::string>& words, Macro macro, const Parameter& parameter,
                const std::string& text) {
  const std::string& name = parameter.name;
  switch (macro) {
    case Macro::args_no_equals:
      words.push_back("--" + name);
      words.push_back(text);
      break;
    case Macro::args_no_hyphens:
      words.push_back(name + "=" + text);
      break;
    case Macro::args_append_hydra:
      words.push_back("+" + name + "=" + text);
      break;
    case Macro::args_override_hydra:
      words.push_back("++" + name + "=" + text);
      break;
    default:
      words.push_back("--" + name + "=" + text);
  }
}

bool has_hyphens(Macro macro) {
  return macro == Macro::args || macro == Macro::args_no_equals ||
         macro == Macro::args_no_boolean_flags;
}

// A group of dotted names, or one value.
struct JsonNode {
  std::string key;
  const Value* value = nullptr;
  std::vector<JsonNode> children;

  JsonNode& child(std::string_view name) {
    for (JsonNode& node : children) {
      if (node.key == name) return node;
    }
    return children.emplace_back(JsonNode{std::string(name), nullptr, {}});
  }

  [[nodiscard]] std::string text() const {
    if (value != nullptr) return json_of(*value);
    std::string result = "{";
    for (const JsonNode& node : children) {
      if (result.size() > 1) result += ", ";
      result += json_text(node.key) + ": " + node.text();
    }
    return result + "}";
  }
};

}  // namespace

std::string value_text(const Parameter& parameter, const FlagStyles& flags, BoolStyle style) {
  if (parameter.value.kind() != ValueKind::boolean) return parameter.value.spelling();
  const bool truth = is_true(parameter.value);
  const FlagStyle flag = style_of(parameter, flags);
  if (flag == FlagStyle::zero_one) return truth ? "1" : "0";
  if (flag == FlagStyle::true_false) return truth ? "true" : "false";
  switch (style) {
    case BoolStyle::zero_one:
      return truth ? "1" : "0";
    case BoolStyle::lower:
      return truth ? "true" : "false";
    case BoolStyle::python:
      break;
  }
  return truth ? "True" : "False";
}

std::vector<std::string> expand_args(Macro macro, const Point& point, const FlagStyles& flags,
                                     BoolStyle style) {
  if (macro == Macro::args_json) return {CommandTemplate::arguments_json(point)};
  std::vector<std::string> words;
  for (const Parameter& parameter : point.parameters) {
    if (parameter.value.is_absent()) continue;
    if (parameter.value.kind() == ValueKind::boolean && has_hyphens(macro)) {
      const bool truth = is_true(parameter.value);
      FlagStyle flag = style_of(parameter, flags);
      // The macro says so for all; what a parameter says for itself goes first.
      if (macro == Macro::args_no_boolean_flags && flag == FlagStyle::python) {
        flag = FlagStyle::present;
      }
      if (flag == FlagStyle::present || flag == FlagStyle::no) {
        if (truth) words.push_back("--" + parameter.name);
        if (!truth && flag == FlagStyle::no) words.push_back("--no-" + parameter.name);
        continue;
      }
    }
    add_option(words, macro, parameter, value_text(parameter, flags, style));
  }
  return words;
}

std::string CommandTemplate::arguments_json(const Point& point) {
  // A name that is also the head of dotted ones (`opt`, `opt.lr`) cannot be both a value and a
  // group: then the dotted ones keep their dots.
  JsonNode root;
  for (const Parameter& parameter : point.parameters) {
    if (parameter.value.is_absent()) continue;
    std::string_view rest = parameter.name;
    JsonNode* node = &root;
    std::string path;
    for (std::size_t dot = rest.find('.'); dot != std::string_view::npos; dot = rest.find('.')) {
      path += (path.empty() ? "" : ".") + std::string(rest.substr(0, dot));
      const Value* taken = point.find(path);
      if (taken != nullptr && !taken->is_absent()) break;
      node = &node->child(rest.substr(0, dot));
      rest.remove_prefix(dot + 1);
    }
    node->child(rest).value = &parameter.value;
  }
  return root.text();
}

}  // namespace seedbed
