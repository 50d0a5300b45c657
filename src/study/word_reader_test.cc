#include <gtest/gtest.h>

#include "study/readers.h"

namespace seedbed {
namespace {

// "kind:spelling" of each value, joined by blanks; distributions by their kind and bounds.
std::string show(const Result<Dimension>& dimension) {
  if (!dimension) return "ERROR " + dimension.error().message;
  std::string text;
  for (const Value& value : dimension->values) {
    if (!text.empty()) text += ' ';
    text += std::string(kind_word(value.kind())) + ":" + value.spelling();
  }
  if (dimension->distribution) text += dimension->distribution->describe();
  return text;
}

std::string read(std::string_view word) { return show(read_word(word, 1)); }

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

TEST(WordReader, ASecondSpanIsTakenForAStepAndAnswered) {
  const auto word = read_word("n=1..8..2", 1);
  ASSERT_FALSE(word);
  EXPECT_NE(word.error().message.find("write range(1,9,2), whose stop is excluded"),
            std::string::npos)
      << word.error().message;
  EXPECT_TRUE(read_word("n=1..8..x", 1));  // a word
}

TEST(WordReader, CaseA1_NumbersKeepTheirSpelling) {
  EXPECT_EQ(read("lr=1e-3,1E-3,1.0e-3,.5,5.,1.10,-1"),
            "real:1e-3 real:1E-3 real:1.0e-3 real:.5 real:5. real:1.10 integer:-1");
}

TEST(WordReader, CaseA3_BareWordsStayWords) {
  EXPECT_EQ(read("x=no,off,NO,on,007,0x10,1_000,nan,12:30:45,2024-01-02"),
            "text:no text:off text:NO text:on text:007 text:0x10 text:1_000 text:nan "
            "text:12:30:45 text:2024-01-02");
  EXPECT_EQ(read("x=true,False,null,absent()"), "boolean:True boolean:False null:None absent:");
  EXPECT_EQ(read("x='true',\"1\",'null'"), "text:true text:1 text:null");
}

TEST(WordReader, CaseA6_SpacesQuotesAndShellCharactersArriveUnchanged) {
  EXPECT_EQ(read("x=a b"), "text:a b");
  EXPECT_EQ(read("x=it's"), "text:it's");
  EXPECT_EQ(read(R"(x="say \"hi\"")"), R"(text:say "hi")");
  EXPECT_EQ(read("x=$HOME,`id`,a;b,*,#x"), "text:$HOME text:`id` text:a;b text:* text:#x");
  EXPECT_EQ(read("x='$(touch /tmp/pwned)'"), "text:$(touch /tmp/pwned)");
  EXPECT_EQ(read(R"(x='\\n','x\ty')"), R"(text:\\n text:x\ty)");
  EXPECT_EQ(read("x=' lead','trail ',''"), "text: lead text:trail  text:");
  EXPECT_EQ(read("x='a\nb'"), "text:a\nb");
  EXPECT_EQ(read("x="), "text:");
  EXPECT_EQ(read("x=  a  ,  b "), "text:a text:b");
  EXPECT_EQ(read(R"(x='ends with \\')"), R"(text:ends with \)");
}

TEST(WordReader, CaseA7_ListsMapsAndCommasInQuotesAreOneValue) {
  EXPECT_EQ(read("x=[32,32],[64, 64]"), "structure:[32,32] structure:[64, 64]");
  EXPECT_EQ(read_word("x={a:1,b:[2,x]}", 1)->values[0].canonical(), R"(s:{"a": 1, "b": [2, "x"]})");
  EXPECT_EQ(read("x='(64,)','x,y','k=v','{\"a\": 1}'"),
            "text:(64,) text:x,y text:k=v text:{\"a\": 1}");
  EXPECT_EQ(read("x=a|b,k=v,2023-09-16,李明,é,-,--,@file,%d"),
            "text:a|b text:k=v text:2023-09-16 text:李明 text:é text:- text:-- text:@file text:%d");
  EXPECT_EQ(read(R"(x=a\,b,c\ \(d\))"), "text:a,b text:c (d)");
  EXPECT_EQ(read("x=${oc.env:HOME,x}/y"), "text:${oc.env:HOME,x}/y");
  EXPECT_EQ(read_word("x=[[1,2],[3]]", 1)->values[0].canonical(), "s:[[1, 2], [3]]");
  EXPECT_EQ(read_word("x=[]", 1)->values[0].canonical(), "s:[]");
}

TEST(WordReader, CaseA12_RangesDoNotDrift) {
  EXPECT_EQ(read("x=range(0.1,0.6,0.1)"), "real:0.1 real:0.2 real:0.3 real:0.4 real:0.5");
  EXPECT_EQ(read("x=linspace(0.1,0.5,5)"), "real:0.1 real:0.2 real:0.3 real:0.4 real:0.5");
  EXPECT_EQ(read("x=geomspace(1e-5,1e-1,5)"),
            "real:1e-05 real:0.0001 real:0.001 real:0.01 real:0.1");
  EXPECT_EQ(read("x=geomspace(1,1024,11)"),
            "integer:1 integer:2 integer:4 integer:8 integer:16 integer:32 integer:64 integer:128 "
            "integer:256 integer:512 integer:1024");
  EXPECT_EQ(read("x=geomspace(1,10,3)"), "real:1.0 real:3.1622776601683795 real:10.0");
  EXPECT_EQ(read("x=linspace(0,10,5)"), "real:0.0 real:2.5 real:5.0 real:7.5 real:10.0");
  EXPECT_EQ(read("x=linspace(3,1,3)"), "integer:3 integer:2 integer:1");
  EXPECT_EQ(read("x=linspace(0.5,1.5,1)"), "real:0.5");
}

TEST(WordReader, RangesExcludeTheirStopAsInHydra) {
  EXPECT_EQ(read("n=range(1,9,2)"), "integer:1 integer:3 integer:5 integer:7");
  EXPECT_EQ(read("n=range(3)"), "integer:0 integer:1 integer:2");
  EXPECT_EQ(read("n=range(start=1,stop=3)"), "integer:1 integer:2");
  EXPECT_EQ(read("n=range(5,0,-2)"), "integer:5 integer:3 integer:1");
  EXPECT_EQ(read("n=range(0,10,3.3)"), "real:0.0 real:3.3 real:6.6 real:9.9");
  EXPECT_EQ(read("n=range(1)"), "integer:0");
}

TEST(WordReader, CaseB1_AThousandMillionValuesCostNoMemory) {
  const Result<Dimension> dimension = read_word("seed=range(1000000000)", 1);
  ASSERT_TRUE(dimension) << dimension.error().message;
  EXPECT_TRUE(dimension->values.empty());
  EXPECT_EQ(dimension->size(), 1000000000U);
  EXPECT_EQ(dimension->at(999999999).spelling(), "999999999");
}

TEST(WordReader, ShortFormsOfRanges) {
  EXPECT_EQ(read_word("n=1..8", 1)->size(), 8U);
  EXPECT_EQ(read_word("n=-3..3", 1)->at(0).spelling(), "-3");
  EXPECT_EQ(read_word("n=randint(1,8)", 1)->size(), 8U);
  const Dimension log = *read_word("lr=loguniform(1e-5,1e-1)", 1);
  EXPECT_EQ(log.distribution->kind, DistributionKind::log_uniform_values);
  EXPECT_EQ(log.distribution->min, 1e-5);
  EXPECT_EQ(log.distribution->max, 1e-1);
  EXPECT_EQ(read_word("x=uniform(0,1)", 1)->distribution->kind, DistributionKind::uniform);
  EXPECT_EQ(read_word("x=interval(0,1)", 1)->distribution->kind, DistributionKind::uniform);
  EXPECT_EQ(read_word("lr=tag(log,interval(1e-5,1e-1))", 1)->distribution->kind,
            DistributionKind::log_uniform_values);
  const Dimension log_integer = *read_word("n=tag(log,int(interval(1,1024)))", 1);
  EXPECT_EQ(log_integer.distribution->kind, DistributionKind::int_uniform);
  EXPECT_TRUE(log_integer.distribution->log_integer);
  EXPECT_EQ(read("p=../data"), "text:../data");
  EXPECT_EQ(read("p='1..8'"), "text:1..8");
}

TEST(WordReader, HydraFunctions) {
  EXPECT_EQ(read("x=choice(a,b,c)"), "text:a text:b text:c");
  EXPECT_EQ(read("x=choice(1)"), "integer:1");
  EXPECT_EQ(read("x=sort(3,1,2)"), "integer:1 integer:2 integer:3");
  EXPECT_EQ(read("x=sort(choice(3,1,2),reverse=true)"), "integer:3 integer:2 integer:1");
  EXPECT_EQ(read("x=int(3.7,)").substr(0, 5), "ERROR");
  EXPECT_EQ(read("x=int(3.7)"), "integer:3");
  EXPECT_EQ(read("x=float(choice(1,2))"), "real:1.0 real:2.0");
  EXPECT_EQ(read("x=str(range(2))"), "text:0 text:1");
  EXPECT_EQ(read("x=bool(1)"), "boolean:True");
  EXPECT_EQ(read("+x=1,2"), "integer:1 integer:2");
  EXPECT_EQ(read("++x=1"), "integer:1");
  EXPECT_EQ(read_word("opt.lr=1", 1)->name, "opt.lr");
}

TEST(WordReader, CaseB6_BadRangesNameTheParameter) {
  for (const char* word :
       {"lr=loguniform(0,1)", "lr=loguniform(1e-1,1e-5)", "lr=uniform(1,1)", "lr=interval(2,1)"}) {
    const Result<Dimension> dimension = read_word(word, 1);
    ASSERT_FALSE(dimension) << word;
    EXPECT_NE(dimension.error().message.find("`lr`"), std::string::npos)
        << dimension.error().message;
  }
  EXPECT_EQ(first_line(read("n=1..1")),
            "ERROR word 1, column 3: both ends are 1; write the one value instead");
}

TEST(WordReader, ErrorsPointAtTheColumn) {
  const Result<Dimension> unknown = read_word("lr=loguniforn(1e-5,1e-1)", 2);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::usage);
  EXPECT_EQ(unknown.error().message,
            "word 2, column 4: unknown function `loguniforn`; did you mean `loguniform`?; quote "
            "the value to mean the text\n"
            "    lr=loguniforn(1e-5,1e-1)\n"
            "       ^");
  const std::pair<const char*, const char*> cases[] = {
      {"lr", "word 1, column 1: `lr` is not NAME=SPEC"},
      {"=1", "word 1, column 1: the name is empty"},
      {"--lr=1", "word 1, column 1: the name starts with `-`"},
      {"~lr=1", "word 1, column 1: a parameter cannot be deleted here"},
      {"a b=1", "word 1, column 1: a space or control character in the name"},
      {"x=1,", "word 1, column 5: a value is missing after the comma"},
      {"x=,1", "word 1, column 3: a value is missing here"},
      {"x=1,,2", "word 1, column 5: a value is missing here"},
      {"x='a", "word 1, column 3: the quote is not closed"},
      {"x='a'b", "word 1, column 6: unexpected `b`"},
      {"x=(64,)", "word 1, column 3: unexpected `(`"},
      {"x=a)", "word 1, column 4: unexpected `)`"},
      {"x=[1,2", "word 1, column 3: a `]` is missing"},
      {"x={a:1", "word 1, column 3: a `}` is missing"},
      {"x={a}", "word 1, column 5: a `:` is missing after the key"},
      {"x={a:1,a:2}", "word 1, column 8: key `a` is written twice"},
      {"x=${a", "word 1, column 3: `${` is not closed"},
      {"x=choice()", "word 1, column 3: the choice is empty"},
      {"x=choice(choice(1))", "word 1, column 10: a range or choice inside a choice"},
      {"x=1,range(3)", "word 1, column 5: a range or choice inside a list of values"},
      {"x=range(0)", "word 1, column 3: the range is empty"},
      {"x=range(1,2,0)", "word 1, column 3: the step of a range cannot be zero"},
      {"x=range(a)", "word 1, column 9: a number is needed here"},
      {"x=range(1,2,3,4)", "word 1, column 15: too many arguments for `range`"},
      {"x=interval(1)", "word 1, column 3: too few arguments for `interval`"},
      {"x=range(stpo=3)", "word 1, column 9: `range` has no argument `stpo`"},
      {"x=range(3,start=1)", "word 1, column 17: argument `start` is given twice"},
      {"x=shuffle(range(3))", "word 1, column 3: `shuffle` is not available"},
      {"x=glob(*)", "word 1, column 3: `glob` is not available"},
      {"x=0.1..0.5", "word 1, column 3: `..` joins integers"},
      {"x=0..1:0.1", "word 1, column 3: `..` takes no step"},
      {"x=tag(fast,interval(0,1))", "word 1, column 7: a tag that means nothing here"},
      {"x=tag(log,1)", "word 1, column 11: tag(log, …) takes an interval"},
      {"x=[absent()]", "word 1, column 4: a range, choice or absent() inside a value"},
      {"x=linspace(0,1,0)", "word 1, column 3: the number of values"},
      {"x=linspace(0,1,2.5)", "word 1, column 3: the number of values"},
      {"x=geomspace(0,1,3)", "word 1, column 3: the ends of geomspace"},
      {"x=range(0,1,1e-9)", "word 1, column 3: the range holds more than a million values"},
      {"x=int(interval(-1e300,1e300))", "word 1, column 7: the ends of an integer range"},
      {"x=é(1)", "word 1, column 4: unexpected `(`"},
      {"é=\xFF", "word 1, column 1: the word is not valid UTF-8"},
  };
  for (const auto& [word, expected] : cases) {
    const std::string message = first_line(read(word));
    EXPECT_EQ(message.substr(6, std::string_view(expected).size()), expected) << word << "\n"
                                                                              << message;
  }
}

TEST(WordReader, DeepNestingIsRefusedNotOverflowed) {
  const std::string deep = "x=" + std::string(100000, '[');
  EXPECT_NE(read(deep).find("nested deeper than 50 levels"), std::string::npos);
  std::string calls = "x=";
  for (int i = 0; i < 1000; ++i) calls += "str(";
  EXPECT_NE(read(calls).find("nested deeper"), std::string::npos);
}

TEST(WordReader, AValueMayNestFiftyLevelsAndNoMore) {
  const auto nested = [](std::size_t levels, const std::string& core) {
    return "x=" + std::string(levels, '[') + core + std::string(levels, ']');
  };
  for (const char* core : {"1", "", "a b"}) {
    EXPECT_EQ(read(nested(50, core)), "structure:" + nested(50, core).substr(2));
    const std::string message = read(nested(51, core));
    EXPECT_NE(message.find("word 1, column 53: a value nested deeper than 50 levels; keep it in a "
                           "file"),
              std::string::npos)
        << message;
  }
}

}  // namespace
}  // namespace seedbed
