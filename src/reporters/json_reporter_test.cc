#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "reporters/reporters_test_support.h"

namespace seedbed {
namespace {

using Json = nlohmann::json;
using testing::expect_golden;
using testing::MemoryOutput;
using testing::Story;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

struct JsonRun {
  JsonRun() {
    ReportFacts facts;
    facts.study = "digits";
    facts.study_dir = "studies/digits";
    facts.version = "0.1.0";
    facts.total = 4;
    reporter = make_json_reporter(output, facts);
    story.reporter = reporter.get();
  }
  std::vector<Json> lines() const {
    std::vector<Json> parsed;
    const std::string all = output.all();
    for (const auto line : split(trim(all), '\n')) parsed.push_back(Json::parse(line));
    return parsed;
  }
  Json last(const std::string& event) const {
    Json found;
    for (const Json& line : lines()) {
      if (line.at("event") == event) found = line;
    }
    return found;
  }

  MemoryOutput output;
  std::unique_ptr<Reporter> reporter;
  Story story;
};

void tell_all(JsonRun& run) {
  Story& story = run.story;
  RunStarted started = Story::run();
  started.details_json = R"({"git":"abc"})";
  story.commit({started, Story::space(), NoteAdded{0, "cores", "only core 0 of 4 allowed"}});
  story.commit({story.trial(1, "1e-3", "0"), story.trial(2, "1e-3", "1"), story.trial(3, "7", "0"),
                story.trial(4, "x", "0"), SpaceWalked{1, 4}, WalkMoved{1, 4, 0, 4}});
  story.start(1, 0);
  story.start(2, 1);
  MetricsReported metrics;
  metrics.attempt = {1, 1};
  metrics.points = {{"val_acc", 1, 0.5, story.now}, {"loss", 1, kNan, story.now}};
  story.commit({metrics});
  story.report(2, 1, 0.7);
  story.wait(Milliseconds(1500));
  story.complete(1, 1500);
  story.complete(2, 1500);
  story.start(3, 0);
  story.commit({PauseSet{true}});
  story.commit({WidthSet{3}});
  Outcome signalled;
  signalled.kind = OutcomeKind::signalled;
  signalled.code = 9;
  story.commit({Story::ended(3, signalled, 10),
                TrialRequeued{3, RequeueCause::retry, story.now + Milliseconds(30'000)}});
  story.commit({AllocationReleased{{3, 1}}});
  story.wait(Milliseconds(30'000));
  story.start(3, 0, 2);
  story.fail(3, 3, 20, 2);
  story.start(4, 0);
  story.commit({RunStopping{1, StopMode::stop, 130, "interrupted (INT)"},
                AttemptStopping{{4, 1}, StopCause::interrupted, ""}});
  Outcome stopped;
  stopped.kind = OutcomeKind::stopped;
  story.commit({Story::ended(4, stopped, 30), TrialRequeued{4, RequeueCause::interrupted, {}}});
  story.commit({AllocationReleased{{4, 1}}});
  story.commit({RunEnded{1, 130, "interrupted (INT)"}});
  run.reporter->ended(story.state);
}

TEST(JsonReporter, EveryKindOfEntryHasItsObject) {
  JsonRun run;
  tell_all(run);
  expect_golden("json_run.jsonl", run.output.all());
  EXPECT_TRUE(run.output.drained);
}

TEST(JsonReporter, HelloIsFirstSummaryIsLastOneObjectPerEntry) {
  JsonRun run;
  tell_all(run);
  const auto lines = run.lines();
  EXPECT_EQ(lines.front().at("event"), "hello");
  EXPECT_EQ(lines.front().at("schema"), 1);
  EXPECT_EQ(lines.back().at("event"), "summary");
  EXPECT_EQ(lines.back().at("exit_code"), 130);
  EXPECT_EQ(lines.back().at("counts"), (Json{{"completed", 2},
                                             {"failed", 1},
                                             {"pruned", 0},
                                             {"cancelled", 0},
                                             {"running", 0},
                                             {"waiting", 1}}));
  for (std::size_t i = 1; i + 1 < lines.size(); ++i) {
    EXPECT_TRUE(lines[i].contains("event"));
    EXPECT_TRUE(lines[i].at("time").is_string()) << lines[i];
  }
}

TEST(JsonReporter, CaseC7_NumbersThatAreNotFiniteAreStringsAndTheLinesValid) {
  JsonRun run;
  run.story.begin({"1"}, {"0"});
  run.story.start(1, 0);
  run.story.report(1, 1, kNan);
  run.story.report(1, 2, kInf);
  run.story.report(1, -kInf, -kInf);
  std::set<std::string> seen;
  for (const Json& line : run.lines()) {
    if (line.at("event") != "metrics_reported") continue;
    seen.insert(line.at("points").at(0).at("value").get<std::string>());
  }
  EXPECT_EQ(seen, (std::set<std::string>{"nan", "inf", "-inf"}));
  run.story.complete(1, 1000);
  run.story.commit({RunEnded{1, 0, ""}});
  run.reporter->ended(run.story.state);
  EXPECT_TRUE(run.last("summary").at("best_trial").is_null());
}

TEST(JsonReporter, CaseC5_BytesThatAreNotUtf8StayValidJson) {
  JsonRun run;
  run.story.commit({Story::run(), Story::space(), NoteAdded{0, "k\xff", "caf\xe9 \xff\n\"x\""}});
  EXPECT_TRUE(is_valid_utf8(run.output.all()));
  EXPECT_EQ(run.last("note_added").at("text"), "caf\xef\xbf\xbd \xef\xbf\xbd\n\"x\"");
}

TEST(JsonReporter, ParametersKeepTypeAndSpellingAndAbsentOnesAreLeftOut) {
  JsonRun run;
  run.story.commit({Story::run(), Story::space()});
  TrialProposed trial = run.story.trial(1, "1e-3");
  trial.point.parameters = {{"lr", Value::from_plain("1e-3")},
                            {"zip", Value::from_plain("007")},
                            {"amp", Value::boolean(true)},
                            {"opt", Value::null()},
                            {"gone", Value::absent()},
                            {"empty", Value::from_text("")},
                            {"names", Value::structure("[a,.5]", R"(["a", 5e-1])")},
                            {"layers", Value::structure("[32, 32]", "[32,32]")}};
  trial.identity = trial.point.identity();
  run.story.commit({trial});
  const Json params = run.last("trial_proposed").at("params");
  EXPECT_EQ(params.at("values"),
            Json::parse(R"({"lr":0.001,"zip":"007","amp":true,"opt":null,"empty":"",)"
                        R"("names":["a",0.5],"layers":[32,32]})"));
  EXPECT_EQ(params.at("text").at("lr"), "1e-3");
  EXPECT_FALSE(params.at("text").contains("gone"));
}

TEST(JsonReporter, CaseK1_TheSummaryHasTheBestConfigurationOverItsSeeds) {
  JsonRun run;
  tell_all(run);
  const Json best = run.last("summary").at("best_configuration");
  EXPECT_EQ(best.at("n"), 2);
  EXPECT_DOUBLE_EQ(best.at("mean").get<double>(), 0.6);
  EXPECT_NEAR(best.at("deviation").get<double>(), 0.1414213562, 1e-9);
  EXPECT_EQ(best.at("goal"), "maximize");
  EXPECT_EQ(best.at("by"), "last");
  EXPECT_FALSE(best.at("params").at("values").contains("seed"));
}

TEST(JsonReporter, AFailureCarriesItsLog) {
  JsonRun run;
  tell_all(run);
  const Json failures = run.last("summary").at("failures");
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_EQ(failures.at(0).at("log"), "studies/digits/trials/00003-lr7-s0/attempt-2.log");
}

TEST(JsonReporter, AGoneReaderIsSilenceAndLossIsOwnedUpTo) {
  JsonRun run;
  run.story.commit({Story::run(), Story::space()});
  run.output.dropped_writes = 2;
  run.story.commit({PauseSet{true}});
  EXPECT_EQ(run.last("lost").at("messages"), 2);
  run.output.gone = true;
  run.story.commit({PauseSet{false}});
  run.output.gone = false;
  run.output.writes.clear();
  run.reporter->ended(run.story.state);
  EXPECT_TRUE(run.output.writes.empty());
}

TEST(JsonReporter, HelloComesEvenWhenNothingIsCommitted) {
  JsonRun run;
  run.reporter->ended(run.story.state);
  const auto lines = run.lines();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].at("event"), "hello");
  EXPECT_TRUE(lines[1].at("exit_code").is_null());
}

}  // namespace
}  // namespace seedbed
