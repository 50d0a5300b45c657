#include "study/yaml_tree.h"

#include <gtest/gtest.h>

#include "study/reader_context.h"

namespace seedbed {
namespace {

// The tree as one line: maps {k=v}, lists [v], scalars 'text' (plain ones bare), null as ~.
std::string show(const YamlNode& node) {
  std::string text = node.tag;
  switch (node.kind) {
    case YamlNode::Kind::null:
      return text + "~";
    case YamlNode::Kind::scalar:
      return text + (node.plain || !node.tag.empty() ? node.text : "'" + node.text + "'");
    case YamlNode::Kind::sequence:
      text += "[";
      for (const YamlPointer& item : node.items) text += show(*item) + ";";
      return text + "]";
    case YamlNode::Kind::map:
      text += "{";
      for (const YamlEntry& entry : node.entries)
        text += entry.key + "=" + show(*entry.value) + ";";
      return text + "}";
  }
  return text;
}

std::string read(const std::string& yaml) {
  const SourceText source("f.yaml", yaml);
  const Result<YamlPointer> tree = parse_yaml(source);
  if (!tree) return tree.error().message.substr(0, tree.error().message.find('\n'));
  return show(**tree);
}

TEST(YamlTree, KeepsSpellingOrderTagsAndQuotes) {
  EXPECT_EQ(read("b: 1e-3\na: ['1', \"x\", yes, 007, ~, null, !absent ]\n"),
            "{b=1e-3;a=['1';'x';yes;007;~;~;!absent;];}");
  EXPECT_EQ(read("{\n\t\"a\": [1,\n\t2]}\n"), "{a=[1;2;];}");
  EXPECT_EQ(read("\xEF\xBB\xBF"
                 "a: 1\r\nb: 2\r\n"),
            "{a=1;b=2;}");
  EXPECT_EQ(read(""), "~");
  EXPECT_EQ(read("# only a comment\n"), "~");
}

TEST(YamlTree, DuplicateKeysAreErrors) {
  EXPECT_EQ(read("a: 1\nb: 2\na: 3\n"),
            "f.yaml:3:1: key `a` is written twice, first at line 1; keep one of the two");
  EXPECT_EQ(read("x: {a: 1, a: 2}\n"),
            "f.yaml:1:11: key `a` is written twice, first at line 1; keep one of the two");
}

TEST(YamlTree, AliasesShareAndMergeKeysArePutIn) {
  EXPECT_EQ(read("base: &b {x: 1, y: 2}\none: *b\ntwo: {<<: *b, y: 3}\n"),
            "{base={x=1;y=2;};one={x=1;y=2;};two={x=1;y=3;};}");
  EXPECT_EQ(read("a: &a {x: 1}\nb: &b {x: 2, y: 3}\nc:\n  <<: [*a, *b]\n  z: 4\n"),
            "{a={x=1;};b={x=2;y=3;};c={x=1;y=3;z=4;};}");
  EXPECT_NE(read("a: {<<: 3}\n").find("f.yaml:1:5: `<<` takes a map"), std::string::npos);
  EXPECT_NE(read("a: *nope\n").find("f.yaml:1:4: this is not YAML"), std::string::npos);
  EXPECT_NE(read("a: &a [1, *a]\n").find("an alias inside its own anchor"), std::string::npos);
}

TEST(YamlTree, AMergeOfWhatIsNoMapIsRefused) {
  EXPECT_EQ(read("a: {<<: [1, 2, 3], b: 1}\n"),
            "f.yaml:1:5: `<<` takes a map or a list of maps; "
            "write <<: *anchor, or quote \"<<\" to mean a key");
  EXPECT_EQ(read("a: {<<: [{c: 1}, 2]}\n").substr(0, 14), "f.yaml:1:5: `<");
}

TEST(YamlTree, JsonMayWriteACharacterInTwoHalves) {
  EXPECT_EQ(with_whole_characters(R"({"a": "x\ud83d\ude00y\u00e9"})"), "{\"a\": \"x😀y\\u00e9\"}");
  EXPECT_EQ(with_whole_characters(R"( ["\uDBFF\uDFFF"])"), " [\"\xF4\x8F\xBF\xBF\"]");
  for (const char* same :
       {R"({"a": "\\ud83d\ude00"})", R"({"a": "\ud83d"})", R"({"a": "\ud83d\u0041"})",
        R"({"a": "\ude00\ud83d"})", R"(a: "\ud83d\ude00")", R"({"a": "\ud83)", ""}) {
    EXPECT_EQ(with_whole_characters(same), same);
  }
}

TEST(YamlTree, AnAliasBombIsRefusedQuickly) {
  std::string yaml = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 30; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    yaml += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int k = 0; k < 9; ++k) yaml += ", " + before;
    yaml += "]\n";
  }
  EXPECT_NE(read(yaml).find("more than 2 million values once aliases are put in"),
            std::string::npos);
}

TEST(YamlTree, DeepNestingIsRefusedNotOverflowed) {
  EXPECT_NE(read(std::string(200000, '[')).find("nested deeper than 60 levels"), std::string::npos);
  std::string block;
  for (int i = 0; i < 100; ++i) block += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  EXPECT_NE(read(block).find("nested deeper than 60 levels"), std::string::npos);
  std::string chain = "a0: &a0 [x]\n";  // each alias adds ten levels
  for (int i = 1; i < 10000; ++i) {
    chain += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [[[[[[[[[[*a" +
             std::to_string(i - 1) + "]]]]]]]]]]\n";
  }
  EXPECT_NE(read(chain).find("nested deeper than 60 levels"), std::string::npos);
}

TEST(YamlTree, WhatIsNotYamlNamesThePlaceAndHelps) {
  EXPECT_EQ(read("command: [${env}, python]\n"),
            "f.yaml:1:12: this is not YAML: end of sequence flow not found; quote a value that "
            "has ${…} in a list or starts with @, ` or %");
  EXPECT_EQ(read("a: x: y\n"),
            "f.yaml:1:5: this is not YAML: illegal map value; quote a value that holds `: `, and "
            "check the indentation");
  EXPECT_EQ(read("a: 1\n---\nb: 2\n"), "f.yaml:3:1: a second document; keep one study in one file");
  EXPECT_EQ(read("? [a, b]\n: 1\n"),
            "f.yaml:1:3: a list or map cannot be a key; quote a text that starts with [ or {");
  EXPECT_NE(read("null: 1\n").find("f.yaml:1:1: a key is missing"), std::string::npos);
  EXPECT_NE(read("a: \"x\\0y\"\n").find("a NUL byte"), std::string::npos);
  EXPECT_NE(read(std::string("a: x\0y\n", 7)).find("a NUL byte"), std::string::npos);
  EXPECT_EQ(read("a: 1\nb: caf\xE9\n"),
            "f.yaml:2:1: this line is not valid UTF-8; save the file with the encoding UTF-8");
}

TEST(YamlValue, FlowStructuresKeepTheirSpelling) {
  const SourceText source("f.yaml",
                          "v: [[32, 32], {\"a\": 1,b: [x, '],']}, &k [1],\n  [1,\n   2], {b: .5, "
                          "a: 1e-3}]\nw:\n  - 1\n  - a\n");
  const Result<YamlPointer> tree = parse_yaml(source);
  ASSERT_TRUE(tree) << tree.error().message;
  ReadContext context;
  context.source = &source;
  ValueNotes notes;
  const std::pair<const char*, const char*> expected[] = {
      {"[32, 32]", "[32, 32]"},
      {"{\"a\": 1,b: [x, '],']}", R"({"a": 1, "b": ["x", "],"]})"},
      {"[1]", "[1]"},
      {"[1, 2]", "[1, 2]"},
      {"{b: .5, a: 1e-3}", R"({"a": 1e-3, "b": 5e-1})"}};
  for (std::size_t i = 0; i < 5; ++i) {
    const Result<Value> value = read_value(context, *(*tree)->find("v")->items[i], notes);
    ASSERT_TRUE(value);
    EXPECT_EQ(value->spelling(), expected[i].first);
    EXPECT_EQ(value->canonical(), std::string("s:") + expected[i].second);
  }
  EXPECT_EQ(read_value(context, *(*tree)->find("w"), notes)->spelling(), "[1, \"a\"]");
}

TEST(YamlValue, EqualNumbersInStructuresAreEqual) {
  const SourceText source("f.yaml", "[[1e-3, 2], [0.001, 2], [1, 2.0]]");
  const Result<YamlPointer> tree = parse_yaml(source);
  ReadContext context;
  context.source = &source;
  ValueNotes notes;
  const Value a = *read_value(context, *(*tree)->items[0], notes);
  const Value b = *read_value(context, *(*tree)->items[1], notes);
  const Value c = *read_value(context, *(*tree)->items[2], notes);
  EXPECT_EQ(a, b);
  EXPECT_FALSE(a == c);
}

}  // namespace
}  // namespace seedbed
