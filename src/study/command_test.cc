#include "study/command.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "base/random.h"

namespace seedbed {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Words = std::vector<std::string>;

Dimension dimension(std::string name, const Words& plain, FlagStyle flag = FlagStyle::python) {
  Dimension result;
  result.name = std::move(name);
  for (const std::string& text : plain) {
    result.values.push_back(text == "!absent" ? Value::absent() : Value::from_plain(text));
  }
  result.flag = flag;
  return result;
}

Dimension texts(std::string name, const Words& values) {
  Dimension result;
  result.name = std::move(name);
  for (const std::string& text : values) result.values.push_back(Value::from_text(text));
  return result;
}

Space space_of(std::vector<Dimension> dimensions) {
  SpaceBranch branch;
  branch.dimensions = std::move(dimensions);
  Result<Space> space = Space::build({branch});
  EXPECT_TRUE(space) << space.error().message;
  return *space;
}

CommandContext context() {
  CommandContext context;
  context.trial = "7";
  context.attempt = "2";
  context.trial_dir = "/s/trials/00007";
  context.study_dir = "/s";
  context.slot = "3";
  context.gpu = "5";
  context.gpu_uuid = "GPU-x";
  context.gpu_index = "0";
  context.port = "29501";
  context.config = "/s/trials/00007/cfg.yaml";
  context.params_file = "/s/trials/00007/args.json";
  context.python = "python3";
  context.environment = [](const std::string& name) -> std::optional<std::string> {
    if (name == "DATA") return "/data";
    return std::nullopt;
  };
  return context;
}

CommandTemplate::Options shell_options() {
  CommandTemplate::Options options;
  options.shell = true;
  return options;
}

Result<Words> render(const Words& command, const Space& space, std::uint64_t index = 0,
                     CommandTemplate::Options options = {}, const std::string& program = "") {
  const Result<CommandTemplate> built = CommandTemplate::build(command, program, options, space);
  if (!built) return propagate(built);
  return built->render(**space.point(index), context());
}

Words words(const Words& command, const Space& space, std::uint64_t index = 0,
            CommandTemplate::Options options = {}, const std::string& program = "") {
  const Result<Words> result = render(command, space, index, options, program);
  EXPECT_TRUE(result) << result.error().message;
  return result ? *result : Words();
}

std::string error_of(const Words& command, const Space& space,
                     CommandTemplate::Options options = {}) {
  const Result<Words> result = render(command, space, 0, options);
  EXPECT_FALSE(result) << command[0];
  return result ? "" : result.error().message;
}

// Runs an argument vector and gives its standard output.
std::string run(const Words& argv) {
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  std::vector<char*> pointers;
  for (const std::string& word : argv) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  pid_t child = 0;
  EXPECT_EQ(posix_spawnp(&child, pointers[0], &actions, nullptr, pointers.data(), environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string output;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof(buffer))) > 0;) {
    output.append(buffer, static_cast<std::size_t>(n));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return output;
}

TEST(Command, ArgsAreAppendedUnlessThereIsAWayIn) {
  const Space space = space_of({dimension("lr", {"1e-3"}), dimension("seed", {"0", "1"})});
  EXPECT_THAT(words({"train"}, space), ElementsAre("train", "--lr=1e-3", "--seed=0"));
  EXPECT_THAT(words({"train", "{trial_dir}"}, space),
              ElementsAre("train", "/s/trials/00007", "--lr=1e-3", "--seed=0"));
  EXPECT_THAT(words({"train", "--data=${envvar:DATA}"}, space),
              ElementsAre("train", "--data=/data", "--lr=1e-3", "--seed=0"));
  EXPECT_THAT(words({"train", "-s", "{seed}"}, space, 1), ElementsAre("train", "-s", "1"));
  EXPECT_THAT(words({"train", "${args}", "--fast"}, space),
              ElementsAre("train", "--lr=1e-3", "--seed=0", "--fast"));
  CommandTemplate::Options by_file;
  by_file.params_by_file = true;
  EXPECT_THAT(words({"train"}, space, 0, by_file), ElementsAre("train"));
}

TEST(Command, ValuesArriveAsTyped) {
  const Space space =
      space_of({dimension("a", {"1e-3"}), dimension("b", {".50"}), dimension("c", {"007"}),
                dimension("d", {"~"}), dimension("e", {"!absent"}), dimension("f", {"no"})});
  EXPECT_THAT(words({"t"}, space),
              ElementsAre("t", "--a=1e-3", "--b=.50", "--c=007", "--d=None", "--f=no"));
}

TEST(Command, CaseA4_FlagsByTheUsersChoice) {
  const Words both = {"true", "false"};
  const Space space =
      space_of({dimension("a", both), dimension("b", both, FlagStyle::present),
                dimension("c.amp", both, FlagStyle::no), dimension("d", both, FlagStyle::zero_one),
                dimension("e", both, FlagStyle::true_false)});
  const std::uint64_t last = space.index_count() - 1;
  EXPECT_THAT(words({"t"}, space),
              ElementsAre("t", "--a=True", "--b", "--c.amp", "--d=1", "--e=true"));
  EXPECT_THAT(words({"t"}, space, last),
              ElementsAre("t", "--a=False", "--no-c.amp", "--d=0", "--e=false"));
  EXPECT_THAT(words({"t", "${args_no_equals}"}, space, last),
              ElementsAre("t", "--a", "False", "--no-c.amp", "--d", "0", "--e", "false"));
  EXPECT_THAT(words({"t", "${args_no_boolean_flags}"}, space),
              ElementsAre("t", "--a", "--b", "--c.amp", "--d=1", "--e=true"));
  EXPECT_THAT(words({"t", "${args_no_boolean_flags}"}, space, last),
              ElementsAre("t", "--no-c.amp", "--d=0", "--e=false"));
  EXPECT_THAT(words({"t", "{a}", "{b}", "{c.amp}", "{d}", "{e}"}, space),
              ElementsAre("t", "True", "True", "True", "1", "true"));
  CommandTemplate::Options lower;
  lower.bool_style = BoolStyle::lower;
  EXPECT_EQ(words({"t"}, space, last, lower)[1], "--a=false");
  lower.bool_style = BoolStyle::zero_one;
  EXPECT_EQ(words({"t"}, space, 0, lower)[1], "--a=1");
}

TEST(Command, EveryWandbMacro) {
  const Space space =
      space_of({dimension("lr", {"1e-3"}), dimension("amp", {"true"}), dimension("off", {"false"}),
                dimension("gone", {"!absent"}), dimension("opt.name", {"sgd"})});
  const auto expanded = [&](const std::string& macro) {
    Words result = words({"t", macro}, space, 0, {}, "train.py");
    result.erase(result.begin());
    return result;
  };
  CommandTemplate::Options by_file;
  by_file.params_by_file = true;
  EXPECT_THAT(words({"${env}", "${interpreter}", "${program}"}, space, 0, by_file, "train.py"),
              ElementsAre("/usr/bin/env", "python3", "train.py"));
  EXPECT_THAT(expanded("${args}"),
              ElementsAre("--lr=1e-3", "--amp=True", "--off=False", "--opt.name=sgd"));
  EXPECT_THAT(expanded("${args_no_equals}"),
              ElementsAre("--lr", "1e-3", "--amp", "True", "--off", "False", "--opt.name", "sgd"));
  EXPECT_THAT(expanded("${args_no_hyphens}"),
              ElementsAre("lr=1e-3", "amp=True", "off=False", "opt.name=sgd"));
  EXPECT_THAT(expanded("${args_no_boolean_flags}"),
              ElementsAre("--lr=1e-3", "--amp", "--opt.name=sgd"));
  EXPECT_THAT(expanded("${args_append_hydra}"),
              ElementsAre("+lr=1e-3", "+amp=True", "+off=False", "+opt.name=sgd"));
  EXPECT_THAT(expanded("${args_override_hydra}"),
              ElementsAre("++lr=1e-3", "++amp=True", "++off=False", "++opt.name=sgd"));
  EXPECT_THAT(expanded("${args_json}"),
              ElementsAre("{\"lr\": 1e-3, \"amp\": true, \"off\": false, \"opt\": {\"name\": "
                          "\"sgd\"}}"));
  EXPECT_THAT(expanded("${args_json_file}"), ElementsAre("/s/trials/00007/args.json"));
  EXPECT_THAT(expanded("--x=${envvar:DATA}/${envvar:NOPE}").front(), "--x=/data/NOPE");
  EXPECT_THAT(words({}, space, 0, {}, "train.py"),
              ElementsAre("/usr/bin/env", "python3", "train.py", "--lr=1e-3", "--amp=True",
                          "--off=False", "--opt.name=sgd"));
}

TEST(Command, JsonKeepsNumbersAndIsAlwaysValid) {
  Point point;
  for (const auto& [name, text] : std::vector<std::pair<const char*, const char*>>{{"a", ".5"},
                                                                                   {"b", "-.5e3"},
                                                                                   {"c", "5."},
                                                                                   {"d", "-5.E-1"},
                                                                                   {"e", "1.10"},
                                                                                   {"f", "-0"},
                                                                                   {"g", "~"},
                                                                                   {"h", "true"}}) {
    point.parameters.push_back({name, Value::from_plain(text)});
  }
  point.parameters.push_back({"i", Value::from_text("a\"b\\\n\xff")});
  point.parameters.push_back({"j", Value::structure("[1, 2]", "[1,2]")});
  point.parameters.push_back({"k", Value::absent()});
  EXPECT_EQ(CommandTemplate::arguments_json(point),
            "{\"a\": 0.5, \"b\": -0.5e3, \"c\": 5.0, \"d\": -5.0E-1, \"e\": 1.10, \"f\": -0, "
            "\"g\": null, \"h\": true, \"i\": \"a\\\"b\\\\\\n\xef\xbf\xbd\", \"j\": [1,2]}");
  EXPECT_EQ(CommandTemplate::arguments_json(Point()), "{}");
}

TEST(Command, NestedNamesAreNestedInJsonOnly) {
  Point point;
  for (const char* name : {"opt.lr", "x", "opt.betas.one", "model", "model.width", "a.", ".b"}) {
    point.parameters.push_back({name, Value::integer(1)});
  }
  EXPECT_EQ(CommandTemplate::arguments_json(point),
            "{\"opt\": {\"lr\": 1, \"betas\": {\"one\": 1}}, \"x\": 1, \"model\": 1, "
            "\"model.width\": 1, \"a\": {\"\": 1}, \"\": {\"b\": 1}}");
}

TEST(Command, CaseA6_A7_AnyTextIsOneArgumentUnchanged) {
  const Words values = {
      "a b",     "it's",   "say \"hi\"", "$HOME",           "`id`",  "$(touch /tmp/pwned)",
      "a;b",     "*",      "#x",         "\\\\n",           "x\ty",  "new\nline",
      " lead",   "trail ", "",           "[32,32]",         "(64,)", "{\"a\": 1, \"b\": [2]}",
      "a|b",     "k=v",    "x,y",        "2023-09-16",      "李明",  "é",
      "-",       "--",     "@file",      "%d {} {0} {{x}}", "{v}",   "{trial}",
      "${args}", "${v}",   "{{v}}",      "caf\xe9"};
  const Space space = space_of({texts("v", values)});
  for (std::uint64_t i = 0; i < values.size(); ++i) {
    EXPECT_THAT(words({"t", "{v}", "x{v}y{v}"}, space, i),
                ElementsAre("t", values[i], "x" + values[i] + "y" + values[i]));
    EXPECT_THAT(words({"t"}, space, i), ElementsAre("t", "--v=" + values[i]));
  }
}

TEST(Command, CaseA8_NegativeNumbersAreOneToken) {
  const Space space = space_of({dimension("bias", {"-1", "-1e-3", "-.5", "-10."})});
  for (std::uint64_t i = 0; i < 4; ++i) {
    EXPECT_THAT(words({"t"}, space, i),
                ElementsAre("t", "--bias=" + (*space.point(i))->parameters[0].value.spelling()));
  }
}

TEST(Command, CaseA10_AVariableOverTheKernelsLimitNamesItsParameter) {
  Point point;
  point.parameters.push_back({"v", Value::from_text(std::string(200'000, 'x'))});
  EXPECT_TRUE(CommandTemplate::check_variable("NOTE", std::string(131'066, 'x'), point));
  const std::string value = "<" + std::string(200'000, 'x') + ">";
  const Status long_one = CommandTemplate::check_variable("NOTE", value, point);
  ASSERT_FALSE(long_one);
  EXPECT_EQ(long_one.error().message,
            "env: NOTE, with parameter `v` in it, has 200,007 bytes, and Linux allows 131,071 for "
            "one variable; the program finds every parameter in the file $SEEDBED_PARAMS");
  const Status nul = CommandTemplate::check_variable("N", std::string("a\0b", 3), point);
  ASSERT_FALSE(nul);
  EXPECT_EQ(nul.error().message.substr(0, 28), "env: N holds a NUL byte, whi");
}

TEST(Command, CaseA10_ArgumentsOverTheKernelsLimitsAreRefusedBeforeTheStart) {
  const Space one = space_of({texts("v", {std::string(200000, 'x'), "short"})});
  const std::string message = error_of({"t"}, one);
  EXPECT_THAT(message, HasSubstr("the argument of parameter `v` has 200,004 bytes"));
  EXPECT_THAT(message, HasSubstr("Linux allows 131,071"));
  EXPECT_THAT(message, HasSubstr("params: file"));
  EXPECT_LT(message.size(), 300U);
  EXPECT_THAT(words({"t"}, one, 1), ElementsAre("t", "--v=short"));
  const Space edge =
      space_of({texts("v", {std::string(131071 - 4, 'x'), std::string(131072 - 4, 'x')})});
  EXPECT_TRUE(render({"t"}, edge, 0));
  EXPECT_FALSE(render({"t"}, edge, 1));

  std::vector<Dimension> many;
  for (int i = 0; i < 3000; ++i) {
    many.push_back(texts("p" + std::to_string(i), {std::string(200, 'y')}));
  }
  EXPECT_TRUE(render({"t", "${args}"}, space_of(many)));
  for (Dimension& d : many) d.values = {Value::from_text(std::string(700, 'y'))};
  many[5].values = {Value::from_text(std::string(900, 'y'))};
  const std::string total = error_of({"t", "${args}"}, space_of(many));
  EXPECT_THAT(total, HasSubstr("bytes together"));
  EXPECT_THAT(total, HasSubstr("the longest is parameter `p5`"));
  EXPECT_THAT(error_of({"t"}, space_of({texts("v", {std::string("a\0b", 3)})})),
              HasSubstr("the argument of parameter `v` holds a NUL byte"));
  CommandTemplate::Options by_file;
  by_file.params_by_file = true;
  EXPECT_TRUE(render({"t"}, space_of({texts("v", {std::string("a\0b", 3)})}), 0, by_file));
}

TEST(Command, PlaceholdersAndBuiltins) {
  const Space space = space_of({dimension("lr", {"1e-3"}), dimension("opt.lr", {"2"})});
  EXPECT_THAT(words({"t", "{lr}", "{param.lr}", "{opt.lr}", "a{lr}b{opt.lr}"}, space),
              ElementsAre("t", "1e-3", "1e-3", "2", "a1e-3b2"));
  EXPECT_THAT(words({"t", "{lr}{opt.lr}", "{trial}.{attempt}", "{trial_dir}", "{study_dir}",
                     "{slot}", "{gpu}", "{gpu_uuid}", "{gpu_index}", "{port}", "{config}"},
                    space),
              ElementsAre("t", "1e-32", "7.2", "/s/trials/00007", "/s", "3", "5", "GPU-x", "0",
                          "29501", "/s/trials/00007/cfg.yaml"));
}

TEST(Command, OtherBracesAreLeftAlone) {
  const Space space = space_of({dimension("lr", {"1e-3"})});
  for (const char* text : {"{",
                           "}",
                           "{}",
                           "{0}",
                           "{{}}",
                           "{{0}}",
                           "{ lr }",
                           "%d {} {0} {{x}}",
                           "{\"a\": 1}",
                           "{lr",
                           "lr}",
                           "{{lr",
                           "echo ${HOME}",
                           "${HOME}/x",
                           "$HOME",
                           "${",
                           "$",
                           "{something_else}",
                           "{a,b}",
                           "{1..3}",
                           "awk {print}",
                           "{{other}}",
                           "${x:-{}}"}) {
    EXPECT_EQ(words({"t", "{lr}", text}, space).back(), text);
  }
  EXPECT_EQ(words({"t", "{lr}", "{{lr}}"}, space).back(), "{lr}");
  EXPECT_EQ(words({"t", "{lr}", "{{trial}}"}, space).back(), "{trial}");
  EXPECT_EQ(words({"t", "{lr}", "{{param.lr}}"}, space).back(), "{param.lr}");
  EXPECT_EQ(words({"t", "{\"x\": {lr}}"}, space).back(), "{\"x\": 1e-3}");
  EXPECT_EQ(words({"t", "{{{lr}}}"}, space, 0,
                  [] {
                    CommandTemplate::Options options;
                    options.params_by_file = true;
                    return options;
                  }())
                .back(),
            "{{lr}}");
}

TEST(Command, MistypedPlaceholdersAndMacrosGetASuggestion) {
  const Space space = space_of({dimension("batch_size", {"1"}), dimension("seed", {"0"})});
  EXPECT_THAT(
      error_of({"t", "{bacth_size}"}, space),
      HasSubstr("column 1: there is no parameter {bacth_size}; did you mean {batch_size}?"));
  EXPECT_THAT(error_of({"t", "x {param.bacth_size}"}, space), HasSubstr("column 3"));
  EXPECT_THAT(error_of({"t", "{param.zzz}"}, space), HasSubstr("no parameter {param.zzz}"));
  EXPECT_THAT(error_of({"t", "{trial_dri}"}, space), HasSubstr("did you mean {trial_dir}?"));
  EXPECT_EQ(words({"t", "{seed}", "{{seedy}}"}, space).back(), "{seedy}");
  EXPECT_THAT(error_of({"t", "${args_no_hypens}"}, space),
              HasSubstr("did you mean ${args_no_hyphens}?"));
  EXPECT_THAT(error_of({"t", "--x ${args}"}, space), HasSubstr("must be a word of its own"));
  for (const char* unknown : {"${nope}", "--x=${nope}"}) {
    const std::string error = error_of({"t", unknown}, space);
    EXPECT_THAT(error, HasSubstr("there is no macro ${nope}; known: ${env} ${interpreter}"));
    EXPECT_THAT(error, HasSubstr("for the text itself ${{nope}}"));
  }
  EXPECT_THAT(error_of({"t", "${HOME}"}, space), HasSubstr("write ${envvar:HOME}"));
  EXPECT_THAT(error_of({"t", "--seed=${seed}"}, space), HasSubstr("without the dollar: {seed}"));
  EXPECT_THAT(error_of({"t", "${program}"}, space), HasSubstr("no `program:` is given"));
  EXPECT_THAT(error_of({""}, space), HasSubstr("no command to run"));
  EXPECT_FALSE(CommandTemplate::build({}, "", {}, space));
}

TEST(Command, DoubleBracesKeepTheTextOfAMacro) {
  const Space space = space_of({dimension("lr", {"1e-3"})});
  const auto last = [&](const char* word) { return words({"t", "{lr}", word}, space).back(); };
  EXPECT_EQ(last("${{nope}}"), "${nope}");
  EXPECT_EQ(last("--x=${{HOME}}"), "--x=${HOME}");
  EXPECT_EQ(last("say ${{args}} ${{envvar:X}}"), "say ${args} ${envvar:X}");
  EXPECT_EQ(last("${{lr}}"), "${lr}");
  // Where `${…}` is left alone, so are these.
  EXPECT_EQ(last("say ${{other}}"), "say ${{other}}");
  EXPECT_EQ(last("${{ github }}"), "${{ github }}");
}

TEST(Command, ANameThatIsAlsoABuiltinNeedsItsPrefix) {
  const Space space = space_of({dimension("port", {"80"}), dimension("seed", {"0", "1"})});
  EXPECT_THAT(error_of({"t", "{port}"}, space), HasSubstr("{param.port}"));
  EXPECT_THAT(words({"t", "{param.port}", "{seed}"}, space), ElementsAre("t", "80", "0"));
  EXPECT_THAT(words({"t"}, space), ElementsAre("t", "--port=80", "--seed=0"));
}

TEST(Command, AVaryingParameterMustReachTheProgram) {
  const Space space = space_of(
      {dimension("lr", {"1", "2"}), dimension("seed", {"0", "1"}), dimension("fixed", {"1"})});
  EXPECT_THAT(error_of({"t", "{lr}"}, space),
              HasSubstr("parameter `seed` varies, but reaches the program in no way"));
  EXPECT_THAT(error_of({"${interpreter}", "t.py"}, space), HasSubstr("`lr` varies"));
  CommandTemplate::Options options;
  options.passed_elsewhere = {"seed"};
  EXPECT_THAT(words({"t", "{lr}"}, space, 0, options), ElementsAre("t", "1"));
  options.append_args = false;
  EXPECT_THAT(error_of({"t"}, space, options), HasSubstr("`lr` varies"));
}

TEST(Command, AbsentParametersTakeTheirOptionWithThem) {
  const Space space = space_of({dimension("wd", {"!absent"}), dimension("lr", {"1"})});
  EXPECT_THAT(words({"t", "--wd={wd}", "--lr={lr}"}, space), ElementsAre("t", "--lr=1"));
  EXPECT_THAT(words({"t", "--wd", "{wd}", "--lr", "{lr}"}, space), ElementsAre("t", "--lr", "1"));
  EXPECT_THAT(words({"t", "wd={wd}", "{wd}", "{lr}"}, space), ElementsAre("t", "1"));
  EXPECT_THAT(words({"t", "--", "{wd}", "out/{wd}-{lr}"}, space), ElementsAre("t", "--", "out/-1"));
  for (const char* macro :
       {"${args}", "${args_no_equals}", "${args_no_hyphens}", "${args_json}",
        "${args_no_boolean_flags}", "${args_append_hydra}", "${args_override_hydra}"}) {
    for (const std::string& word : words({"t", macro}, space)) {
      EXPECT_EQ(word.find("wd"), std::string::npos) << macro;
    }
  }
  // A parameter that does not exist at a point is still known as a placeholder.
  Dimension when = dimension("batch", {"32"});
  when.when = *Expression::parse("opt == 'sgd'");
  const Space conditional = space_of({when, dimension("opt", {"adam", "sgd"})});
  EXPECT_THAT(words({"t", "{opt}", "-b", "{batch}"}, conditional), ElementsAre("t", "adam"));
  EXPECT_THAT(words({"t", "{opt}", "-b", "{batch}"}, conditional, 1),
              ElementsAre("t", "sgd", "-b", "32"));
}

TEST(Command, LeadingPythonFallsBack) {
  const Space space = space_of({});
  EXPECT_THAT(words({"python", "t.py"}, space), ElementsAre("python3", "t.py"));
  EXPECT_THAT(words({"${env}", "python", "python"}, space),
              ElementsAre("/usr/bin/env", "python3", "python"));
  EXPECT_THAT(words({"python2", "t.py"}, space), ElementsAre("python2", "t.py"));
  EXPECT_THAT(words({"python t.py"}, space, 0, shell_options())[4], "\"${1}\" t.py ");
}

TEST(Command, ShellRunsOneScriptWithPipefail) {
  const Space space = space_of({dimension("lr", {"1e-3"})});
  EXPECT_THAT(
      words({"train --lr={lr} | tee log"}, space, 0, shell_options()),
      ElementsAre("bash", "-o", "pipefail", "-c", "train --lr=\"${1}\" | tee log", "bash", "1e-3"));
  EXPECT_THAT(words({"train", "x"}, space, 0, shell_options()),
              ElementsAre("bash", "-o", "pipefail", "-c", "train x \"${1}\"", "bash", "--lr=1e-3"));
  EXPECT_THAT(words({"a ${args} | b"}, space, 0, shell_options()),
              ElementsAre("bash", "-o", "pipefail", "-c", "a \"${1}\" | b", "bash", "--lr=1e-3"));
  // Into which of two commands would the options go?
  const Space two = space_of({dimension("lr", {"1", "2"})});
  EXPECT_THAT(error_of({"a | b"}, two, shell_options()), HasSubstr("in no way"));
}

TEST(Command, CaseA6_ShellNeverReadsAValueAsCode) {
  const Words values = {"a b",
                        "it's",
                        "\"",
                        "$HOME",
                        "`echo pwned`",
                        "$(echo pwned)",
                        "a;echo pwned",
                        "*",
                        "\\",
                        "\n",
                        "",
                        "' ; echo pwned ; '",
                        "\" ; echo pwned ; \"",
                        "}",
                        "${1}",
                        "$'\\x41'",
                        "--",
                        "!x",
                        "~",
                        "{a,b}"};
  const Space space = space_of({texts("v", values)});
  const Words scripts = {"printf '%s' {v}",
                         "printf '%s' \"{v}\"",
                         "printf '%s' '{v}'",
                         "printf '%s' $'{v}'",
                         "x={v}; printf '%s' \"$x\"",
                         "printf '%s' \"$(printf '%sX' {v} # don't mind\n)\" | sed '$ s/X$//'",
                         "printf '%s' \"$(printf '%sX' \"{v}\")\" | sed '$ s/X$//'",
                         "printf '%s' \"`printf '%sX' {v}`\" | sed '$ s/X$//'",
                         "# it's a comment\nprintf '%s' {v}",
                         "(printf '%s' {v})",
                         "echo \\' > /dev/null; printf '%s' {v}",
                         "f() { printf '%s' \"$@\"; }; f {v}",
                         "cat <<< '' > /dev/null; printf '%s' {v}",
                         "[[ x == x ]] && printf '%s' {v}",
                         "echo $((1 + 2)) > /dev/null; printf '%s' {v}"};
  for (std::size_t s = 0; s < scripts.size(); ++s) {
    // A third of the values each, in turn: starting a bash is slow.
    for (std::size_t i = s % 3; i < values.size(); i += 3) {
      const std::string output = run(words({scripts[s]}, space, i, shell_options()));
      EXPECT_EQ(output, values[i]) << scripts[s];
    }
  }
}

TEST(Command, ShellRefusesPlacesWhereValuesWouldBeCode) {
  const Space space = space_of({dimension("n", {"1"})});
  for (const char* script :
       {"echo $(( {n} + 1 ))", "echo \"$(( {n} ))\"", "(( x = {n} ))", "echo $[ {n} + 1 ]",
        "echo \"$[ ${a[0]} + {n} ]\"", "a[{n}]=1", "x=1; a[ 1 + {n} ]=2", "echo ${a[{n}]}",
        "echo ${s:{n}:1}", "echo \"${s:0:{n}}\"", "unset a[\"{n}\"]",
        "if [[ {n} -gt 3 ]]; then echo; fi", "[[ 3 -le {n} ]] && echo"}) {
    EXPECT_THAT(error_of({script}, space, shell_options()), HasSubstr("evaluate")) << script;
  }
  // Places that only look like these.
  for (const char* script : {"echo [{n}]", "[[ a == {n} ]] && echo", "echo $x{n}[1]",
                             "echo ${x} {n}", "[ {n} -gt 3 ]", "echo \"${x:-it's}\" {n}",
                             "echo a[1] {n}", "echo ${x:-)} {n}", "case {n} in 1) x ;; esac"}) {
    EXPECT_TRUE(render({script}, space, 0, shell_options())) << script;
  }
  EXPECT_THAT(error_of({"cat <<END\n{n}\nEND"}, space, shell_options()),
              HasSubstr("here-document"));
  EXPECT_THAT(error_of({"echo \\{n}"}, space, shell_options()), HasSubstr("backslash"));
  EXPECT_THAT(error_of({"echo \"\\{n}\""}, space, shell_options()), HasSubstr("backslash"));
  EXPECT_EQ(run(words({"printf %s \\\\{n}"}, space, 0, shell_options())), "\\1");
}

// Random quoting around a placeholder: the value never runs, and the script still parses as bash
// parses it with a plain word there.
TEST(Command, RandomShellTextsNeverRunTheirValues) {
  const char* pieces[] = {"'",   "\"", "`", "$(", ")",    "(",  "$'", " ",    "a",     "{v}",
                          "{v}", "|",  ";", "#",  "\n",   "\\", "$x", "${x}", "=",     "&&",
                          "<",   "{",  "}", "$[", "${a:", "a[", "]",  "[[ ",  " -eq ", " ]]"};
  const Space space = space_of({texts("v", {"$(echo pwned>&3)`echo pwned>&3`;echo pwned>&3;'\"\n"
                                            "echo pwned>&3\n",
                                            "a[$(echo pwned>&3)]"})});
  Random random(21, 22);
  int ran = 0;
  for (int i = 0; i < 120; ++i) {
    std::string script = "exec 3>&1 1>/dev/null 2>/dev/null </dev/null; : ";
    for (std::uint64_t k = 0, n = 1 + random.below(12); k < n; ++k) {
      script += pieces[random.below(std::size(pieces))];
    }
    CommandTemplate::Options options = shell_options();
    options.params_by_file = true;
    const Result<Words> argv = render({script}, space, i % 2, options);
    if (!argv) continue;
    ++ran;
    Words quiet = {"bash", "-c", "exec 2>/dev/null; cd /; exec \"$@\"", "bash"};
    quiet.insert(quiet.end(), argv->begin(), argv->end());
    ASSERT_EQ(run(quiet).find("pwned"), std::string::npos) << script;
  }
  EXPECT_GT(ran, 20);
}

TEST(Command, FillPutsValuesIntoAnyText) {
  Dimension when = dimension("batch", {"32"});
  when.when = *Expression::parse("opt == 'sgd'");
  const Space space = space_of({when, dimension("opt", {"adam"}), dimension("lr", {"1e-3"})});
  const Point point = **space.point(0);
  const auto fill = [&](std::string_view text, const Space* known) {
    const Result<std::string> result = CommandTemplate().fill(text, point, context(), known);
    return result ? *result : result.error().message;
  };
  EXPECT_EQ(fill("lr: {lr}\nout: {trial_dir}/{opt}\nkeep: {x} {{lr}} ${HOME} ${args}", &space),
            "lr: 1e-3\nout: /s/trials/00007/adam\nkeep: {x} {lr} ${HOME} ${args}");
  EXPECT_EQ(fill("[{batch}]", &space), "[]");
  EXPECT_EQ(fill("[{batch}]", nullptr), "[{batch}]");
  Dimension amp = dimension("amp", {"true"});
  const Space booleans = space_of({amp, dimension("x", {"false"})});
  CommandTemplate::Options zero_one;
  zero_one.bool_style = BoolStyle::zero_one;
  const auto command = CommandTemplate::build({"t"}, "", zero_one, booleans);
  EXPECT_EQ(*command->fill("{amp} {x}", **booleans.point(0), context()), "1 0");
  EXPECT_THAT(*CommandTemplate::parameters_in("{lr} {opt} {trial}", space),
              ElementsAre("lr", "opt"));
  EXPECT_FALSE(CommandTemplate::parameters_in("{batc}", space));
}

TEST(Command, IdentityIsTheTemplateNotTheSpace) {
  const Space narrow = space_of({dimension("lr", {"1"})});
  const Space wide = space_of({dimension("lr", {"1", "2"}), dimension("seed", {"0", "1"})});
  const auto identity = [](const Words& command, const Space& space,
                           CommandTemplate::Options options = {}) {
    return CommandTemplate::build(command, "p.py", options, space)->identity();
  };
  EXPECT_EQ(identity({"t"}, narrow), identity({"t"}, wide));
  EXPECT_EQ(identity({"t"}, narrow), identity({"t", "${args}"}, wide));
  EXPECT_NE(identity({"t"}, narrow), identity({"u"}, narrow));
  EXPECT_NE(identity({"t", "a b"}, narrow), identity({"t", "a", "b"}, narrow));
  EXPECT_NE(identity({"t"}, narrow), identity({"t"}, narrow, shell_options()));
  EXPECT_THAT(CommandTemplate::build({"t"}, "", {}, narrow)->words(), ElementsAre("t", "${args}"));
  EXPECT_TRUE(
      CommandTemplate::build({"t", "{config}", "{lr}"}, "", {}, narrow)->uses_config_file());
  EXPECT_FALSE(CommandTemplate::build({"t"}, "", {}, narrow)->uses_config_file());
  EXPECT_TRUE(
      CommandTemplate::build({"t", "${args_json_file}"}, "", {}, narrow)->uses_arguments_file());
}

}  // namespace
}  // namespace seedbed
