#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/text.h"
#include "base/time.h"
#include "study/reader_error.h"
#include "study/value.h"
#include "study/yaml_tree.h"

namespace seedbed {

/// What one reading of a study shares: the text for places, and what is to be told.
struct ReadContext {
  const SourceText* source = nullptr;
  std::vector<Error> errors;             ///< independent ones; all are reported
  std::vector<std::string> warnings;     ///< told once at the start
  std::vector<std::string> unsupported;  ///< accepted, without effect

  [[nodiscard]] tl::unexpected<Error> error(const YamlNode& node, const std::string& message,
                                            const std::string& remedy = {}) const {
    return tl::unexpected(source->error(node.offset, message, remedy));
  }
  [[nodiscard]] tl::unexpected<Error> error_at(std::size_t offset, const std::string& message,
                                               const std::string& remedy = {}) const {
    return tl::unexpected(source->error(offset, message, remedy));
  }
  void warn(std::size_t offset, const std::string& message) {
    warnings.push_back(source->place_text(offset) + ": " + message);
  }
  void keep(const Error& error) {
    if (errors.size() < kMaxErrors) errors.push_back(error);
  }

  static constexpr std::size_t kMaxErrors = 1000;
};

/// One key of a map in the sweep file. The tables of these drive reading, suggestions and the
/// reference page (which a test compares).
template <typename Target>
struct Key {
  std::string_view name;
  std::string_view meaning;  ///< one line, as in docs/reference/sweep-file.md
  /// nullptr: known, but refused by name with `meaning`.
  Status (*read)(ReadContext&, const YamlNode&, Target&);
};

template <typename Target>
[[nodiscard]] std::vector<std::string> key_names(std::span<const Key<Target>> keys) {
  std::vector<std::string> names;
  for (const Key<Target>& key : keys) names.emplace_back(key.name);
  return names;
}

/// Reads a map by its table. Errors of different keys are kept side by side in the context.
/// `what` names the map in messages: "in `limits`"; `otherwise` is the remedy for an unknown key
/// that is near to none.
template <typename Target>
void read_keys(ReadContext& context, const YamlNode& node, const std::string& what,
               std::span<const Key<Target>> keys, Target& target,
               const std::string& otherwise = {}) {
  if (!node.is_map()) {
    context.keep(context.source->error(node.offset, what + " takes a map of keys",
                                       suggest({}, key_names(keys))));
    return;
  }
  for (const YamlEntry& entry : node.entries) {
    const Key<Target>* found = nullptr;
    for (const Key<Target>& key : keys) {
      if (key.name == entry.key) found = &key;
    }
    if (found == nullptr) {
      const bool near = otherwise.empty() || nearest(entry.key, key_names(keys)).has_value();
      context.keep(context.source->error(entry.key_offset,
                                         "unknown key " + in_ticks(entry.key) + " in " + what,
                                         near ? suggest(entry.key, key_names(keys)) : otherwise));
    } else if (found->read == nullptr) {
      context.keep(context.source->error(entry.key_offset,
                                         "`" + entry.key + "` is not available yet",
                                         std::string(found->meaning)));
    } else if (Status read = found->read(context, *entry.value, target); !read) {
      context.keep(read.error());
    }
  }
}

/// Scalars of the settings. `what` names the key in messages; `for_null` is the remedy where
/// nothing stands, which must be one that is not refused next.
inline constexpr const char* kTextOrNoKey = "give it a text, or leave the key out";
[[nodiscard]] Result<std::string> read_text(const ReadContext& context, const YamlNode& node,
                                            const std::string& what,
                                            const std::string& for_null = kTextOrNoKey);
[[nodiscard]] Result<bool> read_bool(const ReadContext& context, const YamlNode& node,
                                     const std::string& what);
[[nodiscard]] Result<std::uint64_t> read_count(
    const ReadContext& context, const YamlNode& node, const std::string& what,
    std::uint64_t least = 0, std::uint64_t most = std::numeric_limits<std::uint64_t>::max());
/// A finite number, integer or not.
[[nodiscard]] Result<double> read_number(const ReadContext& context, const YamlNode& node,
                                         const std::string& what);
/// A duration above zero: `30s`, `10m`, `90` (seconds).
[[nodiscard]] Result<Milliseconds> read_duration(const ReadContext& context, const YamlNode& node,
                                                 const std::string& what);
/// A size above zero: `4GiB`, `100MB`.
[[nodiscard]] Result<std::uint64_t> read_size(const ReadContext& context, const YamlNode& node,
                                              const std::string& what);
/// One of some words; the index of the word.
[[nodiscard]] Result<std::size_t> read_choice(const ReadContext& context, const YamlNode& node,
                                              const std::string& what,
                                              const std::vector<std::string>& words);
/// A text, or a list of texts.
[[nodiscard]] Result<std::vector<std::string>> read_texts(const ReadContext& context,
                                                          const YamlNode& node,
                                                          const std::string& what);

/// What is noteworthy about the values of one parameter; told once per parameter.
struct ValueNotes {
  std::vector<std::string> ambiguous;  ///< words that other YAML readers take for something else
  bool null = false;
};

/// Any node as one value: scalars by the rules of Value::from_plain (quoted: text), `!absent`,
/// lists and maps as structures that keep their spelling where it stands on one line.
[[nodiscard]] Result<Value> read_value(const ReadContext& context, const YamlNode& node,
                                       ValueNotes& notes);

/// Tells the notes, at the place of the parameter.
void tell(ReadContext& context, std::size_t offset, const std::string& name,
          const ValueNotes& notes);

/// Why a parameter may not be called so; nothing when it may.
[[nodiscard]] std::optional<std::string> name_problem(std::string_view name);

}  // namespace seedbed
