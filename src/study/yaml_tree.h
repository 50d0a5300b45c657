#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "study/reader_error.h"

namespace seedbed {

struct YamlNode;
using YamlPointer = std::shared_ptr<const YamlNode>;

struct YamlEntry {
  std::string key;
  std::size_t key_offset = 0;
  YamlPointer value;
};

/// One node of a YAML document as it was written: scalars keep their spelling, nothing is
/// interpreted yet. Aliases share the node they name.
struct YamlNode {
  enum class Kind { null, scalar, sequence, map };

  Kind kind = Kind::null;
  std::size_t offset = 0;  ///< of the first byte in the source (of its tag or anchor, if any)
  bool plain = false;      ///< a scalar without quotes
  bool flow = false;       ///< [ ] or { }
  bool simple = true;      ///< no tag, anchor, alias or merge inside: the source says it all
  std::string tag;         ///< explicit tag, or empty
  std::string text;        ///< of a scalar
  std::vector<YamlPointer> items;
  std::vector<YamlEntry> entries;
  std::uint64_t weight = 1;  ///< nodes in all, aliases expanded
  std::size_t depth = 1;     ///< levels, aliases expanded: bounds every walk over the tree

  [[nodiscard]] bool is_map() const { return kind == Kind::map; }
  [[nodiscard]] bool is_sequence() const { return kind == Kind::sequence; }
  [[nodiscard]] bool is_scalar() const { return kind == Kind::scalar; }
  /// The value of a key of a map, or nullptr.
  [[nodiscard]] const YamlNode* find(std::string_view key) const;
};

/// JSON as programs write it, for YAML: within a text that begins with `{` or `[`, the two halves
/// `\ud83d\ude00` of a character, which YAML refuses, become the character.
[[nodiscard]] std::string with_whole_characters(std::string text);

/// Reads one YAML document (JSON is YAML) of valid UTF-8. Duplicate keys, keys that are not plain
/// words, a second document, bytes NUL and unknown aliases are errors; `<<` merge keys are put in.
/// Bounds: 64 MiB of text, 2 million nodes with aliases expanded, 60 levels.
/// An empty document gives a null node.
[[nodiscard]] Result<YamlPointer> parse_yaml(const SourceText& source);

}  // namespace seedbed
