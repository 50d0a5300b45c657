#include <algorithm>

#include "controller/attempt_setup.h"
#include "study/value_json.h"

namespace seedbed {
namespace {

/// A number as YAML 1.1 knows it too, which W&B's client reads: with an exponent it needs a point
/// before and a sign in it (`1e-3` would be a text there).
std::string yaml_number(std::string text) {
  const std::size_t exponent = text.find_first_of("eE");
  if (exponent == std::string::npos) return text;
  if (text[exponent + 1] != '-' && text[exponent + 1] != '+') text.insert(exponent + 1, "+");
  if (text.find('.') == std::string::npos) text.insert(exponent, ".0");
  return text;
}

/// JSON is YAML, but for its numbers: those within lists and maps too.
std::string yaml_of(const Value& value) {
  const std::string json = json_of(value);
  std::string text;
  for (std::size_t at = 0; at < json.size();) {
    std::size_t end = at + 1;
    if (json[at] == '"') {
      while (end < json.size() && json[end] != '"') end += json[end] == '\\' ? 2 : 1;
      text += json.substr(at, ++end - at);
    } else if (json[at] == '-' || (json[at] >= '0' && json[at] <= '9')) {
      end = std::min(json.find_first_not_of("0123456789+-.eE", at), json.size());
      text += yaml_number(json.substr(at, end - at));
    } else {
      text += json[at];
    }
    at = end;
  }
  return text;
}

}  // namespace

std::string params_json(const Point& point) {
  std::string values;
  std::string texts;
  for (const Parameter& parameter : point.parameters) {
    if (parameter.value.is_absent()) continue;
    if (!values.empty()) values += ",\n    ", texts += ",\n    ";
    values += json_text(parameter.name) + ": " + json_of(parameter.value);
    texts += json_text(parameter.name) + ": " + json_text(parameter.value.spelling());
  }
  return "{\n  \"values\": {\n    " + values + "\n  },\n  \"text\": {\n    " + texts + "\n  }\n}\n";
}

std::string wandb_params_yaml(const Point& point) {
  std::string text = "wandb_version: 1\n\n";
  for (const Parameter& parameter : point.parameters) {
    if (parameter.value.is_absent()) continue;
    // JSON is YAML: quoting in its way is right for every name and value.
    text += json_text(parameter.name) + ":\n  value: " + yaml_of(parameter.value) + "\n";
  }
  return text;
}

}  // namespace seedbed
