// What people see when a study is written wrongly, word for word.
#include <gtest/gtest.h>

#include "study/readers.h"

namespace seedbed {
namespace {

std::string error_of(const std::string& yaml, std::vector<std::string> words = {}) {
  StudySources sources;
  sources.file_name = "sweep.yaml";
  sources.file_text = yaml;
  sources.words = std::move(words);
  const auto reader = [](const std::string& path) -> Result<std::string> {
    if (path == "bad.csv") return std::string("lr,bs\n1,2,3\n");
    return fail(ErrorCode::usage, "cannot read " + path);
  };
  const Result<StudySpec> spec = read_study(sources, reader);
  return spec ? "(no error)" : spec.error().message + "\n";
}

TEST(ReaderErrors, IndependentMistakesAreToldTogether) {
  EXPECT_EQ(error_of(R"(program: train.py
paramters: {lr: 1}
method: gird
parameters:
  lr: {vales: [0.1], max: 1}
  é b: 1
  bs: {values: [32, 64], when: "bs = 'sgd'"}
  wd: {a: {b: 1}}
  x: {color: red}
metric: {nam: loss}
limits: {time: 5 parsecs}
where: "bs >"
)",
                     {"lr=loguniforn(1,2)"}),
            R"(sweep.yaml:2:1: unknown key `paramters` in the sweep file; did you mean `parameters`?
    paramters: {lr: 1}
    ^
sweep.yaml:3:9: `method` cannot be `gird`; did you mean `grid`?
    method: gird
            ^
sweep.yaml:5:8: unknown key `vales` in parameter `lr`; did you mean `values`?
      lr: {vales: [0.1], max: 1}
           ^
sweep.yaml:6:3: a space or control character in the name
      é b: 1
      ^
sweep.yaml:7:32: `when` of `bs`: column 4: expected an operator or the end, not `=`; compare with `==`
  bs = 'sgd'
     ^
sweep.yaml:8:11: `wd`: `a` takes a number, not a map
      wd: {a: {b: 1}}
              ^
sweep.yaml:9:7: unknown key `color` in parameter `x`; write value: {…} for a map as one value, parameters: {…} for a group
      x: {color: red}
          ^
sweep.yaml:10:10: unknown key `nam` in `metric`; did you mean `name`?
    metric: {nam: loss}
             ^
sweep.yaml:11:16: the limit: '5 parsecs' is not a duration; write 30s, 10m, 1h30m, 2d, 500ms or HH:MM:SS
    limits: {time: 5 parsecs}
                   ^
sweep.yaml:12:8: `where`: column 5: expected a number, a text or a name, but the expression ends here
  bs >
      ^
… and 1 more
)");
}

TEST(ReaderErrors, EachSaysPlaceMistakeAndRemedy) {
  const std::string head = "command: [run]\n";
  const std::pair<std::string, std::string> cases[] = {
      {"zip: [[lr, bach]]\nparameters: {lr: [1, 2], batch: [1]}\n",
       R"(sweep.yaml:2:7: `zip` names the unknown parameter `bach`; did you mean `batch`?
    zip: [[lr, bach]]
          ^
)"},
      {"zip: [[lr, batch]]\nparameters: {lr: [1, 2], batch: [1]}\n",
       R"(sweep.yaml:2:7: `zip` takes lists of equal length: `lr` has 2 values, `batch` has 1; make them equal
    zip: [[lr, batch]]
          ^
)"},
      {"where: batch * acum <= 256\nparameters: {accum: [1], batch: [1]}\n",
       R"(sweep.yaml:2:8: `where`: unknown parameter `acum` in `batch * acum <= 256`; did you mean `accum`?
)"},
      {"parameters: {lr: {min: 1e-5, max: 0.1}}\nmethod: grid\n",
       R"(sweep.yaml:3:9: a grid cannot go through the continuous range of `lr`; list values (linspace, geomspace), or choose method random
    method: grid
            ^
)"},
      {"trials: bad.csv\n",
       R"(bad.csv:2:1: 3 cells in a table of 2 columns; a comma inside a value needs quotes around the value
    1,2,3
    ^
)"},
      {"parameters: {opt: {parameters: {lr: 1}}, opt.lr: 2}\n",
       R"(sweep.yaml:2:42: parameter `opt.lr` is written twice; keep one of the two
    parameters: {opt: {parameters: {lr: 1}}, opt.lr: 2}
                                             ^
)"},
      {"metric: {name: val/acc}\n",
       R"(sweep.yaml:2:9: no goal for the metric `val/acc`, whose name says that more is better; write goal: maximize (or goal: minimize if you mean that; on the command line --goal)
)"},
      {"resources: {cpu: 2}\n",
       R"(sweep.yaml:2:13: unknown key `cpu` in `resources`; did you mean `cpus`?
    resources: {cpu: 2}
                ^
)"},
      {"retries: {count: 2, on: [signaled]}\n",
       R"(sweep.yaml:2:26: `on` cannot hold `signaled`; did you mean `signalled`?
    retries: {count: 2, on: [signaled]}
                             ^
)"},
      {"env: {SEEDBED_X: 1}\n",
       R"(sweep.yaml:2:7: variables named SEEDBED_… are set by seedbed
    env: {SEEDBED_X: 1}
          ^
)"},
      {"capture: {pattern: 'acc=(\\S+)'}\n",
       R"(sweep.yaml:2:20: `pattern` has no named group; the group's name is the metric's: 'acc=(?P<val_acc>\S+)'
    capture: {pattern: 'acc=(\S+)'}
                       ^
)"},
      {"capture: {failure: 'a(b'}\n",
       R"(sweep.yaml:2:20: the pattern is not understood: missing ): a(b; RE2 syntax has no look-around and no back-references; a bracket that is meant as such is written \( or \[
    capture: {failure: 'a(b'}
                       ^
)"},
      {"early_terminate: {type: medain}\n",
       R"(sweep.yaml:2:25: unknown rule `medain`; did you mean `median`?
    early_terminate: {type: medain}
                            ^
)"},
      {"early_terminate: {type: median, min_itr: 1}\nmetric: {name: loss}\n",
       R"(sweep.yaml:2:33: the rule `median` has no option `min_itr`; did you mean `min_iter`?
    early_terminate: {type: median, min_itr: 1}
                                    ^
)"},
      {"early_terminate: {type: median}\n",
       R"(sweep.yaml: early_terminate: the rule median needs a metric; write metric: {name: loss}
)"},
      {"seed_parameter: sed\nparameters: {seed: [1]}\n",
       R"(sweep.yaml:2:17: `seed_parameter` names the unknown parameter `sed`; did you mean `seed`?
    seed_parameter: sed
                    ^
)"},
      {"slots: 0\n", R"(sweep.yaml:2:8: `slots` takes `auto` or a whole number from 1 to 1000000
    slots: 0
           ^
)"},
      {"repeat: -1\n",
       R"(sweep.yaml:2:9: `repeat` takes a whole number from 1 to 9007199254740992, not `-1`
    repeat: -1
            ^
)"},
      {"snapshot: yes\n", R"(sweep.yaml:2:11: `snapshot` takes true or false, not `yes`
    snapshot: yes
              ^
)"},
  };
  for (const auto& [yaml, expected] : cases) EXPECT_EQ(error_of(head + yaml), expected);
  EXPECT_EQ(error_of("parameters: {lr: [1, 2]}\n"),
            "sweep.yaml: no command to run; write `command` or `program` in the sweep file, or the "
            "command after `--`\n");
  EXPECT_EQ(error_of(""),
            "sweep.yaml: the sweep file is empty; it needs at least `program` or `command`, and "
            "`parameters`\n");
  EXPECT_EQ(
      error_of("- a\n"),
      R"(sweep.yaml:1:1: the sweep file takes a map of keys; known: name, description, project, entity, program, command, shell, params, bool_style, metric, method, parameters and 29 more
    - a
    ^
)");
}

TEST(ReaderErrors, LongAndWideLinesAreCutAroundThePlace) {
  const std::string message = error_of("command: [run]\ndescription: {a: " + std::string(500, 'x') +
                                       ", 李李: 1, " + std::string(500, 'y') + "}\nunknown: 1\n");
  for (std::size_t at = 0; at < message.size();) {
    const std::size_t end = message.find('\n', at);
    EXPECT_LT(end - at, 200U) << message;
    at = end + 1;
  }
  EXPECT_NE(error_of("command: [run]\nparameters: {a: 李李, b: {c: 1}}\n")
                .find("    parameters: {a: 李李, b: {c: 1}}\n" + std::string(30, ' ') + "^\n"),
            std::string::npos);
}

TEST(ReaderErrors, ATabInTheIndentationIsNamed) {
  EXPECT_EQ(
      error_of("command: [t]\nparameters:\n\ta: [1, 2]\n"),
      R"(sweep.yaml:3:1: a tab in the indentation, which YAML does not allow; indent with spaces
    \ta: [1, 2]
    ^
)");
  EXPECT_EQ(
      error_of("command: [t]\nparameters:\n  a:\n  \tvalues: [1]\n"),
      R"(sweep.yaml:4:3: a tab in the indentation, which YAML does not allow; indent with spaces
      \tvalues: [1]
      ^
)");
  EXPECT_EQ(
      error_of("parameters:\n  a:\n    values:\n\t- 1\n"),
      R"(sweep.yaml:4:1: a tab in the indentation, which YAML does not allow; indent with spaces
    \t- 1
    ^
)");
}

// Who follows the advice gets no other error at that place.
TEST(ReaderErrors, TheRemedyForNothingIsNotRefusedNext) {
  const std::string rest = "parameters: {a: [1]}\n";
  EXPECT_EQ(
      error_of("program: null\n" + rest),
      R"(sweep.yaml:1:10: `program` takes a text, not nothing; give it a text, or leave the key out
    program: null
             ^
)");
  EXPECT_EQ(error_of("program: t.py\n" + rest), "(no error)");
  EXPECT_EQ(error_of("command: [t]\n" + rest), "(no error)");
  EXPECT_EQ(
      error_of("command: [t, null]\n" + rest),
      R"(sweep.yaml:1:14: `command` takes a text, not nothing; quote null to mean the word, or take the entry out
    command: [t, null]
                 ^
)");
  EXPECT_EQ(error_of("command: [t, \"null\"]\n" + rest), "(no error)");
  EXPECT_EQ(error_of("command: [t]\nenv: {X: }\n" + rest),
            R"(sweep.yaml:2:10: `X` takes a text, not nothing; write "" for an empty text
    env: {X: }
             ^
)");
  EXPECT_EQ(error_of("command: [t]\nenv: {X: \"\"}\n" + rest), "(no error)");
}

TEST(ReaderErrors, TheKeyOfATextIsNamed) {
  EXPECT_EQ(error_of("command: [t]\ndescription: [x]\n"),
            R"(sweep.yaml:2:14: `description` takes a text, not a list
    description: [x]
                 ^
)");
}

TEST(ReaderErrors, ACapBeyondAllNumbersIsRefusedWithItsRange) {
  EXPECT_EQ(
      error_of("command: [t]\nrun_cap: 9223372036854775808\n"),
      R"(sweep.yaml:2:10: `run_cap` takes a whole number from 1 to 9223372036854775807, not `9223372036854775808`
    run_cap: 9223372036854775808
             ^
)");
  EXPECT_EQ(error_of("command: [t]\nrun_cap: 9223372036854775807\n"), "(no error)");
}

// There is no file of documentation where only the program is installed.
TEST(ReaderErrors, KeysAreListedWhereNoneIsNear) {
  const std::string error = error_of("command: [t]\nzzzzzzzz: 1\n");
  EXPECT_NE(error.find("known: name, description, "), std::string::npos) << error;
  EXPECT_EQ(error.find("docs/"), std::string::npos) << error;
}

}  // namespace
}  // namespace seedbed
