#include "cli/text_wrap.h"

#include <gtest/gtest.h>

namespace seedbed {
namespace {

TEST(WrapWords, FillsLinesUpToTheWidth) {
  EXPECT_EQ(wrap_words({"aa", "bb", "cc"}, "  ", "", 7), "  aa bb\n  cc");
  EXPECT_EQ(wrap_words({"aa", "longer than it", "cc"}, "", "", 5), "aa\nlonger than it\ncc");
  EXPECT_EQ(wrap_words({}, "  "), "");
}

TEST(WrapShellLine, BreaksOutsideOfQuotesAlone) {
  const std::string value(70, 'x');
  const std::string line = "cd /p && env 'A=" + value + " b' B=\"$(mktemp -d)\" " + value + " c";
  EXPECT_EQ(wrap_shell_line(line, "  "),
            "  cd /p && env 'A=" + value + " b' \\\n  B=\"$(mktemp -d)\" " + value + " c");
}

// It's 'quoted' as shell_quote does it: '\'' is three quotes around a backslash.
TEST(WrapShellLine, KeepsQuotesInQuotes) {
  const std::string value(90, 'x');
  EXPECT_EQ(wrap_shell_line("a 'it'\\''s b' " + value + " c", ""),
            "a 'it'\\''s b' \\\n" + value + " c");
}

TEST(WrapShellLine, WritesWhatATerminalMustNotGet) {
  EXPECT_EQ(wrap_shell_line("a 'b\x1b[31m\\ c\nd' 'é'", ""), "a $'b\\x1b[31m\\\\ c\\nd' 'é'");
  EXPECT_EQ(wrap_shell_line("'\u202e'", ""), "$'\\xe2\\x80\\xae'");
}

}  // namespace
}  // namespace seedbed
