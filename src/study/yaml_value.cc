// Values of parameters from YAML nodes.
#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include "base/text.h"
#include "study/reader_context.h"
#include "study/value_json.h"

namespace seedbed {

namespace {

constexpr std::string_view kYaml = "tag:yaml.org,2002:";
constexpr std::size_t kMaxNameBytes = 256;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool all_digits_and(std::string_view text, std::string_view others) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return is_digit(c) || others.find(c) != std::string_view::npos;
  });
}

// Plain words that YAML 1.1 readers (PyYAML, which W&B uses) take for a boolean, a number or a
// date. Here they are words and keep their spelling.
bool is_ambiguous(std::string_view text) {
  static const std::array<std::string_view, 8> kWords = {"y",  "n",   "yes",  "no",
                                                         "on", "off", ".nan", ".inf"};
  const std::string low = lower(text);
  std::string_view body = low;
  if (!body.empty() && (body[0] == '-' || body[0] == '+')) body.remove_prefix(1);
  if (std::find(kWords.begin(), kWords.end(), std::string_view(low)) != kWords.end()) return true;
  if (body == "nan" || body == "inf" || body == ".inf") return true;
  if (body.empty() || !is_digit(body[0])) return low[0] == '+' && !body.empty() && body[0] == '.';
  if (low[0] == '+') return true;  // +5
  if (body.starts_with("0x") || body.starts_with("0b") || body.starts_with("0o")) return true;
  return all_digits_and(body, "_.") || all_digits_and(body, ":.") ||  // 1_000, 007, 12:30:45
         (all_digits_and(body, "-") && body.size() == 10);            // 2024-01-02
}

Result<Value> scalar_value(const ReadContext& context, const YamlNode& node, ValueNotes& notes) {
  if (node.tag == "!absent") {
    if (node.text.empty()) return Value::absent();
    return context.error(node, "`!absent` stands alone, without a value",
                         "in a list a space or comma follows it: [a, !absent ]");
  }
  if (node.tag == std::string(kYaml) + "str") return Value::from_text(node.text);
  if (node.tag == std::string(kYaml) + "null") {
    notes.null = true;
    return Value::null();
  }
  const bool typed = node.tag == std::string(kYaml) + "int" ||
                     node.tag == std::string(kYaml) + "float" ||
                     node.tag == std::string(kYaml) + "bool";
  if (!node.tag.empty() && !typed) {
    return context.error(node, "unknown tag " + in_ticks(node.tag),
                         "known: !absent, !!str, !!int, !!float, !!bool, !!null");
  }
  if (!node.plain && !typed) return Value::from_text(node.text);
  Value value = Value::from_plain(node.text);
  if (typed && !value.number()) {
    return context.error(
        node, in_ticks(node.text) + " is not what its tag says",
        "only plain decimal notation is a number, only true and false are booleans");
  }
  if (value.kind() == ValueKind::text && is_ambiguous(node.text)) {
    notes.ambiguous.push_back(node.text);
  }
  return value;
}

// The source of a flow list or map when it stands on one line; empty otherwise.
std::string_view flow_source(std::string_view text, std::size_t start) {
  int depth = 0;
  for (std::size_t i = start; i < text.size() && text[i] != '\n' && text[i] != '\r'; ++i) {
    const char c = text[i];
    const bool at_start =
        i > start && std::string_view("[{,: \t").find(text[i - 1]) != std::string_view::npos;
    if ((c == '"' || c == '\'') && at_start) {
      for (++i; i < text.size() && text[i] != c; ++i) {
        if (text[i] == '\n') return {};
        if (c == '"' && text[i] == '\\') ++i;
      }
      if (i >= text.size()) return {};
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      if (--depth == 0) return text.substr(start, i - start + 1);
    }
  }
  return {};
}

// `level`: lists and maps around the node, within the value.
Result<std::string> node_json(const ReadContext& context, const YamlNode& node, int level = 0) {
  if (node.kind == YamlNode::Kind::null) return std::string("null");
  if (node.is_scalar()) {
    ValueNotes unused;
    Result<Value> value = scalar_value(context, node, unused);
    if (!value) return propagate(value);
    if (value->is_absent()) {
      return context.error(node, "`!absent` inside a list or map that is one value",
                           "leave the entry out");
    }
    return json_value(*value);
  }
  if (!node.tag.empty() && !node.tag.starts_with(kYaml)) {
    return context.error(node, "unknown tag " + in_ticks(node.tag) + " on a list or map");
  }
  if (level >= kMaxNesting) {
    return context.error(node,
                         "a value nested deeper than " + std::to_string(kMaxNesting) + " levels",
                         "keep it in a file of its own, and let the parameter be the file's name");
  }
  if (node.is_sequence()) {
    std::vector<std::string> items;
    for (const YamlPointer& item : node.items) {
      Result<std::string> json = node_json(context, *item, level + 1);
      if (!json) return json;
      items.push_back(std::move(*json));
    }
    return json_array(items);
  }
  std::map<std::string, std::string> entries;
  for (const YamlEntry& entry : node.entries) {
    if (entry.key.size() > kMaxKeyBytes) {
      return context.error(
          *entry.value,
          "the key before this value is longer than " + std::to_string(kMaxKeyBytes) + " bytes",
          "keep the map in a file of its own");
    }
    Result<std::string> json = node_json(context, *entry.value, level + 1);
    if (!json) return json;
    entries[entry.key] = std::move(*json);
  }
  return json_object(entries);
}

// `!spelled ["{a:1}", {"a": 1}]`: how write_study keeps a structure whose spelling is not YAML.
Result<Value> spelled_value(const ReadContext& context, const YamlNode& node) {
  if (!node.is_sequence() || node.items.size() != 2 || !node.items[0]->is_scalar()) {
    return context.error(node, "`!spelled` takes a text and a list or map",
                         "it is written by seedbed; write the list or map itself");
  }
  Result<std::string> json = node_json(context, *node.items[1]);
  if (!json) return propagate(json);
  return Value::structure(node.items[0]->text, *json);
}

}  // namespace

Result<Value> read_value(const ReadContext& context, const YamlNode& node, ValueNotes& notes) {
  if (node.kind == YamlNode::Kind::null) {
    notes.null = true;
    return Value::null();
  }
  if (node.is_scalar()) return scalar_value(context, node, notes);
  if (node.tag == "!spelled") return spelled_value(context, node);
  Result<std::string> json = node_json(context, node);
  if (!json) return propagate(json);
  std::string_view source;
  if (node.flow && node.simple) source = flow_source(context.source->text(), node.offset);
  return Value::structure(source.empty() ? *json : std::string(source), *json);
}

void tell(ReadContext& context, std::size_t offset, const std::string& name,
          const ValueNotes& notes) {
  if (notes.null) {
    context.warn(offset, "`" + name + "` has a null value, which reaches the program as None; " +
                             "write !absent to leave the option out, \"\" for an empty text");
  }
  if (notes.ambiguous.empty()) return;
  std::vector<std::string> shown;
  for (const std::string& text : notes.ambiguous) {
    if (shown.size() == 4) {
      shown.emplace_back("…");
      break;
    }
    shown.push_back(in_ticks(text));
  }
  context.warn(offset, "`" + name + "`: " + join(shown, ", ") +
                           (shown.size() > 1 ? " are words" : " is a word") +
                           " here, not a boolean, number or date; quote to silence this");
}

std::optional<std::string> name_problem(std::string_view name) {
  if (name.empty()) return "the name is empty";
  if (name.size() > kMaxNameBytes) return "the name is longer than 256 bytes";
  if (name.front() == '-') return "the name starts with `-`; write it without the dashes";
  if (!is_valid_utf8(name)) return "the name is not valid UTF-8";
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte == 0x7F) return "a space or control character in the name";
    if (std::string_view("={}`\"'\\,;$()").find(c) != std::string_view::npos) {
      return std::string("the character `") + c + "` in the name";
    }
  }
  return std::nullopt;
}

}  // namespace seedbed
