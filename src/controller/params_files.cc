#include <nlohmann/json.hpp>

#include "controller/attempt_setup.h"

namespace seedbed {
namespace {

using Json = nlohmann::ordered_json;

/// JSON of a value. A number is written with the digits the user typed, so that nothing is rounded
/// on the way; only forms that JSON lacks (`.5`, `5.`, `+1`) are completed.
std::string json_of(const Value& value) {
  switch (value.kind()) {
    case ValueKind::absent:
    case ValueKind::null:
      return "null";
    case ValueKind::boolean:
      return *value.number() != 0 ? "true" : "false";
    case ValueKind::integer:
    case ValueKind::real: {
      std::string digits = value.spelling();
      if (digits.starts_with('+')) digits.erase(0, 1);
      const std::size_t start = digits.starts_with('-') ? 1 : 0;
      if (digits.substr(start).starts_with('.')) digits.insert(start, "0");
      const std::size_t point = digits.find('.');
      if (point != std::string::npos &&
          (point + 1 == digits.size() || digits[point + 1] < '0' || digits[point + 1] > '9')) {
        digits.insert(point + 1, "0");
      }
      if (Json::accept(digits)) return digits;
      return Json(*value.number()).dump();
    }
    case ValueKind::text:
      return Json(value.spelling()).dump(-1, ' ', false, Json::error_handler_t::replace);
    case ValueKind::structure:
      if (Json::accept(value.spelling())) return value.spelling();
      return Json(value.spelling()).dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  return "null";
}

/// A number as YAML 1.1 knows it too, which W&B's client reads: with an exponent it needs a point
/// before and a sign in it (`1e-3` would be a text there).
std::string yaml_of(const Value& value) {
  std::string text = json_of(value);
  if (value.kind() != ValueKind::real && value.kind() != ValueKind::integer) return text;
  const std::size_t exponent = text.find_first_of("eE");
  if (exponent == std::string::npos) return text;
  if (text[exponent + 1] != '-' && text[exponent + 1] != '+') text.insert(exponent + 1, "+");
  if (text.find('.') == std::string::npos) text.insert(exponent, ".0");
  return text;
}

std::string quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string params_json(const Point& point) {
  std::string values;
  std::string texts;
  for (const Parameter& parameter : point.parameters) {
    if (parameter.value.is_absent()) continue;
    if (!values.empty()) values += ",\n    ", texts += ",\n    ";
    values += quoted(parameter.name) + ": " + json_of(parameter.value);
    texts += quoted(parameter.name) + ": " + quoted(parameter.value.spelling());
  }
  return "{\n  \"values\": {\n    " + values + "\n  },\n  \"text\": {\n    " + texts + "\n  }\n}\n";
}

std::string wandb_params_yaml(const Point& point) {
  std::string text = "wandb_version: 1\n\n";
  for (const Parameter& parameter : point.parameters) {
    if (parameter.value.is_absent()) continue;
    // JSON is YAML: quoting in its way is right for every name and value.
    text += quoted(parameter.name) + ":\n  value: " + yaml_of(parameter.value) + "\n";
  }
  return text;
}

}  // namespace seedbed
