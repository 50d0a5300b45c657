#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metrics/test_support.h"

namespace seedbed {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

std::vector<std::string> lines(std::string_view text,
                               const std::vector<std::string>& patterns = {}) {
  return read_all(SourceFormat::output_lines, text, patterns);
}

// ---- name=value and name: value

TEST(OutputLines, ReadsEqualsAndColon) {
  EXPECT_THAT(lines("loss=0.5 acc = 0.9\n"), ElementsAre("loss@1=0.5", "acc@1=0.9"));
  EXPECT_THAT(lines("loss: 0.5, acc : 0.9\n"), ElementsAre("loss@1=0.5", "acc@1=0.9"));
  EXPECT_THAT(lines("loss:0.532 epoch:3\n"), ElementsAre("loss@3=0.532"));
  EXPECT_THAT(lines("(loss=-1e-3; acc=+.5) [x=5.] y=7|z=8\n"),
              ElementsAre("loss@1=-0.001", "acc@1=0.5", "x@1=5", "y@1=7", "z@1=8"));
  EXPECT_THAT(lines("val/acc=0.5 top@1=0.6 a.b=1 loss_2=3 a-b=4\n"),
              ElementsAre("val/acc@1=0.5", "top@1@1=0.6", "a.b@1=1", "loss_2@1=3", "a-b@1=4"));
  EXPECT_THAT(lines("The loss was loss=0.5. Acc: 98%, done.\n"),
              ElementsAre("loss@1=0.5", "Acc@1=98"));
}

TEST(OutputLines, NumbersAreNotFoundInsideOtherThings) {
  for (const char* line : {
           "12:30:45 started",
           "2024-01-02 12:30:45,123 INFO starting",
           "2024-01-02T12:30:45.123Z ready",
           "see http://host:8080/a?x=3&y=4 and https://x.org/b=5",
           "listening on localhost:8080",
           "file /data/run=3/model.pt and runs/lr=0.1/model.pt",
           "  File \"train.py\", line 12, in main",
           "train.py:12: UserWarning: slow",
           "key: word other: 3.5s third: 10/20 version: 1.2.3",
           "time: 12:30:45 date: 2024-01-02 eta: 0:12:45",
           "python train.py --lr=0.1 --epochs=10 -x=3",
           "shape: (3, 4) list=[1, 2] x=1,2,3",
           "total: 1,234 hex=0x1F id=12ab n=1_000",
           "a == 3 b <= 4 c != 5 d >= 6 e += 7 f := 8",
           "INFO: 5 WARNING: 7 error: 1",
           "  =3 :4 == 5",
           "loss= loss: loss",
           "x = y = z",
           "std::vector<int> a::b 3",
       }) {
    EXPECT_THAT(lines(std::string(line) + "\n"), IsEmpty()) << line;
  }
}

TEST(OutputLines, TqdmBarsGiveTheirPostfixButNotTheirPercentage) {
  EXPECT_THAT(
      lines("train:  45%|####5     | 450/1000 [00:12<00:15, 36.5it/s, loss=0.532, acc=0.9]"),
      ElementsAre("loss@1=0.532", "acc@1=0.9"));
  EXPECT_THAT(
      lines("Epoch 3: 100%|██████| 12/12 [00:00<00:00, 36.50it/s, v_num=0, loss=1.2e-05]\n"),
      ElementsAre("v_num@3=0", "loss@3=1.2e-05"));
}

TEST(OutputLines, CaseC2_CarriageReturnsSeparatePiecesAndTheLastNeedsNoEnd) {
  std::string text;
  for (int i = 0; i < 1000; ++i) {
    text += "\r" + std::to_string(i / 10) + "%|####| loss=" + std::to_string(i);
  }
  text += "\rdone loss=0.123";
  const auto points = lines(text);
  ASSERT_THAT(points, SizeIs(1001));
  EXPECT_EQ(points[0], "loss@1=0");
  EXPECT_EQ(points[999], "loss@1000=999");
  EXPECT_EQ(points[1000], "loss@1001=0.123");
}

TEST(OutputLines, CaseC5_BytesThatAreNoUtf8DoNotHideTheMetric) {
  EXPECT_THAT(lines(std::string("caf\xe9 \xff\xfe\x00 loss=0.5\n\xc3", 20)),
              ElementsAre("loss@1=0.5"));
  EXPECT_THAT(lines("\xff\xfename=1 loss=2 损失=0.5 точность: 0.25\n"),
              ElementsAre("loss@1=2", "损失@1=0.5", "точность@1=0.25"));
  EXPECT_THAT(lines("{\"a\xff\": 1}\n"), ElementsAre("a\xef\xbf\xbd@1=1"));
}

TEST(OutputLines, CaseC7_EverySpellingOfNaNAndInfinity) {
  for (const char* word : {"nan", "NaN", "NAN", "-nan", "1.#QNAN", "-1.#IND", "nan(ind)"}) {
    EXPECT_THAT(lines("loss=" + std::string(word) + "\n"), ElementsAre("loss@1=nan")) << word;
    EXPECT_THAT(lines("loss: " + std::string(word) + ", x\n"), ElementsAre("loss@1=nan")) << word;
  }
  for (const char* word : {"inf", "Infinity", "INF", "+inf", "1.#INF", "1e999"}) {
    EXPECT_THAT(lines("loss=" + std::string(word) + "\n"), ElementsAre("loss@1=inf")) << word;
  }
  for (const char* word : {"-inf", "-Infinity", "-1.#INF", "-1e999"}) {
    EXPECT_THAT(lines("loss=" + std::string(word) + "\n"), ElementsAre("loss@1=-inf")) << word;
  }
  for (const char* word : {"nano", "info", "inference", "nan_count", "infinite"}) {
    EXPECT_THAT(lines("loss=" + std::string(word) + "\n"), IsEmpty()) << word;
  }
}

TEST(OutputLines, WordsThatTellMetricsApartBelongToTheName) {
  EXPECT_THAT(lines("Epoch 3 | Train Loss: 0.5 | Val Loss: 0.6 | val acc=0.7\n"),
              ElementsAre("Train Loss@3=0.5", "Val Loss@3=0.6", "val acc@3=0.7"));
  EXPECT_THAT(lines("Test set: Average loss: 0.0488, Accuracy: 9840/10000 (98%)\n"),
              ElementsAre("Average loss@1=0.0488"));
  EXPECT_THAT(lines("INFO best val loss: 1 and then loss: 2\n"),
              ElementsAre("best val loss@1=1", "loss@1=2"));
}

TEST(OutputLines, ColoursAndCursorMovementsAreNotInTheWay) {
  EXPECT_THAT(lines("\x1b[31mloss\x1b[0m=\x1b[1;32m0.5\x1b[0m\x1b[K acc\x1b[m: 1\n"),
              ElementsAre("loss@1=0.5", "acc@1=1"));
  EXPECT_THAT(lines("\x1b]0;title=7\aloss=0.5\x1b[2K\n"), ElementsAre("loss@1=0.5"));
  EXPECT_THAT(lines("loss=0.5\x1b["), ElementsAre("loss@1=0.5"));
  EXPECT_THAT(lines("\b\b\b\b1/2 [=>..] - loss: 0.5\n"), ElementsAre("loss@1=0.5"));
}

// ---- objects

TEST(OutputLines, ReadsJsonObjectsAndPrintedDicts) {
  EXPECT_THAT(lines("{\"step\": 3, \"loss\": 0.5, \"eval\": {\"acc\": 0.9}, \"ok\": true}\n"),
              ElementsAre("loss@3=0.5", "eval.acc@3=0.9", "ok@3=1"));
  EXPECT_THAT(lines("{'loss': 0.5123, 'learning_rate': 4.5e-05, 'epoch': 1.25}\n"),
              ElementsAre("loss@1.25=0.5123", "learning_rate@1.25=4.5e-05"));
  EXPECT_THAT(lines("INFO metrics: {'a': nan, 'b': None, 'c': (1, 2), 'd': \"x\"} e=1\n"),
              ElementsAre("a@1=nan", "e@1=1"));
  EXPECT_THAT(lines("{'loss': tensor(0.53, device='cuda:0', grad_fn=<NllLoss>), 'n': array(2.)}\n"),
              ElementsAre("loss@1=0.53", "n@1=2"));
  EXPECT_THAT(lines("{'x': <weird, 'loss': 0.5\n"), ElementsAre("loss@1=0.5"));
  EXPECT_THAT(lines("loss: tensor(0.5, device='cuda:0') acc=np.float64(0.25)\n"),
              ElementsAre("loss@1=0.5", "acc@1=0.25"));
}

// ---- steps

TEST(OutputLines, StepsByNameOrWord) {
  EXPECT_THAT(lines("step=5 loss=0.3\n"), ElementsAre("loss@5=0.3"));
  EXPECT_THAT(lines("[INFO] epoch 3: loss=0.5 acc=0.9\n"), ElementsAre("loss@3=0.5", "acc@3=0.9"));
  EXPECT_THAT(lines("Epoch 3/10 - loss: 0.5 - val_loss: 0.6\n"),
              ElementsAre("loss@3=0.5", "val_loss@3=0.6"));
  EXPECT_THAT(lines("Train Epoch: 3 [640/60000 (1%)]\tLoss: 2.28\n"), ElementsAre("Loss@3=2.28"));
  EXPECT_THAT(lines("Epoch: [3][ 50/100] lr: 0.01 loss: 0.5\n"),
              ElementsAre("lr@3=0.01", "loss@3=0.5"));
  EXPECT_THAT(lines("iter: 19  total_loss: 2.3  eta: 0:12:45  lr: 0.0001\n"),
              ElementsAre("total_loss@19=2.3", "lr@19=0.0001"));
  EXPECT_THAT(lines("step #7: loss=1 global_step=1200\n"), ElementsAre("loss@1200=1"));
}

TEST(OutputLines, TheFinestStepOfALineWinsAndTheOthersStayMetrics) {
  EXPECT_THAT(lines("epoch=3 step=1200 loss=0.5\n"), ElementsAre("epoch@1200=3", "loss@1200=0.5"));
}

TEST(OutputLines, APositionInsideAnEpochIsNotTheStepWhereTheEpochIsKnown) {
  EXPECT_THAT(lines("Epoch [3/10], Step [100/600], Loss: 0.3\n"), testing::Contains("Loss@3=0.3"));
  EXPECT_THAT(lines("Step [100/600], Loss: 0.3\n"), ElementsAre("Loss@100=0.3"));
  EXPECT_THAT(lines("Epoch 4/10\nStep [100/600], Loss: 0.3\n"), ElementsAre("Loss@4=0.3"));
}

TEST(OutputLines, PlainPairsOnlyWhereTheWholeLineIsPairsAndBeginsWithAStep) {
  EXPECT_THAT(lines("step 0 loss 1.0\n"), ElementsAre("loss@0=1"));
  EXPECT_THAT(lines("| epoch 001 | train loss 5.3 | ppl 40\n"),
              ElementsAre("train loss@1=5.3", "ppl@1=40"));
  EXPECT_THAT(lines("2024-01-02 12:30:45,123 - INFO - epoch 3 of 9, loss 0.5, acc 98%\n"),
              ElementsAre("loss@3=0.5", "acc@3=98"));
  EXPECT_THAT(lines("step 3 loss nan\n"), ElementsAre("loss@3=nan"));
  for (const char* line :
       {"loss 0.5 acc 0.9", "epoch 3 took 5 seconds", "Step 1: install 5 files x", "step 3 done",
        "epoch 3 took 5.2s", "Downloading file 3", "step 2: 3 4", "epoch three loss 0.5", "step",
        "step loss 3", "epoch 3 -"}) {
    EXPECT_THAT(lines(std::string(line) + "\n"), IsEmpty()) << line;
  }
}

TEST(OutputLines, ALineThatIsOnlyAStepHoldsForTheFollowingOnes) {
  EXPECT_THAT(lines("Epoch 1/2\n 10/20 [==>..] - loss: 0.9\n 20/20 [====] - loss: 0.8\n"
                    "Epoch 2/2\n 20/20 [====] - 2s 1ms/step - loss: 0.7 - val_loss: 0.6\n"),
              ElementsAre("loss@1=0.9", "loss@1=0.8", "loss@2=0.7", "val_loss@2=0.6"));
  EXPECT_THAT(lines("=== Epoch 3 ===\nloss=1\n"), ElementsAre("loss@3=1"));
  EXPECT_THAT(lines("INFO:root:Epoch: 3\nloss=1\n"), ElementsAre("loss@3=1"));
  // Not only a step: says nothing about the lines after it.
  EXPECT_THAT(lines("Resuming from epoch 3\nloss=1\n"), ElementsAre("loss@1=1"));
}

TEST(OutputLines, CaseK3_MetricsWithoutAnyStepAreNumberedEachByItself) {
  EXPECT_THAT(lines("loss=3\nloss=2 acc=9\nacc=8\nloss=1\n"),
              ElementsAre("loss@1=3", "loss@2=2", "acc@1=9", "acc@2=8", "loss@3=1"));
  EXPECT_THAT(lines("step=10 loss=3\nloss=2\n"), ElementsAre("loss@10=3", "loss@11=2"));
}

TEST(OutputLines, CaseK3_StepsThatGoBackwardsAreKeptAndNoted) {
  const auto parser = parser_of(SourceFormat::output_lines);
  std::vector<ParsedPoint> points;
  parser->feed("step=3 loss=1\nstep=3 loss=2\nstep=1 loss=0\nstep=0 loss=5\n", points);
  EXPECT_THAT(show(points), ElementsAre("loss@3=1", "loss@3=2", "loss@1=0", "loss@0=5"));
  EXPECT_THAT(parser->take_notes(), ElementsAre(HasSubstr("go backwards")));
  EXPECT_THAT(parser->take_notes(), IsEmpty());
}

// ---- tables

TEST(OutputLines, SpinningUpsTableIsOneRowWithItsOwnStep) {
  const std::string table =
      "---------------------------------------\n"
      "|             Epoch |               3 |\n"
      "|      AverageEpRet |            12.3 |\n"
      "|          StdEpRet |        1.23e+03 |\n"
      "| TotalEnvInteracts |           4e+03 |\n"
      "|              Time |             nan |\n"
      "---------------------------------------\n";
  EXPECT_THAT(
      lines(table + "\n" + table),
      ElementsAre("Epoch@4000=3", "AverageEpRet@4000=12.3", "StdEpRet@4000=1230", "Time@4000=nan",
                  "Epoch@4000=3", "AverageEpRet@4000=12.3", "StdEpRet@4000=1230", "Time@4000=nan"));
}

TEST(OutputLines, SectionsOfATableAreInTheNames) {
  EXPECT_THAT(lines("----\n| rollout/           |          |\n|    ep_rew_mean     | 22.3     |\n"
                    "| time/              |          |\n|    total_timesteps | 2048     |\n----\n"),
              ElementsAre("rollout/ep_rew_mean@2048=22.3"));
}

TEST(OutputLines, OtherTablesAreNoMetrics) {
  EXPECT_THAT(lines("| 1 | 2 |\n| N/A   34C | 60W / 300W | 0% |\n| loss | word |\n||\n| |\n|a|\n"),
              IsEmpty());
  EXPECT_THAT(lines("| loss | 0.5 |"), ElementsAre("loss@1=0.5")) << "at the end of the log";
}

// ---- patterns

TEST(OutputLines, PatternsGiveTheirGroups) {
  EXPECT_THAT(lines("accuracy is 0.9, ok\n", {R"(accuracy is (?P<acc>\S+))"}),
              ElementsAre("acc@1=0.9"));
  EXPECT_THAT(lines("at 7 -> 0.5/0.6\n", {R"(at (?P<step>\d+) -> (?P<a>[\d.]+)/(?P<b>[\d.]+))"}),
              ElementsAre("a@7=0.5", "b@7=0.6"));
  EXPECT_THAT(lines("epoch 3: score 0.5\n", {R"(score (?P<score>\S+))"}),
              ElementsAre("score@3=0.5"))
      << "the step of the line holds";
  EXPECT_THAT(lines("x 1 x 2 x 3\n", {R"(x (?P<x>\d))"}), ElementsAre("x@1=1", "x@2=2", "x@3=3"));
  EXPECT_THAT(lines("# round 4\nscore 1\n", {R"(# round (?P<epoch>\d+))", R"(score (?P<s>\d+))"}),
              ElementsAre("s@4=1"));
  EXPECT_THAT(lines("v nan\n", {R"(v (?P<v>\S+))"}), ElementsAre("v@1=nan"));
}

TEST(OutputLines, ANameOfAPatternIsGivenByPatternsAlone) {
  EXPECT_THAT(
      lines("train acc=0.1 loss=1\nvalid: acc=0.9\nacc=0.2\n", {R"(valid: acc=(?P<acc>\S+))"}),
      ElementsAre("train acc@1=0.1", "loss@1=1", "acc@1=0.9"));
  EXPECT_THAT(lines("step=5 acc=0.9\n", {R"(step=(?P<step>\d+) acc=(?P<acc>\S+))"}),
              ElementsAre("acc@5=0.9"));
  EXPECT_THAT(lines("step=6 loss=2\n", {R"(step=(?P<step>\d+) acc=(?P<acc>\S+))"}),
              ElementsAre("loss@6=2"));
}

TEST(OutputLines, PatternGroupsThatAreNoNumberAreNotedOnce) {
  const auto parser = parser_of(SourceFormat::output_lines, {R"(acc=(?P<acc>\S+)|(?P<b>zzz))"});
  std::vector<ParsedPoint> points;
  parser->feed("acc=high\nacc=low\nacc=0.5\n", points);
  EXPECT_THAT(show(points), ElementsAre("acc@1=0.5"));
  EXPECT_THAT(parser->take_notes(), ElementsAre(AllOf(HasSubstr("pattern 1"), HasSubstr("acc"))));
}

TEST(OutputLines, PatternsThatCannotWorkAreRefusedWithARemedy) {
  const auto error = [](const std::string& pattern) {
    auto made = make_parser(SourceFormat::output_lines, {{"", pattern, ""}});
    return made ? std::string("none") : made.error().message;
  };
  EXPECT_THAT(error("acc=(?P<acc"), HasSubstr("not understood"));
  EXPECT_THAT(error("(?=x)(?P<a>y)"), HasSubstr("no look-around"));
  EXPECT_THAT(error("acc=(\\S+)"), HasSubstr("(?P<name>...)"));
}

TEST(OutputLines, APatternThatMatchesNothingAtEveryPlaceEnds) {
  EXPECT_THAT(lines("aaaa\n", {R"((?P<x>\d*))"}), IsEmpty());
}

// ---- long lines, ranks, tracebacks

TEST(OutputLines, CaseC2_AnEndlessLineIsReadInPartsInBoundedMemory) {
  const auto parser = parser_of(SourceFormat::output_lines);
  std::vector<ParsedPoint> points;
  std::string chunk;
  while (chunk.size() < 1 << 18) chunk += "loss=0.12345678 ";
  std::size_t found = 0;
  for (int i = 0; i < 12; ++i) {
    points.clear();
    parser->feed(std::string_view(chunk).substr(static_cast<std::size_t>(i)), points);
    for (const ParsedPoint& point : points) found += point.value == 0.12345678 ? 1 : 0;
    ASSERT_LT(parser->state().size(), 300'000u);
  }
  EXPECT_GT(found, 11 * chunk.size() / 16);
  EXPECT_THAT(parser->take_notes(), ElementsAre(HasSubstr("64 KiB")));
  const std::string noise(1 << 20, 'x');
  for (int i = 0; i < 4; ++i) parser->feed(noise, points);
  points.clear();
  parser->feed("\nloss=7\n", points);
  EXPECT_THAT(points, SizeIs(1));
}

TEST(OutputLines, CaseG7_LinesMarkedWithRanksCountForRankZeroOnly) {
  const auto parser = parser_of(SourceFormat::output_lines);
  std::vector<ParsedPoint> points;
  parser->feed("[1,0]<stdout>:loss=0.5\n[1,1]<stdout>:loss=9\n[1,10]<stderr>:loss=8\n", points);
  EXPECT_THAT(show(points), ElementsAre("loss@1=0.5"));
  EXPECT_THAT(parser->take_notes(), ElementsAre(HasSubstr("rank 0 only")));
}

TEST(OutputLines, CaseD7_FindsTheTextThatMeansFailure) {
  const std::vector<CaptureSpec> capture = {{"", "", "CUDA error|out of disk"}};
  const auto parser = make_parser(SourceFormat::output_lines, capture);
  ASSERT_TRUE(parser);
  std::vector<ParsedPoint> points;
  (*parser)->feed("loss=1\nno CUDA err", points);
  EXPECT_EQ((*parser)->failure_line(), "");
  (*parser)->feed("or\n  now out of disk\n", points);
  EXPECT_EQ((*parser)->failure_line(), "no CUDA error") << "the first, over the cut";
  EXPECT_THAT(show(points), ElementsAre("loss@1=1"));
  const auto later = make_parser(SourceFormat::output_lines, capture);
  ASSERT_TRUE((*later)->restore((*parser)->state()));
  EXPECT_EQ((*later)->failure_line(), "no CUDA error");
  EXPECT_FALSE(make_parser(SourceFormat::output_lines, {{"", "", "("}}));
  const auto far = make_parser(SourceFormat::output_lines, capture);
  (*far)->feed(std::string(60'000, 'q') + "CUDA error 7\n", points);
  EXPECT_THAT((*far)->failure_line(), HasSubstr("qqCUDA error 7"));
}

TEST(OutputLines, CaseG7_LinesOfTheRanksThatSeedbedStartsAreToldApart) {
  const auto parser = parser_of(SourceFormat::output_lines);
  std::vector<ParsedPoint> points;
  parser->feed("loss=0.5\n[rank 1] loss=9\n[rank 12] epoch 7\n[rank 0] acc=1\nloss=0.4\n", points);
  EXPECT_THAT(show(points), ElementsAre("loss@1=0.5", "acc@1=1", "loss@2=0.4"));
  EXPECT_THAT(parser->take_notes(), IsEmpty());
  points.clear();
  parser->feed("[rank x] b=2\n[rank 1 c=3\n", points);
  EXPECT_THAT(show(points), ElementsAre("b@1=2", "c@1=3"));
}

TEST(OutputLines, CaseD7_SeesTracebacks) {
  const auto seen = [](std::string_view text) {
    const auto parser = parser_of(SourceFormat::output_lines);
    std::vector<ParsedPoint> points;
    parser->feed(text, points);
    parser->finish(points);
    const auto other = parser_of(SourceFormat::output_lines);
    EXPECT_TRUE(other->restore(parser->state()).has_value());
    EXPECT_EQ(other->traceback_seen(), parser->traceback_seen());
    return parser->traceback_seen();
  };
  EXPECT_TRUE(seen("Traceback (most recent call last):\n  File \"x.py\", line 1\n"));
  EXPECT_TRUE(seen("ok\n[rank0]: Traceback (most recent call last):"));
  EXPECT_TRUE(seen("thread 'main' panicked at src/main.rs:1:2:\n"));
  EXPECT_TRUE(seen("terminate called after throwing an instance of 'std::bad_alloc'\n"));
  EXPECT_FALSE(
      seen("a Traceback is not (most recent call last)\nTraceback\nterminate\nthread 'x'\n"));
}

TEST(OutputLines, TooManyNamesAreBoundedAndNoted) {
  const auto parser = parser_of(SourceFormat::output_lines);
  std::vector<ParsedPoint> points;
  for (int i = 0; i < 3000; ++i) parser->feed("n" + std::to_string(i) + "=1\n", points);
  EXPECT_THAT(points, SizeIs(1000));
  EXPECT_THAT(parser->names(), SizeIs(1000));
  EXPECT_THAT(parser->take_notes(), ElementsAre(HasSubstr("more than 1000")));
}

}  // namespace
}  // namespace seedbed
