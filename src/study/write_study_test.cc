#include <gtest/gtest.h>

#include <map>

#include "base/random.h"
#include "study/readers.h"

namespace seedbed {
namespace {

Result<std::string> no_files(const std::string& path) {
  if (path == "runs.csv") return std::string("lr,tag\n1e-3,\"\"\n,\"a,b\"\n");
  if (path == "t.cfg") return std::string("lr={lr}");
  return fail(ErrorCode::usage, "no such file");
}

Result<StudySpec> read(const std::string& yaml, std::vector<std::string> words = {}) {
  StudySources sources;
  sources.file_name = "sweep.yaml";
  sources.file_text = yaml;
  sources.words = std::move(words);
  return read_study(sources, no_files);
}

std::string show(const Value& value) {
  return std::string(kind_word(value.kind())) + "|" + value.spelling() + "|" + value.canonical();
}

// Everything a dimension says, by another way than the writer's.
std::string show(const Dimension& dimension) {
  std::string text = dimension.name + ": ";
  for (const Value& value : dimension.values) text += show(value) + " ; ";
  for (const double probability : dimension.probabilities)
    text += std::to_string(probability) + " ";
  if (dimension.distribution) {
    const Distribution& d = *dimension.distribution;
    char numbers[400];
    std::snprintf(numbers, sizeof numbers, "%d %a %a %a %a %a %a %a %d %d",
                  static_cast<int>(d.kind), d.min, d.max, d.mu, d.sigma, d.a, d.b, d.q,
                  d.integer_result, d.log_integer);
    text += numbers;
  }
  if (dimension.when) text += " when " + dimension.when->text();
  return text + " flag " + std::to_string(static_cast<int>(dimension.flag)) + "\n";
}

std::string show(const Space& space) {
  std::string text;
  for (const SpaceBranch& branch : space.branches()) {
    text += "branch\n";
    for (const Dimension& dimension : branch.dimensions) text += show(dimension);
    for (const auto& group : branch.zips) {
      text += "zip";
      for (const std::string& name : group) text += " " + name;
      text += "\n";
    }
    if (branch.explicit_rows) {
      for (const auto& row : branch.explicit_rows->rows) {
        text += "row";
        for (const Parameter& parameter : row) text += " " + parameter.name + show(parameter.value);
        text += "\n";
      }
    }
    for (const Expression& where : branch.where) text += "where " + where.text() + "\n";
  }
  return text;
}

std::string show(const std::map<std::string, double>& numbers) {
  std::string text;
  for (const auto& [name, number] : numbers) text += name + "=" + std::to_string(number) + " ";
  return text;
}

std::string show(const StudySpec& spec) {
  std::string text = spec.name + "\n" + spec.description + "\n" + spec.project + spec.entity + "\n";
  text += spec.program + "\n" + spec.command.identity() + "\n";
  for (const std::string& word : spec.command.words()) text += word + "\x1f";
  const CommandTemplate::Options& options = spec.command.options();
  text += std::to_string(options.shell) + std::to_string(options.params_by_file) +
          std::to_string(static_cast<int>(options.bool_style)) + "\n";
  text += show(spec.space) + spec.objective.metric +
          std::to_string(static_cast<int>(spec.objective.goal)) +
          std::to_string(spec.objective.goal_stated) + "\n";
  text += std::to_string(static_cast<int>(spec.method)) + std::to_string(spec.method_stated) +
          std::to_string(spec.sampler_seed) + std::to_string(static_cast<int>(spec.order)) +
          spec.seed_parameter + std::to_string(spec.run_cap.value_or(0)) +
          std::to_string(spec.slots.value_or(0)) + "\n";
  text += std::to_string(spec.resources.cpus.value_or(-1)) + " " +
          std::to_string(spec.resources.gpus) + " " + std::to_string(spec.resources.gpu_memory) +
          " " + std::to_string(spec.resources.memory) + " " + std::to_string(spec.resources.ranks) +
          " " + spec.resources.mpi + " " + show(spec.resources.named) + "\n";
  for (const auto& limit : {spec.limits.time, spec.limits.silence, spec.limits.study}) {
    text += std::to_string(limit ? limit->count() : -1) + " ";
  }
  text += std::to_string(spec.limits.log_bytes.value_or(0)) + "\n";
  text += std::to_string(spec.retries.count) + " " + std::to_string(spec.retries.wait.count());
  for (const OutcomeKind kind : spec.retries.on)
    text += std::string(" ") + std::string(outcome_word(kind));
  for (const auto& [name, value] : spec.env) text += "\nenv " + name + "=" + value;
  text += "\n" + std::to_string(static_cast<int>(spec.workdir)) + std::to_string(spec.snapshot);
  for (const CaptureSpec& capture : spec.capture)
    text += "\n" + capture.file + "|" + capture.pattern + "|" + capture.failure;
  for (const PrunerSpec& rule : spec.pruners) text += "\n" + rule.type + show(rule.options);
  return text + "\n" + spec.template_file + spec.halt;
}

// read(write(read(x))) is read(x), and writing is stable.
void expect_same_again(const StudySpec& spec) {
  const std::string written = write_study(spec);
  const Result<StudySpec> again = read(written);
  ASSERT_TRUE(again) << again.error().message << "\n" << written;
  EXPECT_EQ(show(spec), show(*again)) << written;
  EXPECT_EQ(written, write_study(*again));
}

TEST(WriteStudy, EveryKeyComesBack) {
  const Result<StudySpec> spec = read(R"yaml(
name: "na: me"
description: "two\nlines # and more"
project: p
entity: e
command: [python3, "tr ain.py", "--lr={lr}", "${args}", "{{lr}}", "a\tb\"\\"]
metric: {name: val/acc, goal: maximize}
method: sobol
bool_style: "01"
parameters:
  lr: {values: [1e-3, 1E-2, .5, 5., "1e-3", !absent , null, true, no, 'a b', [1, "x"], {a: [1]}]}
  p: {values: [a, b], probabilities: [0.25, 0.75]}
  n: {min: 1, max: 1024, log: true}
  q: {distribution: q_log_uniform_values, min: 1e-3, max: 100, q: 2}
  r: {distribution: q_normal, mu: 1e-3, sigma: 2, q: 0.5}
  b: {distribution: beta, a: 2, b: 5}
  amp: {values: [true, false], flag: present, when: "lr in ('a b', 'no') and `x/y` < 3"}
  x/y: [1, 2]
  model: [s, m]
  size: [8, 8]
zip: [[model, size]]
where: ["n < 900", "amp or q > 1"]
seed_parameter: x/y
sampler_seed: 18446744073709551615
order: shuffled
run_cap: 12
slots: 4
resources: {cpus: 0.5, gpus: 0.25, memory: 4GiB, ranks: 4, mpi: "mpirun, mine", licence: 2}
limits: {time: 90, silence: 1.5h, study: 2d, log: 10k}
retries: {count: 3, on: [out_of_memory, exited], wait: 250ms}
halt: 2.5%
early_terminate: [{type: nan}, {type: median, min_iter: 2, min_trials: 7}]
env: {A: "x: y", B: "", C: "{lr}"}
workdir: trial
capture: [{file: "out/{trial}.csv"}, {pattern: 'acc=(?P<a>\S+)'}, {failure: 'it''s "lost"'}]
snapshot: true
)yaml");
  ASSERT_TRUE(spec) << spec.error().message;
  expect_same_again(*spec);
}

TEST(WriteStudy, WordsUnionsTrialsAndTemplatesComeBack) {
  const Result<StudySpec> words =
      read("program: t.py\n", {"x={a:1,b:[1,'2']},[a, b],'[1, 2]'", "n=range(100000)",
                               "lr=tag(log,interval(1e-5,1e-1))", "s=1..8", "e=,a"});
  ASSERT_FALSE(words);  // `e=,a` is refused
  const Result<StudySpec> good = read(
      "program: t.py\nmethod: random\n",
      {"x={a:1,b:[1,'2']},[a, b],'[1, 2]',{a: 1}", "n=range(100000)",
       "lr=tag(log,interval(1e-5,1e-1))", "s=1..8", "e='',a", "i=tag(log,int(interval(1,64)))"});
  ASSERT_TRUE(good) << good.error().message;
  expect_same_again(*good);
  const Result<StudySpec> unions = read(R"(
command: [run]
parameters: {a: [1]}
repeat: 3
union:
  - {parameters: {b: 2}, where: b > 1}
  - {trials: runs.csv, zip: []}
  - {trials: [{c: {k: v}}, {}]}
)");
  ASSERT_TRUE(unions) << unions.error().message;
  expect_same_again(*unions);
  const Result<StudySpec> filled =
      read("command: [run, '{config}']\ntemplate: t.cfg\nparameters: {lr: [1, 2]}\n");
  ASSERT_TRUE(filled) << filled.error().message;
  expect_same_again(*filled);
  const Result<StudySpec> shell = read(
      "command: \"run {lr} | tee 'x y'\"\nshell: true\nparams: file\nparameters: {lr: [1, 2]}\n");
  ASSERT_TRUE(shell) << shell.error().message;
  expect_same_again(*shell);
  const Result<StudySpec> bare = read("command: [run]\nseed_parameter: none\nretries: 2\n");
  ASSERT_TRUE(bare) << bare.error().message;
  expect_same_again(*bare);
}

TEST(WriteStudy, RulesThatAreToComeAreKeptAndToldAgain) {
  const Result<StudySpec> spec = read(
      "command: [run]\nparameters: {a: [1, 2]}\nmetric: {name: m, goal: minimize}\n"
      "early_terminate: [{type: hyperband, min_iter: 3, s: 2, x: [a, {b: 1}]}, {type: nan}]\n");
  ASSERT_TRUE(spec) << spec.error().message;
  const std::string written = write_study(*spec);
  EXPECT_NE(written.find(R"({"min_iter": 3, "s": 2, "type": "hyperband", "x": ["a", {"b": 1}]})"),
            std::string::npos)
      << written;
  expect_same_again(*spec);
  const Result<StudySpec> again = read(written);
  EXPECT_EQ(again->pruners.size(), 1U);
  EXPECT_EQ(again->unsupported, spec->unsupported);
  ASSERT_EQ(again->warnings.size(), 1U);
  EXPECT_NE(again->warnings[0].find("`hyperband` is not available yet"), std::string::npos);
}

TEST(WriteStudy, TheWrittenFileNeverLooksLikeWandb) {
  const Result<StudySpec> spec =
      read("program: t.py\nmethod: grid\nparameters: {b: [1], a: [2]}\n");
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->warnings.size(), 1U);
  EXPECT_TRUE(read(write_study(*spec))->warnings.empty());
}

// Random values of all kinds, with the characters that YAML and Hydra care about.
class RandomStudy {
 public:
  explicit RandomStudy(std::uint64_t seed) : random_(seed, 1) {}

  StudySources sources() {
    StudySources sources;
    sources.command = {"run"};
    for (std::uint64_t i = 0, n = 1 + random_.below(5); i < n; ++i) {
      std::string word = "p" + std::to_string(i) + "=";
      for (std::uint64_t k = 0, m = 1 + random_.below(4); k < m; ++k) {
        word += (k > 0 ? "," : "") + element(0);
      }
      sources.words.push_back(word);
    }
    return sources;
  }

 private:
  std::string text() {
    static const std::vector<std::string> kPieces = {
        "a",    "B",    "é", "李", " ",  "\t",     "\n",     ":",      ": ",  "#",    " #",
        "-",    "!",    "&", "*",  "{",  "}",      "[",      "]",      ",",   "\\",   "\"",
        "%",    "@",    "`", "|",  ">",  "~",      "=",      "0",      "1e3", "\x7f", "\x01",
        "true", "null", "$", "?",  "\r", "\u2028", "\u0085", "\ufeff", "<<"};
    std::string out;
    for (std::uint64_t i = 0, n = random_.below(6); i < n; ++i) {
      out += kPieces[random_.below(kPieces.size())];
    }
    return out;
  }

  std::string in_quotes(const std::string& raw) {
    std::string out = "'";
    for (std::size_t i = 0; i < raw.size(); ++i) {
      std::size_t run = i;
      while (run < raw.size() && raw[run] == '\\') ++run;
      if (run > i) {  // doubled before a quote or the end, else single
        const bool before_quote = run == raw.size() || raw[run] == '\'';
        out.append((run - i) * (before_quote ? 2 : 1), '\\');
        i = run - 1;
        continue;
      }
      out += raw[i] == '\'' ? std::string("\\'") : std::string(1, raw[i]);
    }
    return out + "'";
  }

  std::string element(int depth) {
    switch (random_.below(depth < 3 ? 8 : 6)) {
      case 0:
        return std::to_string(random_.below(2000)) + "." + std::to_string(random_.below(100));
      case 1:
        return "-" + std::to_string(random_.below(1000)) + "e-" + std::to_string(random_.below(30));
      case 2:
        return random_.below(2) == 0 ? "true" : "null";
      case 3:
        return std::to_string(random_.below(1'000'000));
      case 4:
      case 5:
        return in_quotes(text());
      case 6: {
        std::string out = "[";
        for (std::uint64_t i = 0, n = random_.below(3); i < n; ++i) {
          out += (i > 0 ? ", " : "") + element(depth + 1);
        }
        return out + "]";
      }
      default: {
        std::string out = "{";
        for (std::uint64_t i = 0, n = random_.below(3); i < n; ++i) {
          out += (i > 0 ? "," : "") + ("k" + std::to_string(i)) + ":" + element(depth + 1);
        }
        return out + "}";
      }
    }
  }

  Random random_;
};

TEST(WriteStudy, AnyValueComesBackWithItsSpelling) {
  int read_well = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const StudySources sources = RandomStudy(seed).sources();
    const Result<StudySpec> spec = read_study(sources, nullptr);
    ASSERT_TRUE(spec) << "seed " << seed << ": " << spec.error().message;
    expect_same_again(*spec);
    ++read_well;
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      break;
    }
  }
  EXPECT_EQ(read_well, 150);
}

// A list in a map in a list … with as many levels, as YAML on one line or as JSON.
std::string nested(int levels, bool json) {
  std::string text = "1";
  for (int i = 0; i < levels; ++i) {
    text = i % 2 == 0 ? "[" + text + "]" : std::string(json ? "{\"a\": " : "{a: ") + text + "}";
  }
  return text;
}

TEST(WriteStudy, TheDeepestValueThatIsReadComesBack) {
  const std::string start = "command: [run, \"{x}\"]\n";
  for (const bool json : {false, true}) {
    const std::string deepest = nested(kMaxNesting, json);
    for (const std::string& rest :
         {"parameters: {x: {value: " + deepest + "}}\n",
          "union: [{parameters: {x: {values: [0, " + deepest + "]}}}]\n",
          "union:\n  - trials:\n    - {x: " + deepest + "}\n", "trials: [{x: " + deepest + "}]\n",
          "parameters: {x: {values: [!spelled [odd, " + deepest + "]]}}\n"}) {
      const Result<StudySpec> spec = read(start + rest);
      ASSERT_TRUE(spec) << spec.error().message;
      expect_same_again(*spec);
      ASSERT_FALSE(HasFailure());
    }
    // A word's spelling is hardly ever YAML with the same meaning.
    std::string word = deepest;
    std::erase(word, ' ');
    const Result<StudySpec> spec = read(start, {"x=0," + word});
    ASSERT_TRUE(spec) << spec.error().message;
    expect_same_again(*spec);
    ASSERT_FALSE(HasFailure());
  }
}

TEST(WriteStudy, AValueNestedDeeperIsRefusedWithItsPlace) {
  for (const int levels : {kMaxNesting + 1, kMaxNesting + 4, kMaxNesting + 7, 100}) {
    const Result<StudySpec> spec =
        read("command: [run]\nparameters:\n  x: {value: " + nested(levels, false) + "}\n");
    ASSERT_FALSE(spec) << levels;
    EXPECT_EQ(spec.error().message.rfind("sweep.yaml:3:", 0), 0U) << spec.error().message;
    EXPECT_NE(spec.error().message.find("nested deeper than"), std::string::npos);
    EXPECT_NE(spec.error().message.find("a file of its own"), std::string::npos);
  }
  const Result<StudySpec> spec =
      read("command: [run]\nparameters:\n  x:\n    value: " + nested(kMaxNesting + 1, true));
  // The column is that of the list that is one too deep.
  EXPECT_EQ(spec.error().message.substr(0, 16), "sweep.yaml:4:187") << spec.error().message;
}

}  // namespace
}  // namespace seedbed
