#include "study/value_json.h"

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace seedbed {

namespace {

// The spelling made valid JSON: `.5` is 0.5 there, `5.` is 5.0, `-.5e3` is -0.5e3.
std::string json_number(const std::string& spelling) {
  std::string text;
  for (std::size_t i = 0; i < spelling.size(); ++i) {
    const auto digit = [&](std::size_t at) {
      return at < spelling.size() && spelling[at] >= '0' && spelling[at] <= '9';
    };
    if (spelling[i] != '.') {
      text += spelling[i];
      continue;
    }
    if (i == 0 || !digit(i - 1)) text += '0';
    text += '.';
    if (!digit(i + 1)) text += '0';
  }
  return text;
}

}  // namespace

std::string json_text(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string json_of(const Value& value) {
  if (value.is_number()) return json_number(value.spelling());
  return json_value(value);
}

std::string json_value(const Value& value) {
  switch (value.kind()) {
    case ValueKind::absent:
    case ValueKind::null:
      return "null";
    case ValueKind::boolean:
      return value.number() == 1.0 ? "true" : "false";
    case ValueKind::integer:
      return value.canonical().substr(2);  // `i:` and digits
    case ValueKind::real: {
      const std::string digits = value.canonical().substr(2);  // `r:`, digits, exponent
      return digits == "0" ? "0.0" : digits;
    }
    case ValueKind::text:
      return json_text(value.spelling());
    case ValueKind::structure:
      return value.canonical().substr(2);  // `s:` and JSON
  }
  return "null";
}

std::string json_array(const std::vector<std::string>& items) {
  return "[" + join(items, ", ") + "]";
}

std::string json_object(const std::map<std::string, std::string>& entries) {
  std::vector<std::string> parts;
  parts.reserve(entries.size());
  for (const auto& [key, value] : entries) parts.push_back(json_text(key) + ": " + value);
  return "{" + join(parts, ", ") + "}";
}

}  // namespace seedbed
