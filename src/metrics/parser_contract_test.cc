#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "base/text.h"
#include "metrics/number.h"
#include "metrics/state_text.h"
#include "metrics/test_support.h"

// What holds for every parser, whatever it reads.

namespace seedbed {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Sample {
  std::string name;
  SourceFormat format;
  std::string text;
  std::vector<std::string> patterns = {};
};

const std::vector<Sample>& samples() {
  static const std::vector<Sample> all = {
      {"output", SourceFormat::output_lines,
       "Epoch 1/3\r\nloss=0.5 acc: 0.75\r 10%|# | loss=nan\r\n\x1b[31mval loss\x1b[0m=1\n"
       "-----\n| rollout/ | |\n| rew | 22.5 |\n| step | 7 |\n-----\n{\"a\": {\"b\": 1}}\n"
       "step 3 loss 1\nacc=1 loss=2\nTraceback (most recent call last):\nloss=-inf end"},
      {"patterns",
       SourceFormat::output_lines,
       "epoch 3\nscore 0.5 loss=1\nat 4 x 7\nat 5\nscore 0.75\nscore bad\nloss=3\n",
       {R"(score (?P<score>\S+))", R"(at (?P<step>\d+)( x (?P<x>\d+))?)"}},
      {"jsonl", SourceFormat::json_lines,
       "{\"step\":1,\"loss\":0.5}\n{\"loss\":NaN,\"t\":\"x\"}\nbad\n{\"a\":{\"b\":true}}\r\n"
       "{\"st{\"step\":9,\"loss\":1}\n{\"loss\":2}"},
      {"csv", SourceFormat::csv,
       "step,loss,\"a,b\"\n1,0.5,2\n2,0.25\n3,,\"x\ny\",9\nstep,acc\n4,1\n\"5\",2\n6,3"},
      {"tsv", SourceFormat::tsv,
       "Epoch\tRet\tx\n0\t1.5\t\n1\t2.5\t3\n\n2\t\t4\nEpoch\tRet\tx\ty\n3\t1\t2\t3\n4\t5"},
      {"blanks", SourceFormat::tsv, "a  b\n1 2\n3   4 5\nnan inf\n"},
  };
  return all;
}

class EveryParser : public testing::TestWithParam<Sample> {
 protected:
  std::unique_ptr<MetricParser> make() const {
    return parser_of(GetParam().format, GetParam().patterns);
  }
  std::vector<std::string> all() const {
    return read_all(GetParam().format, GetParam().text, GetParam().patterns);
  }
};

TEST_P(EveryParser, TheSampleGivesPoints) { EXPECT_GT(all().size(), 3u); }

TEST_P(EveryParser, PointsDoNotDependOnHowTheBytesAreCut) {
  const auto whole = all();
  const std::string& text = GetParam().text;
  for (std::size_t size = 1; size <= 9; ++size) {
    const auto parser = make();
    std::vector<ParsedPoint> points;
    for (std::size_t at = 0; at < text.size(); at += size) {
      parser->feed(std::string_view(text).substr(at, size), points);
    }
    parser->finish(points);
    EXPECT_EQ(show(points), whole) << "pieces of " << size;
  }
}

TEST_P(EveryParser, ASavedAndRestoredParserGoesOnExactly) {
  const auto whole = all();
  const std::string& text = GetParam().text;
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    const auto first = make();
    std::vector<ParsedPoint> points;
    first->feed(std::string_view(text).substr(0, cut), points);
    const std::string state = first->state();
    EXPECT_TRUE(std::all_of(state.begin(), state.end(), [](char c) { return c >= 32 && c < 127; }));
    const auto second = make();
    const Status restored = second->restore(state);
    ASSERT_TRUE(restored.has_value()) << restored.error().message << " at " << cut;
    EXPECT_EQ(second->state(), state);
    EXPECT_EQ(second->names(), first->names());
    second->feed(std::string_view(text).substr(cut), points);
    second->finish(points);
    EXPECT_EQ(show(points), whole) << "cut at " << cut;
  }
}

TEST_P(EveryParser, CaseC14_AReplayFromTheStartGivesNothingTwice) {
  const auto whole = all();
  const std::string& text = GetParam().text;
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    const auto parser = make();
    std::vector<ParsedPoint> points;
    parser->feed(std::string_view(text).substr(0, cut), points);
    parser->restart();
    parser->feed(text, points);
    parser->finish(points);
    EXPECT_EQ(show(points), whole) << "rewritten after " << cut;
  }
}

TEST_P(EveryParser, CaseC14_TwoRewritesAndASaveInBetween) {
  const auto whole = all();
  const std::string& text = GetParam().text;
  for (std::size_t cut = 0; cut <= text.size(); cut += 3) {
    const auto parser = make();
    std::vector<ParsedPoint> points;
    parser->feed(text, points);
    parser->restart();
    parser->feed(std::string_view(text).substr(0, cut), points);
    const auto other = make();
    ASSERT_TRUE(other->restore(parser->state()).has_value());
    other->feed(std::string_view(text).substr(cut), points);
    other->restart();
    other->feed(text, points);
    other->finish(points);
    EXPECT_EQ(show(points), whole) << "saved at " << cut;
  }
}

TEST_P(EveryParser, NextAttemptsPointsAreItsOwnIfItStartsTheFileAgain) {
  const auto parser = make();
  std::vector<ParsedPoint> points;
  parser->feed(GetParam().text, points);
  parser->feed("\n", points);
  points.clear();
  parser->next_attempt();
  parser->restart();
  parser->feed(GetParam().text, points);
  parser->finish(points);
  EXPECT_EQ(show(points), all());
}

TEST_P(EveryParser, DamagedStatesAreRefusedOrHarmless) {
  const auto parser = make();
  std::vector<ParsedPoint> points;
  parser->feed(GetParam().text, points);
  const std::string state = parser->state();
  for (const std::string& bad : {std::string(), std::string("x"), std::string("other1 0 0"),
                                 state + " 1", state.substr(0, state.rfind(' '))}) {
    EXPECT_FALSE(make()->restore(bad).has_value()) << bad;
  }
  Random random(1, 1);
  for (int round = 0; round < 500; ++round) {
    std::string bad = state;
    for (int i = 0; i < 3; ++i)
      bad[random.below(bad.size())] = static_cast<char>(32 + random.below(95));
    if (random.below(3) == 0) bad.resize(random.below(bad.size()));
    const auto other = make();
    if (!other->restore(bad)) continue;
    other->feed(GetParam().text, points);
    other->restart();
    other->feed(GetParam().text, points);
    other->finish(points);
  }
}

TEST_P(EveryParser, SurvivesRandomBytesWhereverTheyAreCut) {
  Random random(2, 7);
  for (int round = 0; round < 100; ++round) {
    std::string text = GetParam().text;
    for (std::uint64_t i = 0; i < 1 + random.below(20); ++i) {
      const auto at = random.below(text.size());
      switch (random.below(3)) {
        case 0:
          text[at] = static_cast<char>(random.below(256));
          break;
        case 1:
          text.erase(at, random.below(10));
          break;
        default:
          text.insert(at, text.substr(random.below(text.size()), random.below(30)));
      }
      if (text.empty()) text = "\n";
    }
    const auto parser = make();
    std::vector<ParsedPoint> whole, parts;
    parser->feed(text, whole);
    parser->finish(whole);
    const auto other = make();
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t size = 1 + random.below(40);
      other->feed(std::string_view(text).substr(at, size), parts);
      at += size;
    }
    other->finish(parts);
    EXPECT_EQ(show(parts), show(whole));
    for (const ParsedPoint& point : whole) {
      EXPECT_TRUE(is_valid_utf8(point.name));
      EXPECT_FALSE(point.name.empty());
      EXPECT_TRUE(std::isfinite(point.step));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Parsers, EveryParser, testing::ValuesIn(samples()),
                         [](const testing::TestParamInfo<Sample>& sample) {
                           return sample.param.name;
                         });

// ---- rewritten files

std::vector<std::string> rewritten(const std::string& before, const std::string& after) {
  const auto parser = parser_of(SourceFormat::csv);
  std::vector<ParsedPoint> points;
  parser->feed(before, points);
  parser->restart();
  parser->feed(after, points);
  parser->finish(points);
  return show(points);
}

TEST(Rewritten, CaseC14_NewValuesAreGivenAndEarlierOnesKept) {
  EXPECT_THAT(rewritten("step,a\n1,10\n2,20\n", "step,a\n1,11\n2,21\n"),
              ElementsAre("a@1=10", "a@2=20", "a@1=11", "a@2=21"));
  EXPECT_THAT(rewritten("step,a\n1,10\n2,20\n3,30\n", "step,a\n1,10\n2,21\n"),
              ElementsAre("a@1=10", "a@2=20", "a@3=30", "a@2=21"));
}

TEST(Rewritten, CaseC14_NumberingGoesOnWhereThereAreNoSteps) {
  EXPECT_THAT(rewritten("a\n1\n2\n", "a\n7\n8\n"), ElementsAre("a@1=1", "a@2=2", "a@3=7", "a@4=8"));
}

TEST(Rewritten, CaseC14_ALongFileIsRecognisedInSmallMemory) {
  const auto row = [](int i) { return std::to_string(i) + "," + std::to_string(i * 7) + "\n"; };
  const auto parser = parser_of(SourceFormat::csv);
  std::vector<ParsedPoint> points;
  std::string text = "step,a\n";
  for (int i = 0; i < 20'000; ++i) text += row(i);
  parser->feed(text, points);
  ASSERT_EQ(points.size(), 20'000u);
  EXPECT_LT(parser->state().size(), 3000u);
  for (int rewrite = 0; rewrite < 3; ++rewrite) {
    parser->restart();
    text += row(20'000 + rewrite);
    parser->feed(text, points);
    ASSERT_EQ(points.size(), 20'001u + static_cast<std::size_t>(rewrite));
  }
  // One that differs late gives what is new, and repeats at most what lies between two marks.
  parser->restart();
  const std::size_t before = points.size();
  std::string other = "step,a\n";
  for (int i = 0; i < 20'000; ++i) other += i < 14'000 ? row(i) : std::to_string(i) + ",0.5\n";
  parser->feed(other, points);
  EXPECT_GE(points.size() - before, 6'000u);
  EXPECT_LE(points.size() - before, 6'000u + 1'500u);
}

// ---- numbers and states

TEST(Number, ReadsWhatProgramsPrint) {
  EXPECT_EQ(whole_number("1e-3"), 1e-3);
  EXPECT_EQ(whole_number("+.5"), 0.5);
  EXPECT_EQ(whole_number("5."), 5.0);
  EXPECT_EQ(whole_number("-0"), 0.0);
  EXPECT_EQ(whole_number("1e-999"), 0.0);
  EXPECT_EQ(whole_number("1e999"), HUGE_VAL);
  EXPECT_EQ(whole_number("0." + std::string(400, '0') + "1"), 0.0);
  EXPECT_EQ(whole_number(std::string(400, '9')), HUGE_VAL);
  EXPECT_EQ(whole_number("0." + std::string(400, '0') + "1e900"), HUGE_VAL);
  EXPECT_EQ(whole_number("1" + std::string(400, '0') + "e-900"), 0.0);
  EXPECT_EQ(whole_number("1e-99999999999999999999"), 0.0);
  for (const char* bad : {"", "-", "+", ".", "e5", "1e", "0x10", "1_0", "--1", "+-1", "1 ", " 1",
                          "nanx", "1.#X", "in", "na"}) {
    EXPECT_EQ(whole_number(bad), std::nullopt) << bad;
  }
}

TEST(StateText, GivesFieldsBack) {
  StateWriter writer;
  writer.text("a b%\xff\n");
  writer.text("");
  writer.number(~std::uint64_t{0});
  writer.real(-0.1);
  writer.rest("x y");
  const std::string state = writer.take();
  EXPECT_EQ(state, "a%20b%25%FF%0A % 18446744073709551615 -0.1 x y");
  StateReader reader(state);
  EXPECT_EQ(reader.text(), "a b%\xff\n");
  EXPECT_EQ(reader.text(), "");
  EXPECT_EQ(reader.number(), ~std::uint64_t{0});
  EXPECT_EQ(reader.real(), -0.1);
  EXPECT_EQ(reader.rest(), "x y");
  EXPECT_TRUE(reader.at_end());
  EXPECT_EQ(reader.number(), 0u);
  EXPECT_FALSE(reader.ok());
}

}  // namespace
}  // namespace seedbed
