#pragma once

#include <map>
#include <string>
#include <vector>

#include "study/value.h"

namespace seedbed {

/// JSON of values, for lists and maps that are one value. Numbers are written from their digits
/// and exponent, never rounded, so equal values give equal text; keys of maps are sorted.
[[nodiscard]] std::string json_text(const std::string& text);
[[nodiscard]] std::string json_value(const Value& value);
[[nodiscard]] std::string json_array(const std::vector<std::string>& items);
[[nodiscard]] std::string json_object(const std::map<std::string, std::string>& entries);

}  // namespace seedbed
