#include "study/yaml_tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <sstream>
#include <unordered_map>

#include "base/text.h"
#include "study/value.h"

namespace seedbed {

namespace {

constexpr std::size_t kMaxBytes = std::size_t{64} << 20;
constexpr std::uint64_t kMaxWeight = 2'000'000;
constexpr std::size_t kMaxDepth = 60;

// Leaves the library's parser from inside one of its callbacks; caught in parse_yaml.
struct Trouble {
  std::size_t offset;
  std::string message;
  std::string remedy;
};

using NodePointer = std::shared_ptr<YamlNode>;

// Builds the tree from the library's events. Its node type is not used: it drops the flow style,
// cannot tell duplicate keys, and copies nothing of the positions of keys.
class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(const SourceText& source) : source_(source) {}

  [[nodiscard]] YamlPointer root() const { return root_; }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    auto node = make(YamlNode::Kind::null, mark, "?", anchor);
    finish(std::move(node), anchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    auto node = make(YamlNode::Kind::scalar, mark, tag, anchor);
    node->plain = tag == "?";
    if (value.find('\0') != std::string::npos) {
      throw Trouble{node->offset, "a NUL byte cannot be passed to a program", {}};
    }
    node->text = value;
    finish(std::move(node), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    const auto offset = static_cast<std::size_t>(mark.pos);
    if (found == anchors_.end()) throw Trouble{offset, "an alias inside its own anchor", {}};
    if (!stack_.empty()) stack_.back().node->simple = false;
    attach(found->second, offset);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override {
    open(YamlNode::Kind::sequence, mark, tag, anchor, style);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    open(YamlNode::Kind::map, mark, tag, anchor, style);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override {
    merge(*stack_.back().node);
    close();
  }

 private:
  struct Frame {
    NodePointer node;
    YAML::anchor_t anchor = 0;
    bool has_key = false;
    std::string key;
    std::size_t key_offset = 0;
    std::unordered_map<std::string, std::size_t> keys;  // where each was written
    std::size_t merge_at = std::string::npos;           // position of a `<<` entry
  };

  NodePointer make(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag,
                   YAML::anchor_t anchor) {
    auto node = std::make_shared<YamlNode>();
    node->kind = kind;
    node->offset = static_cast<std::size_t>(std::max(mark.pos, 0));
    if (tag != "?" && tag != "!") node->tag = tag;
    node->simple = node->tag.empty() && anchor == 0;
    return node;
  }

  void open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag,
            YAML::anchor_t anchor, YAML::EmitterStyle::value style) {
    Frame frame;
    frame.node = make(kind, mark, tag, anchor);
    frame.node->flow = style == YAML::EmitterStyle::Flow;
    frame.anchor = anchor;
    if (stack_.size() >= kMaxDepth) throw too_deep(frame.node->offset);
    stack_.push_back(std::move(frame));
  }

  static Trouble too_deep(std::size_t offset) {
    return {offset, "nested deeper than " + std::to_string(kMaxDepth) + " levels",
            "a value takes " + std::to_string(kMaxNesting) +
                " levels; keep a deeper one in a file of its own, and let the parameter be the "
                "file's name"};
  }

  void close() {
    Frame frame = std::move(stack_.back());
    stack_.pop_back();
    finish(std::move(frame.node), frame.anchor);
  }

  void finish(NodePointer node, YAML::anchor_t anchor) {
    const std::size_t offset = node->offset;
    if (anchor != 0) anchors_[anchor] = node;
    attach(std::move(node), offset);
  }

  void attach(YamlPointer node, std::size_t offset) {
    if (stack_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& frame = stack_.back();
    frame.node->weight += node->weight;
    if (frame.node->weight > kMaxWeight) {
      throw Trouble{offset, "more than 2 million values once aliases are put in", {}};
    }
    frame.node->depth = std::max(frame.node->depth, node->depth + 1);
    if (frame.node->depth > kMaxDepth) throw too_deep(offset);
    if (!node->simple) frame.node->simple = false;
    if (frame.node->is_sequence()) {
      frame.node->items.push_back(std::move(node));
    } else if (!frame.has_key) {
      take_key(frame, *node, offset);
    } else {
      frame.has_key = false;
      frame.node->entries.push_back({std::move(frame.key), frame.key_offset, std::move(node)});
    }
  }

  void take_key(Frame& frame, const YamlNode& node, std::size_t offset) {
    if (node.kind == YamlNode::Kind::null) {
      throw Trouble{offset, "a key is missing before the `:`",
                    "a key spelled null or ~ needs quotes"};
    }
    if (!node.is_scalar()) {
      throw Trouble{offset, "a list or map cannot be a key",
                    "quote a text that starts with [ or {"};
    }
    if (node.text == "<<" && node.plain) {
      frame.merge_at = frame.node->entries.size();
    }
    const auto [known, added] = frame.keys.emplace(node.text, offset);
    if (!added) {
      throw Trouble{offset,
                    "key " + in_ticks(node.text) + " is written twice, first at line " +
                        std::to_string(source_.place(known->second).line),
                    "keep one of the two"};
    }
    frame.has_key = true;
    frame.key = node.text;
    frame.key_offset = offset;
  }

  // Puts the entries of `<<: *base` in, at its place; what is written in the map itself wins.
  void merge(YamlNode& map) {
    const std::size_t at = stack_.back().merge_at;
    if (at == std::string::npos) return;
    auto& keys = stack_.back().keys;
    const YamlEntry merged = map.entries[at];
    std::vector<YamlPointer> sources;
    if (merged.value->is_map()) {
      sources.push_back(merged.value);
    } else if (merged.value->is_sequence()) {
      sources = merged.value->items;
    }
    std::vector<YamlEntry> added;
    const bool all_maps = std::all_of(sources.begin(), sources.end(),
                                      [](const YamlPointer& from) { return from->is_map(); });
    if (sources.empty() || !all_maps) {
      throw Trouble{merged.key_offset, "`<<` takes a map or a list of maps",
                    "write <<: *anchor, or quote \"<<\" to mean a key"};
    }
    for (const YamlPointer& from : sources) {
      for (const YamlEntry& entry : from->entries) {
        if (keys.emplace(entry.key, entry.key_offset).second) added.push_back(entry);
      }
    }
    map.entries.erase(map.entries.begin() + static_cast<std::ptrdiff_t>(at));
    map.entries.insert(map.entries.begin() + static_cast<std::ptrdiff_t>(at), added.begin(),
                       added.end());
    map.simple = false;
  }

  const SourceText& source_;
  YamlPointer root_;
  std::vector<Frame> stack_;
  std::map<YAML::anchor_t, YamlPointer> anchors_;
};

// What helps with the library's own messages, which name the symptom only.
std::string remedy_for(const std::string& message, std::string_view rest) {
  if (rest.starts_with("{") || message == YAML::ErrorMsg::UNKNOWN_TOKEN) {
    return "quote a value that has ${…} in a list or starts with @, ` or %";
  }
  static const std::array<std::pair<const char*, const char*>, 6> kRemedies = {{
      {YAML::ErrorMsg::MAP_VALUE, "quote a value that holds `: `, and check the indentation"},
      {YAML::ErrorMsg::TAB_IN_INDENTATION, "indent with spaces"},
      {YAML::ErrorMsg::END_OF_SEQ_FLOW, "a `]` or `,` is missing, or a value needs quotes"},
      {YAML::ErrorMsg::END_OF_MAP_FLOW, "a `}` or `,` is missing, or a value needs quotes"},
      {YAML::ErrorMsg::END_OF_MAP, "check the indentation"},
      {YAML::ErrorMsg::UNKNOWN_ANCHOR, "define it before with &name, or quote the *"},
  }};
  for (const auto& [known, remedy] : kRemedies) {
    if (message == known) return remedy;
  }
  if (message.starts_with(YAML::ErrorMsg::INVALID_UNICODE)) return "write the character itself";
  return {};
}

// A tab in the white space that a line begins with, on the line of a syntax error or right beside
// it: the library's own message rarely says so. Nothing when there is none.
std::optional<std::size_t> tab_in_indentation(std::string_view text, std::size_t at) {
  const auto line_start = [&](std::size_t offset) {
    const std::size_t end = offset == 0 ? std::string_view::npos : text.rfind('\n', offset - 1);
    return end == std::string_view::npos ? std::size_t{0} : end + 1;
  };
  const auto tab_of_line = [&](std::size_t start) -> std::optional<std::size_t> {
    const std::size_t end = text.find_first_not_of(" \t", start);
    const std::size_t tab = text.substr(0, end).find('\t', start);
    if (tab == std::string_view::npos) return std::nullopt;
    return tab;
  };
  const std::size_t here = line_start(std::min(at, text.size()));
  if (const auto tab = tab_of_line(here)) return tab;
  if (here > 0) {
    if (const auto tab = tab_of_line(line_start(here - 1))) return tab;
  }
  const std::size_t next = text.find('\n', here);
  return next == std::string_view::npos ? std::nullopt : tab_of_line(next + 1);
}

Status check_text(const SourceText& source) {
  const std::string& text = source.text();
  if (text.size() > kMaxBytes) {
    return fail(ErrorCode::usage, source.name() + ": larger than 64 MiB");
  }
  if (!is_valid_utf8(text)) {
    std::size_t first = 0;  // the first line that is not valid, for the message
    for (std::string_view line : split(text, '\n')) {
      if (!is_valid_utf8(line)) break;
      first += line.size() + 1;
    }
    return tl::unexpected(source.error(first, "this line is not valid UTF-8",
                                       "save the file with the encoding UTF-8"));
  }
  const std::size_t zero = text.find('\0');
  if (zero != std::string::npos) {
    return tl::unexpected(source.error(zero, "a NUL byte: this is not a text file"));
  }
  return {};
}

}  // namespace

const YamlNode* YamlNode::find(std::string_view key) const {
  for (const YamlEntry& entry : entries) {
    if (entry.key == key) return entry.value.get();
  }
  return nullptr;
}

namespace {

// The number of `\uXXXX` at this place.
std::optional<std::uint32_t> escaped_unit(std::string_view text, std::size_t at) {
  if (at + 6 > text.size() || text.substr(at, 2) != "\\u") return std::nullopt;
  std::uint32_t unit = 0;
  const auto read = std::from_chars(text.data() + at + 2, text.data() + at + 6, unit, 16);
  if (read.ec != std::errc() || read.ptr != text.data() + at + 6) return std::nullopt;
  return unit;
}

std::string utf8_of(std::uint32_t code) {  // beyond the first plane: four bytes
  return {
      static_cast<char>(0xF0U | (code >> 18U)), static_cast<char>(0x80U | ((code >> 12U) & 0x3FU)),
      static_cast<char>(0x80U | ((code >> 6U) & 0x3FU)), static_cast<char>(0x80U | (code & 0x3FU))};
}

}  // namespace

std::string with_whole_characters(std::string text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || (text[first] != '{' && text[first] != '[')) return text;
  std::string whole;
  std::size_t done = 0;
  for (std::size_t at = text.find('\\'); at != std::string::npos; at = text.find('\\', at)) {
    const auto high = escaped_unit(text, at);
    const auto low = escaped_unit(text, at + 6);
    if (!high || !low || (*high & 0xFC00U) != 0xD800U || (*low & 0xFC00U) != 0xDC00U) {
      at += 2;  // a backslash and what it escapes
      continue;
    }
    whole.append(text, done, at - done);
    whole += utf8_of(0x10000U + ((*high & 0x3FFU) << 10U) + (*low & 0x3FFU));
    done = at += 12;
  }
  if (done == 0) return text;
  return whole.append(text, done, std::string::npos);
}

Result<YamlPointer> parse_yaml(const SourceText& source) {
  if (Status fine = check_text(source); !fine) return propagate(fine);
  const std::string& text = source.text();
  TreeBuilder builder(source);
  try {
    std::istringstream in(text);
    YAML::Parser parser(in);
    if (!parser.HandleNextDocument(builder)) return std::make_shared<const YamlNode>();
    YamlPointer root = builder.root();
    TreeBuilder second(source);
    if (parser.HandleNextDocument(second)) {
      const std::size_t at = second.root() ? second.root()->offset : text.size();
      return tl::unexpected(source.error(at, "a second document", "keep one study in one file"));
    }
    return root ? root : std::make_shared<const YamlNode>();
  } catch (const Trouble& trouble) {
    return tl::unexpected(source.error(trouble.offset, trouble.message, trouble.remedy));
  } catch (const YAML::Exception& exception) {
    const auto at = static_cast<std::size_t>(std::max(exception.mark.pos, 0));
    if (const auto tab = tab_in_indentation(text, at)) {
      return tl::unexpected(source.error(
          *tab, "a tab in the indentation, which YAML does not allow", "indent with spaces"));
    }
    const std::string_view rest = std::string_view(text).substr(std::min(at, text.size()));
    return tl::unexpected(source.error(at, "this is not YAML: " + to_valid_utf8(exception.msg),
                                       remedy_for(exception.msg, rest)));
  } catch (const std::exception& exception) {
    return fail(ErrorCode::usage,
                source.name() + ": this is not YAML: " + to_valid_utf8(exception.what()));
  }
}

}  // namespace seedbed
