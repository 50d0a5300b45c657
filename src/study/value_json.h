#pragma once

#include <map>
#include <string>
#include <vector>

#include "study/value.h"

namespace seedbed {

/// A JSON string; what is not UTF-8 is replaced.
[[nodiscard]] std::string json_text(const std::string& text);

/// The typed value as JSON, for programs: numbers with the digits the user typed, never rounded,
/// completed where JSON wants more (`.5`, `5.`); absent and null are null; lists and maps whatever
/// their spelling.
[[nodiscard]] std::string json_of(const Value& value);

/// Canonical JSON of values, for lists and maps that are one value. Numbers are written from their
/// digits and exponent, so equal values give equal text; keys of maps are sorted.
[[nodiscard]] std::string json_value(const Value& value);
[[nodiscard]] std::string json_array(const std::vector<std::string>& items);
[[nodiscard]] std::string json_object(const std::map<std::string, std::string>& entries);

}  // namespace seedbed
