// long: every key of the sweep file, in the order of the reference

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "study/readers.h"

namespace seedbed {
namespace {

Result<std::string> no_files(const std::string& path) {
  if (path == "runs.csv") return std::string("lr,tag\n1e-3,a\n0.01,\n");
  if (path == "cfg.yaml") return std::string("lr: {lr}\n");
  return fail(ErrorCode::usage, "cannot read " + path + ": no such file");
}

constexpr const char* kCommand = "command: [python3, train.py, \"${args}\"]\n";

Result<StudySpec> read(const std::string& yaml, std::vector<std::string> words = {}) {
  StudySources sources;
  sources.file_name = "sweep.yaml";
  sources.file_text = yaml;
  sources.words = std::move(words);
  return read_study(sources, no_files);
}

StudySpec must_read(const std::string& yaml, std::vector<std::string> words = {}) {
  Result<StudySpec> spec = read(yaml, std::move(words));
  EXPECT_TRUE(spec) << yaml << "\n" << (spec ? "" : spec.error().message);
  return spec ? *spec : StudySpec{};
}

// The values of a parameter as "kind:spelling", joined by blanks.
std::string values(const StudySpec& spec, std::string_view name) {
  const Dimension* dimension = spec.space.dimension(name);
  if (dimension == nullptr) return "(none)";
  std::string text;
  for (std::uint64_t i = 0; i < dimension->size(); ++i) {
    const Value value = dimension->at(i);
    text += (i > 0 ? " " : "") + std::string(kind_word(value.kind())) + ":" + value.spelling();
  }
  return text;
}

std::string values_of(const std::string& parameter) {
  return values(must_read(std::string(kCommand) + "parameters:\n  x: " + parameter + "\n"), "x");
}

// Each point as "a=1 b=2".
std::vector<std::string> points(const StudySpec& spec) {
  std::vector<std::string> all;
  for (std::uint64_t i = 0; i < spec.space.index_count(); ++i) {
    const Result<std::optional<Point>> point = spec.space.point(i);
    if (!point || !*point) continue;
    std::string text;
    for (const Parameter& parameter : (*point)->parameters) {
      text += (text.empty() ? "" : " ") + parameter.name + "=" + parameter.value.spelling();
    }
    all.push_back(text);
  }
  return all;
}

std::string error_of(const std::string& yaml, std::vector<std::string> words = {}) {
  const Result<StudySpec> spec = read(yaml, std::move(words));
  if (spec) return "(no error)";
  EXPECT_EQ(spec.error().code, ErrorCode::usage);
  return spec.error().message;
}

bool holds(const std::vector<std::string>& texts, const std::string& part) {
  return std::any_of(texts.begin(), texts.end(),
                     [&](const std::string& text) { return text.find(part) != std::string::npos; });
}

using Strings = std::vector<std::string>;

TEST(StudyReader, TheExampleOfTheReferenceReads) {
  const StudySpec spec = must_read(R"(
command: [python3, train.py, "${args}"]
metric: {name: val/acc, goal: maximize}
method: grid
parameters:
  lr: {values: [1e-3, 3e-4]}
  opt: {values: [adam, sgd, !absent ]}
  batch: {values: [32, 64], when: "opt == 'sgd'"}
  model: {values: [s, m]}
  amp: {values: [true, false], flag: present}
  seed: {values: [0, 1, 2]}
zip: [[model, lr]]
where: "batch <= 256 or opt != 'sgd'"
resources: {cpus: 1, gpus: 0, memory: 4GiB, licence: 2}
limits: {time: 30m, silence: 10m, study: 12h, log: 100MB}
retries: {count: 2, on: [signalled, out_of_memory], wait: 30s}
capture: [{file: "out/progress.csv"}, {pattern: 'acc=(?P<val_acc>\S+)'}]
early_terminate: [{type: nan}, {type: median, min_iter: 1, min_trials: 5}]
env: {WANDB_MODE: offline, RATE: "{lr}"}
workdir: trial
order: longest-first
run_cap: 100
slots: 3
snapshot: true
sampler_seed: 7
halt: 20%
)");
  EXPECT_EQ(spec.objective.metric, "val/acc");
  EXPECT_EQ(spec.objective.goal, Goal::maximize);
  EXPECT_EQ(spec.method, Method::grid);
  EXPECT_EQ(values(spec, "lr"), "real:1e-3 real:3e-4");
  EXPECT_EQ(values(spec, "opt"), "text:adam text:sgd absent:");
  EXPECT_EQ(spec.space.dimension("amp")->flag, FlagStyle::present);
  EXPECT_EQ(spec.resources.memory, std::uint64_t{4} << 30U);
  EXPECT_EQ(spec.resources.named.at("licence"), 2);
  EXPECT_EQ(*spec.limits.time, Milliseconds(30 * 60 * 1000));
  EXPECT_EQ(*spec.limits.log_bytes, 100'000'000U);
  EXPECT_EQ(spec.retries.count, 2);
  EXPECT_EQ(spec.retries.on.size(), 2U);
  EXPECT_EQ(spec.retries.wait, Milliseconds(30000));
  ASSERT_EQ(spec.capture.size(), 2U);
  EXPECT_EQ(spec.capture[1].pattern, "acc=(?P<val_acc>\\S+)");
  ASSERT_EQ(spec.pruners.size(), 2U);
  EXPECT_EQ(spec.pruners[1].options.at("min_trials"), 5);
  EXPECT_EQ(spec.env.at("RATE"), "{lr}");
  EXPECT_EQ(spec.workdir, Workdir::trial);
  EXPECT_EQ(spec.order, Order::longest_first);
  EXPECT_EQ(*spec.run_cap, 100U);
  EXPECT_EQ(*spec.slots, 3U);
  EXPECT_TRUE(spec.snapshot);
  EXPECT_EQ(spec.sampler_seed, 7U);
  EXPECT_EQ(spec.halt, "20%");
  EXPECT_EQ(spec.seed_parameter, "seed");
  EXPECT_TRUE(spec.warnings.empty()) << spec.warnings.front();
}

TEST(StudyReader, CaseA1_EveryDecimalNotationIsANumberAndKeepsItsSpelling) {
  EXPECT_EQ(values_of("{values: [1e-3, 1E-3, 1.0e-4, 1e+3, .5, 5., 1.10]}"),
            "real:1e-3 real:1.0e-4 real:1e+3 real:.5 real:5. real:1.10");
  const StudySpec spec = must_read(std::string(kCommand) +
                                   "method: random\nrun_cap: 3\n"
                                   "parameters: {lr: {distribution: log_uniform_values, min: 1e-5, "
                                   "max: 1e-1}}\n");
  EXPECT_EQ(spec.space.dimension("lr")->distribution->min, 1e-5);
  EXPECT_NE(error_of(std::string(kCommand) + "parameters: {lr: {min: 1e-5, max: \"1e-1\"}}\n")
                .find("sweep.yaml:2:35: `lr`: `max` takes a number, not `1e-1`; remove the quotes"),
            std::string::npos);
}

TEST(StudyReader, CaseA3_BareWordsStayWordsWithOneWarning) {
  const StudySpec spec = must_read(std::string(kCommand) + R"(parameters:
  c: [no, NO, se]
  norm: [off, on, layer]
  f: [yes, no]
  t: ["12:30:45", 12:30:46, 2024-01-02]
  e: [~, "", none, None]
  nan: [nan, .nan]
  z: [007, 0x10, 1_000]
  q: ["no", "007"]
)");
  EXPECT_EQ(values(spec, "c"), "text:no text:NO text:se");
  EXPECT_EQ(values(spec, "norm"), "text:off text:on text:layer");
  EXPECT_EQ(values(spec, "f"), "text:yes text:no");
  EXPECT_EQ(values(spec, "t"), "text:12:30:45 text:12:30:46 text:2024-01-02");
  EXPECT_EQ(values(spec, "e"), "null:None text: text:none text:None");
  EXPECT_EQ(values(spec, "nan"), "text:nan text:.nan");
  EXPECT_EQ(values(spec, "z"), "text:007 text:0x10 text:1_000");
  // One for each parameter but q; for e another, since null and the word None look alike.
  EXPECT_EQ(spec.warnings.size(), 8U);
  EXPECT_TRUE(holds(spec.warnings, "sweep.yaml:3:3: `c`: `no`, `NO` are words here"));
  EXPECT_TRUE(holds(spec.warnings, "`e` has a null value, which reaches the program as None"));
}

TEST(StudyReader, CaseA4_FlagsAreChosenPerParameter) {
  const StudySpec spec = must_read(std::string(kCommand) + R"(parameters:
  a: {values: [true, false], flag: present}
  b: {values: [true, false], flag: no}
  c: {values: [True, FALSE], flag: 01}
  d: {values: [true, false], flag: true-false}
  e: {values: [true, "true"]}
)");
  EXPECT_EQ(spec.space.dimension("a")->flag, FlagStyle::present);
  EXPECT_EQ(spec.space.dimension("b")->flag, FlagStyle::no);
  EXPECT_EQ(spec.space.dimension("c")->flag, FlagStyle::zero_one);
  EXPECT_EQ(spec.space.dimension("d")->flag, FlagStyle::true_false);
  EXPECT_EQ(values(spec, "e"), "boolean:True text:true");
  EXPECT_NE(error_of(std::string(kCommand) + "parameters: {x: {values: [1, 2], flag: no}}\n")
                .find("`x`: `flag` is for true and false"),
            std::string::npos);
}

TEST(StudyReader, CaseA6_QuotedTextsArriveUnchanged) {
  EXPECT_EQ(
      values_of(R"yaml(['a b', "it's", 'say "hi"', $HOME, '`id`', $(touch /tmp/pwned), a;b, "*",
     '#x', '\\n', "x\ty", "new\nline", ' lead', 'trail ', ''])yaml"),
      "text:a b text:it's text:say \"hi\" text:$HOME text:`id` text:$(touch /tmp/pwned) "
      "text:a;b text:* text:#x text:\\\\n text:x\ty text:new\nline text: lead text:trail  "
      "text:");
}

TEST(StudyReader, CaseA7_ListsAndMapsCanBeOneValue) {
  EXPECT_EQ(
      values_of(R"yaml({values: [[32,32], {"a": 1, "b": [2]}, "(64,)", a|b, "x,y", 李明, é, "-",
     "--", "@file", "%d {} {0} {{x}}"]})yaml"),
      "structure:[32,32] structure:{\"a\": 1, \"b\": [2]} text:(64,) text:a|b text:x,y "
      "text:李明 text:é text:- text:-- text:@file text:%d {} {0} {{x}}");
}

TEST(StudyReader, CaseA8_NegativeNumbersAreNumbers) {
  EXPECT_EQ(values_of("[-1, -1e-3, -.5, -10.]"), "integer:-1 real:-1e-3 real:-.5 real:-10.");
}

TEST(StudyReader, CaseA12_ComputedRangesArePrintedShort) {
  EXPECT_EQ(values_of("{linspace: [0.1, 0.5, 5]}"), "real:0.1 real:0.2 real:0.3 real:0.4 real:0.5");
  EXPECT_EQ(values_of("{geomspace: [1e-5, 1e-1, 5]}"),
            "real:1e-05 real:0.0001 real:0.001 real:0.01 real:0.1");
  EXPECT_EQ(values_of("{min: 1, max: 4}"), "integer:1 integer:2 integer:3 integer:4");
}

TEST(StudyReader, ShortFormsOfParameters) {
  EXPECT_EQ(values_of("[1, 2]"), "integer:1 integer:2");
  EXPECT_EQ(values_of("1"), "integer:1");
  EXPECT_EQ(values_of("{value: [1, 2]}"), "structure:[1, 2]");
  EXPECT_EQ(values_of("!absent"), "absent:");
  EXPECT_EQ(values_of("[!!str 1, !!float 2.5, !!str yes]"), "text:1 real:2.5 text:yes");
}

TEST(StudyReader, NestedParametersGetDottedNames) {
  const StudySpec spec = must_read(std::string(kCommand) + R"(parameters:
  opt:
    parameters:
      name: {values: [adam, sgd]}
      inner: {parameters: {wd: {value: 0.1}}}
)");
  EXPECT_EQ(spec.space.names(), (Strings{"opt.name", "opt.inner.wd"}));
}

TEST(StudyReader, DistributionsOfWandb) {
  const auto kind = [](const std::string& parameter) {
    return must_read(std::string(kCommand) +
                     "method: random\nrun_cap: 2\nparameters: {x: " + parameter + "}\n")
        .space.dimension("x")
        ->distribution.value();
  };
  EXPECT_EQ(kind("{min: 1, max: 8}").kind, DistributionKind::int_uniform);
  EXPECT_EQ(kind("{min: 1, max: 8.0}").kind, DistributionKind::uniform);
  EXPECT_EQ(kind("{min: 1, max: 8, distribution: uniform}").kind, DistributionKind::uniform);
  EXPECT_EQ(kind("{min: 1e-5, max: 1e-1, log: true}").kind, DistributionKind::log_uniform_values);
  EXPECT_TRUE(kind("{min: 1, max: 1024, log: true}").log_integer);
  EXPECT_TRUE(kind("{distribution: q_uniform, min: 0, max: 8, q: 2}").integer_result);
  EXPECT_TRUE(kind("{distribution: q_uniform, min: 0, max: 8}").integer_result);
  EXPECT_FALSE(kind("{distribution: q_uniform, min: 0, max: 1, q: 0.25}").integer_result);
  EXPECT_EQ(kind("{distribution: normal, mu: 3}").mu, 3);
  EXPECT_EQ(kind("{distribution: normal}").sigma, 1);
  EXPECT_EQ(kind("{distribution: beta, a: 2, b: 5}").b, 5);
  for (const char* name :
       {"q_log_uniform", "q_log_uniform_values", "inv_log_uniform", "inv_log_uniform_values"}) {
    kind("{min: 1, max: 4, distribution: " + std::string(name) + "}");
  }
  for (const char* name : {"q_normal", "log_normal", "q_log_normal", "q_beta"}) {
    kind("{distribution: " + std::string(name) + "}");
  }
}

TEST(StudyReader, CaseB6_BadRangesAreRefusedWithTheName) {
  const std::pair<const char*, const char*> cases[] = {
      {"{min: 0, max: 1e-1, distribution: log_uniform_values}", "`lr`: "},
      {"{min: 1e-1, max: 1e-5}", "`lr`: `min` is above `max`; exchange them"},
      {"{min: 0.5, max: 0.5}", "`lr`: `min` and `max` are both 0.5; write value: 0.5"},
      {"{min: 1, max: 1}", "`lr`: `min` and `max` are both 1; write value: 1"},
      {"{values: []}", "`lr`: the list of values is empty"},
      {"[]", "`lr`: the list of values is empty"},
      {"{min: 1}", "`lr`: `max` is missing"},
      {"{}", "`lr` has no values"},
      {"{values: 3}", "`lr`: `values` takes a list"},
      {"{value: 1, values: [2]}", "`lr` has both `value` and `values`; keep one"},
      {"{value: 1, min: 2}", "`lr` has both `value` and a range or distribution"},
      {"{distribution: uniform, min: 0, max: 1, mu: 3}", "`lr`: `mu` means nothing for uniform"},
      {"{distribution: unifrom, min: 0, max: 1}",
       "`lr`: unknown distribution `unifrom`; did you mean `uniform`?"},
      {"{distribution: int_uniform, min: 0, max: 1.5}", "`lr`: int_uniform takes integers"},
      {"{distribution: categorical}", "`lr`: categorical needs `value` or `values`"},
      {"{mu: 1}", "`lr`: `mu` needs a `distribution`; write distribution: normal"},
      {"{values: [1, 2], probabilities: [0.5, 0.6]}",
       "`lr`: the probabilities add up to 1.1, not 1"},
      {"{values: [1, 2], probabilities: [1]}", "`lr`: 1 probabilities for 2 values"},
      {"{vales: [1]}", "unknown key `vales` in parameter `lr`; did you mean `values`?"},
      {"{distribution: normal, sigma: -1}", "`lr`: "},
      {"{min: 0, max: 10, q: 0, distribution: q_uniform}", "`lr`: "},
      {"{min: nan, max: 1}", "`lr`: `min` takes a number, not `nan`"},
      {"{min: 1, max: 8, distribution: normal, log: true}", "`lr`: "},
      {"{parameters: {a: 1}, value: 2}", "`lr` is a group and has keys of a parameter besides"},
      {"{linspace: [0, 1]}", "`lr`: `linspace` takes a list of three numbers"},
      {"{geomspace: [0, 1, 3]}", "`lr`: the ends of geomspace"},
      {"!other 1", "unknown tag `!other`"},
      {"!absent x", "`!absent` stands alone"},
      {"!!int x", "`x` is not what its tag says"},
  };
  for (const auto& [parameter, expected] : cases) {
    const std::string message =
        error_of(std::string(kCommand) + "parameters:\n  lr: " + parameter + "\n");
    EXPECT_NE(message.find(expected), std::string::npos) << parameter << "\n" << message;
    EXPECT_EQ(message.substr(0, 13), "sweep.yaml:3:") << message;
  }
}

TEST(StudyReader, CaseB6_ExponentsOfLogUniformAreToldInWords) {
  const StudySpec spec = must_read(std::string(kCommand) +
                                   "parameters: {lr: {distribution: log_uniform, min: 1e-5, max: "
                                   "1e-1}}\nmethod: random\nrun_cap: 5\n");
  EXPECT_TRUE(
      holds(spec.warnings, "sweep.yaml:2:33: `lr`: log_uniform takes natural-log exponents"))
      << spec.warnings.front();
  EXPECT_TRUE(holds(spec.warnings, "write log_uniform_values"));
}

TEST(StudyReader, CaseB1_AHugeGridIsReadAtOnce) {
  std::string yaml = kCommand;
  yaml += "parameters:\n";
  for (int i = 0; i < 30; ++i) yaml += "  p" + std::to_string(i) + ": [0, 1]\n";
  yaml += "  n: {min: 0, max: 999999999}\nrepeat: 100000\n";
  const StudySpec spec = must_read(yaml);
  EXPECT_TRUE(spec.space.count().saturated || spec.space.count().value > 1000000000U);
  EXPECT_EQ(spec.space.dimension("seed")->size(), 100000U);
}

TEST(StudyReader, TwoSpellingsOfOneValueAreMergedWithAWarning) {
  const StudySpec spec =
      must_read(std::string(kCommand) +
                "method: random\nparameters:\n  x: {values: [1e-3, 0.001, 1, 1.0, 1], "
                "probabilities: [0.1, 0.2, 0.3, 0.3, 0.1]}\n");
  EXPECT_EQ(values(spec, "x"), "real:1e-3 integer:1 real:1.0");
  EXPECT_EQ(spec.space.dimension("x")->probabilities.size(), 3U);
  EXPECT_NEAR(spec.space.dimension("x")->probabilities[0], 0.3, 1e-12);
  EXPECT_TRUE(holds(spec.warnings, "`1e-3` and `0.001` are the same value"));
}

TEST(StudyReader, ValuesThatLookAlikeAreToldApart) {
  const StudySpec spec =
      must_read(std::string(kCommand) + "parameters:\n  x: [1, 2, \"1\"]\n  y: [true, 'True']\n");
  ASSERT_EQ(spec.warnings.size(), 2U);
  EXPECT_EQ(spec.warnings[0].find("sweep.yaml:3:3: `x`: `1` is listed as integer and as text"), 0U)
      << spec.warnings[0];
  EXPECT_NE(spec.warnings[1].find("`True` is listed as boolean and as text"), std::string::npos)
      << spec.warnings[1];
  EXPECT_EQ(points(spec).size(), 6U);
  EXPECT_TRUE(
      must_read(std::string(kCommand) + "parameters: {x: [!absent , \"\", a]}\n").warnings.empty());
}

TEST(StudyReader, ZipKeepsRepeatedValues) {
  const StudySpec spec = must_read(std::string(kCommand) + R"(
parameters: {model: [s, s, m], batch: [8, 16, 8], seed: [0, 1]}
zip: [[model, batch]]
)");
  EXPECT_EQ(points(spec), (Strings{"model=s batch=8 seed=0", "model=s batch=8 seed=1",
                                   "model=s batch=16 seed=0", "model=s batch=16 seed=1",
                                   "model=m batch=8 seed=0", "model=m batch=8 seed=1"}));
}

TEST(StudyReader, UnionBranchesShareTheCommonKeys) {
  const StudySpec spec = must_read(std::string(kCommand) + R"(
parameters: {seed: [0, 1], opt: [none]}
union:
  - {parameters: {opt: {value: adam}, lr: [1e-3]}}
  - parameters: {opt: sgd, lr: [0.1], momentum: [0, 0.9]}
    where: momentum > 0
)");
  EXPECT_EQ(points(spec),
            (Strings{"seed=0 opt=adam lr=1e-3", "seed=1 opt=adam lr=1e-3",
                     "seed=0 opt=sgd lr=0.1 momentum=0.9", "seed=1 opt=sgd lr=0.1 momentum=0.9"}));
}

TEST(StudyReader, TrialsFromAListAndFromCsv) {
  const StudySpec listed = must_read(std::string(kCommand) + R"(
trials: [{lr: 1e-3, tag: ""}, {lr: 0.1, tag: !absent }, {lr: 0.001, tag: ""}]
parameters: {seed: [0, 1]}
)");
  EXPECT_EQ(points(listed), (Strings{"lr=1e-3 tag= seed=0", "lr=1e-3 tag= seed=1",
                                     "lr=0.1 tag= seed=0", "lr=0.1 tag= seed=1"}));
  EXPECT_TRUE(holds(listed.warnings, "1 trial repeats an earlier one"));
  const StudySpec csv = must_read(std::string(kCommand) + "trials: runs.csv\n");
  EXPECT_EQ(points(csv), (Strings{"lr=1e-3 tag=a", "lr=0.01 tag="}));
  EXPECT_NE(error_of(std::string(kCommand) + "trials: nope.csv\n")
                .find("sweep.yaml:2:9: `trials`: cannot read nope.csv: no such file"),
            std::string::npos);
}

TEST(StudyReader, RepeatAddsTheSeedLast) {
  const StudySpec spec = must_read(std::string(kCommand) + "parameters: {lr: [1, 2]}\nrepeat: 2\n");
  EXPECT_EQ(points(spec), (Strings{"lr=1 seed=0", "lr=1 seed=1", "lr=2 seed=0", "lr=2 seed=1"}));
  EXPECT_EQ(values(must_read(std::string(kCommand) + "repeat: 2\nseed_parameter: sd\n"), "sd"),
            "integer:0 integer:1");
  EXPECT_NE(error_of(std::string(kCommand) + "parameters: {seed: 1}\nrepeat: 2\n")
                .find("`repeat` adds the parameter `seed`, which is there already"),
            std::string::npos);
  EXPECT_NE(error_of(std::string(kCommand) + "seed_parameter: none\nrepeat: 2\n")
                .find("`repeat` needs a seed parameter"),
            std::string::npos);
}

TEST(StudyReader, WordsReplaceTheFilesParametersInPlace) {
  const std::string yaml = std::string(kCommand) + R"(
parameters:
  opt: [adam, sgd]
  mom: {values: [0, 0.9], when: "opt == 'sgd'"}
  amp: {values: [true, false], flag: present}
  model: [a, b]
zip: [[opt, model]]
)";
  const StudySpec spec = must_read(yaml, {"mom=0.5", "amp=true", "lr=1e-3,0.001,1e-2"});
  EXPECT_EQ(spec.space.names(), (Strings{"opt", "mom", "amp", "model", "lr"}));
  EXPECT_TRUE(spec.space.dimension("mom")->when.has_value());
  EXPECT_EQ(spec.space.dimension("amp")->flag, FlagStyle::present);
  EXPECT_EQ(values(spec, "lr"), "real:1e-3 real:1e-2");
  EXPECT_TRUE(holds(spec.warnings, "word 3, column 1: `lr`: `1e-3` and `0.001`"));
  EXPECT_EQ(points(must_read(yaml, {"model=a", "mom=1", "amp=true"})),
            (Strings{"opt=adam amp=True model=a", "opt=sgd mom=1 amp=True model=a"}));
  EXPECT_NE(error_of(yaml, {"lr=1", "x=2", "lr=3"})
                .find("word 3, column 1: parameter `lr` is given twice, first in word 1"),
            std::string::npos);
  const StudySpec rows =
      must_read(std::string(kCommand) + "trials: [{a: 1, b: 1}, {a: 2, b: 1}]\n", {"a=5"});
  EXPECT_EQ(points(rows), (Strings{"b=1 a=5"}));
}

TEST(StudyReader, RowsOfAZipThatAreEqualRunOnceAndAreCountedOnce) {
  const StudySpec spec = must_read(std::string(kCommand) +
                                   "parameters: {a: [1, 1, 2], b: [x, x, y]}\nzip: [[a, b]]\n");
  EXPECT_EQ(spec.space.count().value, 2U);
  EXPECT_TRUE(spec.space.count().exact);
  EXPECT_EQ(points(spec), (Strings{"a=1 b=x", "a=2 b=y"}));
  EXPECT_TRUE(holds(spec.warnings, "`zip` [a, b]: 1 row repeats an earlier one, run once"));
  // Rows that differ only in a member that `when` hides.
  const StudySpec hidden = must_read(std::string(kCommand) +
                                     "parameters: {a: [1, 1, 2], b: {values: [x, y, z], when: 'a > "
                                     "1'}}\nzip: [[a, b]]\n");
  EXPECT_EQ(hidden.space.count().value, 2U);
}

TEST(StudyReader, NumbersThatMayBeTheSameAreWarnedOf) {
  const auto warned = [](const std::string& list) {
    return holds(must_read(std::string(kCommand) + "parameters: {a: " + list + "}\n").warnings,
                 "whose trials may be the same");
  };
  EXPECT_TRUE(warned("[1, 1.0]"));
  EXPECT_TRUE(warned("[2, 0.0, 0]"));
  EXPECT_FALSE(warned("[1, 2.0, 1.5]"));
  EXPECT_FALSE(warned("[9007199254740993, 9007199254740992]"));
}

TEST(StudyReader, WithoutAReaderATemplateIsTakenToPassEverythingOn) {
  StudySources sources;
  sources.file_text =
      "command: [t, '{config}']\ntemplate: /gone/cfg.yaml\nparameters: {a: [1, 2]}\n";
  const Result<StudySpec> spec = read_study(sources, nullptr);
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->space.count().value, 2U);
}

TEST(StudyReader, CapturedTwiceAndMoreCoresThanThereAreAreRefused) {
  EXPECT_NE(
      error_of(std::string(kCommand) + "capture: [{file: a.csv}, {file: b.csv}, {file: a.csv}]\n")
          .find("the file `a.csv` is captured twice"),
      std::string::npos);
  EXPECT_NE(error_of(std::string(kCommand) + "resources: {cpus: 1e14}\n").find("at most a million"),
            std::string::npos);
  EXPECT_NE(error_of(std::string(kCommand) + "slots: 2000000\n").find("from 1 to 1000000"),
            std::string::npos);
  EXPECT_EQ(must_read(std::string(kCommand) + "slots: 1000000\n").slots, 1'000'000U);
}

TEST(StudyReader, NoFileOnlyWords) {
  StudySources sources;
  sources.words = {"lr=1e-3,1e-2", "seed=range(5)"};
  sources.command = {"python3", "train.py"};
  sources.where = {"lr > 0.001"};
  sources.limit = 3;
  sources.metric = "loss";
  sources.goal = "minimize";
  sources.order = "shuffled";
  sources.bool_style = "01";
  sources.sampler_seed = 9;
  const Result<StudySpec> spec = read_study(sources, nullptr);
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(points(*spec).size(), 5U);
  EXPECT_EQ(spec->method, Method::grid);
  EXPECT_FALSE(spec->method_stated);
  EXPECT_EQ(*spec->run_cap, 3U);
  EXPECT_EQ(spec->order, Order::shuffled);
  EXPECT_EQ(spec->command.options().bool_style, BoolStyle::zero_one);
  EXPECT_EQ(spec->sampler_seed, 9U);
  EXPECT_TRUE(spec->warnings.empty());
  sources.words = {"lr=loguniform(1e-5,1e-1)"};
  sources.where.clear();
  EXPECT_EQ(read_study(sources, nullptr)->method, Method::random);
}

TEST(StudyReader, OptionsReplaceTheFilesKeys) {
  StudySources sources;
  sources.file_name = "s.yaml";
  sources.file_text = std::string(kCommand) +
                      "parameters: {a: [1, 2], b: [1, 2]}\nmethod: random\nrun_cap: 9\n"
                      "metric: {name: acc, goal: maximize}\nsampler_seed: 3\norder: given\n";
  sources.method = "grid";
  sources.limit = 2;
  sources.seed_parameter = "b";
  EXPECT_EQ(read_study(sources, nullptr)->method, Method::grid);
  EXPECT_EQ(*read_study(sources, nullptr)->run_cap, 2U);
  EXPECT_EQ(read_study(sources, nullptr)->seed_parameter, "b");
  EXPECT_EQ(read_study(sources, nullptr)->objective.goal, Goal::maximize);
  sources.metric = "loss";  // another metric: the file's goal was not for it
  EXPECT_EQ(read_study(sources, nullptr)->objective.goal, Goal::minimize);
  const std::pair<std::string StudySources::*, const char*> bad[] = {
      {&StudySources::method, "--method cannot be `gird`; did you mean `grid`?"},
      {&StudySources::goal, "--goal cannot be `gird`; known: minimize, maximize"},
      {&StudySources::order, "--order cannot be `gird`"},
      {&StudySources::bool_style, "--bool-style cannot be `gird`"},
      {&StudySources::seed_parameter, "--seed-parameter names the unknown parameter `gird`"}};
  for (const auto& [option, expected] : bad) {
    StudySources wrong = sources;
    wrong.*option = "gird";
    const Result<StudySpec> spec = read_study(wrong, nullptr);
    ASSERT_FALSE(spec) << expected;
    EXPECT_EQ(spec.error().message.substr(0, std::string_view(expected).size()), expected);
  }
}

TEST(StudyReader, CaseK5_TheDirectionIsStatedOrMinimizeIsTold) {
  const auto metric = [](const std::string& text) {
    return std::string(kCommand) + "metric: " + text + "\n";
  };
  for (const char* name : {"reward", "val/acc", "AverageEpRet", "test_accuracy", "AUC", "f1",
                           "val_f1", "f_score", "acc@1", "acc1", "episode_return", "TestSuccess"}) {
    EXPECT_NE(error_of(metric("{name: \"" + std::string(name) + "\"}"))
                  .find("whose name says that more is better; write goal: maximize"),
              std::string::npos)
        << name;
  }
  for (const char* name :
       {"loss", "val/loss", "reward_loss", "x", "mse", "actor_lag", "speed", "f", "f_evals"}) {
    const StudySpec spec = must_read(metric("{name: " + std::string(name) + "}"));
    EXPECT_EQ(spec.objective.goal, Goal::minimize);
    EXPECT_FALSE(spec.objective.goal_stated);
    EXPECT_TRUE(holds(spec.warnings, "no goal for the metric")) << name;
  }
  EXPECT_TRUE(must_read(metric("{name: acc, goal: maximize}")).warnings.empty());
  EXPECT_TRUE(holds(must_read(metric("{name: loss, goal: maximize}")).warnings,
                    "maximizing `loss`, whose name says that less is better"));
  EXPECT_TRUE(holds(must_read(metric("{name: acc, goal: minimize}")).warnings,
                    "minimizing `acc`, whose name says that more is better"));
  EXPECT_NE(error_of(metric("{name: acc, goal: maximise}"))
                .find("`goal` of `metric` cannot be `maximise`; did you mean `maximize`?"),
            std::string::npos);
}

TEST(StudyReader, AWandbSweepFileRunsAsItIs) {
  const StudySpec spec = must_read(R"(
program: train.py
method: grid
run_cap: 60
name: my-sweep
project: p
entity: e
description: text
metric: {name: val_loss, goal: minimize}
parameters:
  lr: {values: [0.1, 0.2]}
  bs: {values: [32, 64]}
  opt: {parameters: {name: {value: adam}}}
early_terminate: {type: hyperband, min_iter: 3, eta: 2}
)");
  EXPECT_EQ(spec.command.words(), (Strings{"${env}", "${interpreter}", "${program}", "${args}"}));
  EXPECT_EQ(spec.program, "train.py");
  EXPECT_EQ(spec.name, "my-sweep");
  EXPECT_EQ(spec.project, "p");
  EXPECT_TRUE(holds(spec.warnings, "W&B sorts them by name"));
  EXPECT_TRUE(holds(spec.warnings, "W&B passes one dict"));
  EXPECT_TRUE(holds(spec.warnings, "`hyperband` is not available yet; trials run to the end"));
  EXPECT_TRUE(holds(spec.unsupported, "hyperband"));
  EXPECT_TRUE(spec.pruners.empty());
}

TEST(StudyReader, JsonIsReadAsYaml) {
  const StudySpec spec = must_read(
      "{\n\t\"program\": \"t.py\",\n\t\"parameters\": {\"lr\": "
      "{\"values\": [1e-3, \"1e-3\", true, null]}}\n}\n");
  EXPECT_EQ(values(spec, "lr"), "real:1e-3 text:1e-3 boolean:True null:None");
}

TEST(StudyReader, CaseF6_GpusAreANumberAShareOrAnAmountOfMemory) {
  const auto resources = [](const std::string& text) {
    return must_read(std::string(kCommand) + "resources: {gpus: " + text + "}\n").resources;
  };
  EXPECT_EQ(resources("2").gpus, 2);
  EXPECT_EQ(resources("0.2").gpus, 0.2);
  EXPECT_EQ(resources("{memory: 8GiB}").gpu_memory, std::uint64_t{8} << 30U);
  EXPECT_FALSE(resources("1").cpus.has_value()) << "an even part of the cores";
  for (const char* wrong : {"1.5", "-1", "x", "5000", "{memory: much}", "{cores: 1}", "[1]"}) {
    const std::string message =
        error_of(std::string(kCommand) + "resources: {gpus: " + wrong + "}\n");
    EXPECT_EQ(message.substr(0, 13), "sweep.yaml:2:") << wrong << message;
  }
}

TEST(StudyReader, FeaturesToComeAreRefusedByName) {
  const std::pair<const char*, const char*> cases[] = {
      {"method: bayes",
       "`method: bayes` is not available yet; known: grid, random, sobol; to "
       "search at random instead: --method random --limit 50"},
      {"launcher: slurm", "`launcher: slurm` is not available yet; known: local"},
      {"launcher: mpi", "`launcher: mpi` is not available yet"},
      {"preload: [torch]", "`preload` is not available yet"},
      {"metrics: [a, b]", "`metrics` is not available yet"},
      {"scheduler: {engine: optuna}", "`scheduler` is not available yet"},
      {"metric: {name: x, target: 3}", "`target` is not available yet"},
      {"resources: [{cpus: 1}, {cpus: 2}]",
       "a list of `resources` to choose from is not available"},
  };
  for (const auto& [key, expected] : cases) {
    const std::string message = error_of(std::string(kCommand) + key + "\n");
    EXPECT_NE(message.find(expected), std::string::npos) << key << "\n" << message;
    EXPECT_EQ(message.substr(0, 13), "sweep.yaml:2:") << message;
  }
  EXPECT_EQ(
      must_read(std::string(kCommand) + "launcher: local\nresources: {gpus: 0}\n").resources.gpus,
      0);
}

TEST(StudyReader, TemplatesNeedTheirFileAndConfig) {
  const std::string parameters = "parameters: {lr: [1, 2]}\n";
  EXPECT_EQ(
      must_read("command: [run, \"{config}\"]\ntemplate: cfg.yaml\n" + parameters).template_file,
      "cfg.yaml");
  EXPECT_NE(error_of("command: [run]\ntemplate: cfg.yaml\n" + parameters)
                .find("the command passes no {config}"),
            std::string::npos);
  EXPECT_NE(error_of("command: [run, \"{config}\"]\ntemplate: nope\n")
                .find("sweep.yaml:2:11: `template`: cannot read nope"),
            std::string::npos);
}

TEST(StudyReader, ShellTakesOneLine) {
  const StudySpec spec = must_read(
      "shell: true\ncommand: python3 t.py {lr} | tee log\n"
      "parameters: {lr: [1, 2]}\n");
  EXPECT_TRUE(spec.command.options().shell);
  EXPECT_NE(error_of("command: python3 t.py\n").find("`command` takes a list of words"),
            std::string::npos);
}

TEST(StudyReader, FileAndParamsKey) {
  EXPECT_TRUE(must_read("command: [run]\nparams: file\nparameters: {lr: [1, 2]}\n")
                  .command.options()
                  .params_by_file);
}

}  // namespace
}  // namespace seedbed
