#include "study/folder_name.h"

#include <algorithm>
#include <cstdio>

#include "base/random.h"

namespace seedbed {
namespace {

constexpr std::size_t kFolderLimit = 60;
constexpr std::size_t kHashDigits = 6;
constexpr std::size_t kLongestNumber = 9;  // digits beyond tell people nothing

bool is_safe(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

std::string short_hash(std::string_view text) {
  char buffer[2 * sizeof(std::uint64_t) + 1];
  std::snprintf(buffer, sizeof(buffer), "%016llx",
                static_cast<unsigned long long>(hash_text(text)));
  return std::string(buffer, kHashDigits);
}

// Safe characters as they are, each run of others as one `_`; true when something was lost.
bool append_safe(std::string& out, std::string_view text) {
  bool lost = false;
  for (char c : text) {
    if (is_safe(c)) {
      out += c;
    } else if (out.empty() || out.back() != '_') {
      out += '_';
    }
    lost = lost || !is_safe(c);
  }
  return lost;
}

// A drawn number in four digits; lists are short anyway.
std::string readable(const Value& value, bool& lost) {
  if (value.kind() != ValueKind::real || value.spelling().size() <= kLongestNumber) {
    return value.spelling();
  }
  lost = true;
  char buffer[32];
  std::snprintf(buffer, sizeof(buffer), "%.4g", *value.number());
  return buffer;
}

std::string cut_with_hash(std::string text, const std::string& hash, std::size_t limit) {
  text.resize(std::min(text.size(), limit - kHashDigits - 1));
  while (!text.empty() && (text.back() == '-' || text.back() == '.')) text.pop_back();
  return text + "-" + hash;
}

}  // namespace

std::string trial_folder_name(TrialNumber trial, const Point& point,
                              const std::vector<std::string>& varying) {
  std::string name = std::to_string(trial);
  if (name.size() < 5) name.insert(0, 5 - name.size(), '0');
  bool lost = false;
  for (const std::string& parameter : varying) {
    const Value* value = point.find(parameter);
    if (value == nullptr || value->is_absent()) continue;
    name += '-';
    lost = append_safe(name, parameter) || lost;
    lost = append_safe(name, readable(*value, lost)) || lost;
    // What no longer fits is not put together: a point may have thousands of parameters.
    if (name.size() > kFolderLimit) break;
  }
  if (!lost && name.size() <= kFolderLimit && name.back() != '.') return name;
  return cut_with_hash(name, short_hash(point.identity()), kFolderLimit);
}

std::string safe_file_name(std::string_view text, std::size_t limit) {
  limit = std::max(limit, kHashDigits + 2);
  std::string name;
  bool lost = append_safe(name, text);
  const std::size_t start = name.find_first_not_of("-.");
  if (start == std::string::npos) {
    lost = true;
    name.clear();
  } else if (start != 0) {
    lost = true;
    name.erase(0, start);
  }
  if (!lost && name.size() <= limit && name.back() != '.') return name;
  if (name.empty()) name = "x";
  return cut_with_hash(name, short_hash(text), limit);
}

}  // namespace seedbed
