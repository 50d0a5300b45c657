// Scalars of the settings: text, truth values, counts, durations, sizes, words of a list.
#include <charconv>
#include <cmath>

#include "base/bytes.h"
#include "base/text.h"
#include "study/reader_context.h"

namespace seedbed {

namespace {

// What a node is, for "… takes a number, not a list".
std::string node_word(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::null:
      return "nothing";
    case YamlNode::Kind::scalar:
      return in_ticks(node.text);
    case YamlNode::Kind::sequence:
      return "a list";
    case YamlNode::Kind::map:
      return "a map";
  }
  return "nothing";
}

}  // namespace

Result<std::string> read_text(const ReadContext& context, const YamlNode& node,
                              const std::string& what, const std::string& for_null) {
  if (node.is_scalar() && (node.tag.empty() || node.tag == "tag:yaml.org,2002:str")) {
    return node.text;
  }
  return context.error(node, what + " takes a text, not " + node_word(node),
                       node.kind == YamlNode::Kind::null ? for_null : "");
}

Result<bool> read_bool(const ReadContext& context, const YamlNode& node, const std::string& what) {
  if (node.is_scalar() && node.plain) {
    const Value value = Value::from_plain(node.text);
    if (value.kind() == ValueKind::boolean) return value.number() == 1.0;
  }
  return context.error(node, what + " takes true or false, not " + node_word(node));
}

Result<std::uint64_t> read_count(const ReadContext& context, const YamlNode& node,
                                 const std::string& what, std::uint64_t least, std::uint64_t most) {
  if (node.is_scalar()) {
    std::uint64_t value = 0;
    const char* end = node.text.data() + node.text.size();
    const auto read = std::from_chars(node.text.data(), end, value);
    if (read.ec == std::errc() && read.ptr == end && value >= least && value <= most) return value;
  }
  std::string range = " from " + std::to_string(least);
  // An upper end that nobody reaches is only told to who went over it.
  const bool huge = most > std::uint64_t{1} << 53U;
  if (!huge || (node.is_scalar() && node.text.size() >= 16)) range += " to " + std::to_string(most);
  return context.error(node, what + " takes a whole number" + range + ", not " + node_word(node));
}

Result<double> read_number(const ReadContext& context, const YamlNode& node,
                           const std::string& what) {
  if (node.is_scalar() && node.plain) {
    const Value value = Value::from_plain(node.text);
    if (value.is_number()) return *value.number();
  }
  const bool in_quotes = node.is_scalar() && Value::from_plain(node.text).is_number();
  return context.error(node, what + " takes a number, not " + node_word(node),
                       in_quotes ? "remove the quotes" : "");
}

Result<Milliseconds> read_duration(const ReadContext& context, const YamlNode& node,
                                   const std::string& what) {
  if (!node.is_scalar()) {
    return context.error(node, what + " takes a duration, not " + node_word(node),
                         "write 30s, 10m, 1h30m");
  }
  Result<Milliseconds> duration = parse_duration(node.text);
  if (!duration) return context.error(node, what + ": " + duration.error().message);
  if (duration->count() == 0) {
    return context.error(node, what + " of zero", "leave the key out for none");
  }
  return duration;
}

Result<std::uint64_t> read_size(const ReadContext& context, const YamlNode& node,
                                const std::string& what) {
  if (!node.is_scalar()) {
    return context.error(node, what + " takes a size, not " + node_word(node), "write 4GiB, 100MB");
  }
  Result<std::uint64_t> size = parse_bytes(node.text);
  if (!size) return context.error(node, what + ": " + size.error().message);
  if (*size == 0) return context.error(node, what + " of zero", "leave the key out for none");
  return size;
}

Result<std::size_t> read_choice(const ReadContext& context, const YamlNode& node,
                                const std::string& what, const std::vector<std::string>& words) {
  if (node.is_scalar()) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (words[i] == node.text) return i;
    }
    return context.error(node, what + " cannot be " + in_ticks(node.text),
                         suggest(node.text, words));
  }
  return context.error(node, what + " takes one word, not " + node_word(node), suggest({}, words));
}

Result<std::vector<std::string>> read_texts(const ReadContext& context, const YamlNode& node,
                                            const std::string& what) {
  std::vector<std::string> texts;
  if (!node.is_sequence()) {
    Result<std::string> text = read_text(context, node, what);
    if (!text) return propagate(text);
    texts.push_back(std::move(*text));
    return texts;
  }
  for (const YamlPointer& item : node.items) {
    Result<std::string> text =
        read_text(context, *item, what, "quote null to mean the word, or take the entry out");
    if (!text) return propagate(text);
    texts.push_back(std::move(*text));
  }
  return texts;
}

}  // namespace seedbed
