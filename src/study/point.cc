#include "study/point.h"

#include <algorithm>

namespace seedbed {
namespace {

// One pair a line: what could be taken for the end of a name or of a line is escaped.
void append_escaped(std::string& out, std::string_view text, bool name) {
  for (char c : text) {
    if (c == '\\' || (name && c == '=')) {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
}

std::string identity_of(const std::vector<Parameter>& parameters, std::string_view without) {
  std::vector<const Parameter*> sorted;
  sorted.reserve(parameters.size());
  for (const Parameter& parameter : parameters) {
    if (parameter.value.is_absent()) continue;
    if (!without.empty() && parameter.name == without) continue;
    sorted.push_back(&parameter);
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const Parameter* a, const Parameter* b) { return a->name < b->name; });
  std::string text;
  for (const Parameter* parameter : sorted) {
    append_escaped(text, parameter->name, true);
    text += '=';
    append_escaped(text, parameter->value.canonical(), false);
    text += '\n';
  }
  return text;
}

}  // namespace

const Value* Point::find(std::string_view name) const {
  for (const Parameter& parameter : parameters) {
    if (parameter.name == name) return &parameter.value;
  }
  return nullptr;
}

std::string Point::identity() const { return identity_of(parameters, {}); }

std::string Point::configuration_identity(std::string_view seed_parameter) const {
  return identity_of(parameters, seed_parameter);
}

}  // namespace seedbed
