#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "controller/attempt_setup.h"
#include "controller/free_port.h"
#include "controller/setup_testing.h"
#include "study/readers.h"

namespace seedbed {
namespace {

namespace fs = std::filesystem;

Point point(std::vector<std::pair<std::string, Value>> values) {
  Point made;
  for (auto& [name, value] : values) made.parameters.push_back({name, value});
  return made;
}

TEST(ParamsFiles, KeepTheDigitsAndAreValidJson) {
  const Point odd = point({{"lr", Value::from_plain("1e-3")},
                           {"half", Value::from_plain(".5")},
                           {"five", Value::from_plain("-5.")},
                           {"long", Value::from_plain("0.1000000000000000055511151231257827")},
                           {"word", Value::from_text("a \"b\"\n")},
                           {"yes", Value::boolean(true)},
                           {"none", Value::null()},
                           {"left", Value::absent()},
                           {"list", Value::structure("[1, 2]", "[1,2]")}});
  const auto json = nlohmann::json::parse(params_json(odd));
  EXPECT_EQ(json["values"]["lr"], 1e-3);
  EXPECT_EQ(json["values"]["half"], 0.5);
  EXPECT_EQ(json["values"]["five"], -5.0);
  EXPECT_EQ(json["values"]["yes"], true);
  EXPECT_TRUE(json["values"]["none"].is_null());
  EXPECT_FALSE(json["values"].contains("left"));
  EXPECT_EQ(json["values"]["list"], (nlohmann::json{1, 2}));
  EXPECT_EQ(json["text"]["lr"], "1e-3");
  EXPECT_EQ(json["text"]["half"], ".5");
  EXPECT_EQ(json["text"]["word"], "a \"b\"\n");
  EXPECT_NE(params_json(odd).find("0.1000000000000000055511151231257827"), std::string::npos);
  EXPECT_NE(wandb_params_yaml(odd).find("\"lr\":\n  value: 1.0e-3"), std::string::npos);
  EXPECT_NE(wandb_params_yaml(odd).find("wandb_version: 1"), std::string::npos);
  Point nested;
  nested.parameters = {
      {"h", Value::structure("[1e-3,'1e-3']", R"([1e-3, "1e-3", {"\"2e5": -25e-1}])")}};
  EXPECT_EQ(wandb_params_yaml(nested),
            "wandb_version: 1\n\n\"h\":\n  value: [1.0e-3, \"1e-3\", {\"\\\"2e5\": -25.0e-1}]\n");
  EXPECT_EQ(nlohmann::json::parse(params_json(nested)).at("values").at("h").at(0), 0.001);
}

TEST(ParamsFiles, AnEmptyPointIsValidToo) {
  EXPECT_TRUE(nlohmann::json::accept(params_json(Point{})));
}

TEST(CheckProgram, CaseD16_NamesTheExactCause) {
  const TemporaryFolder folder;
  folder.write("noexec", "#!/bin/sh\n");
  folder.write("bad", "#!/no/such/python\n", 0755);
  folder.write("crlf", "#!/bin/sh\r\n", 0755);
  folder.write("text", "hello\n", 0755);
  folder.write("good", "#!/bin/sh\n", 0755);
  fs::create_directory(folder.path("folder"));
  const Variables variables = {{"PATH", "/usr/bin:/bin"}};
  const auto why = [&](std::vector<std::string> argv) {
    const Status status = check_program(argv, folder.path(), variables);
    return status ? std::string("fine") : status.error().message;
  };
  EXPECT_NE(why({"./nosuch"}).find("No such file"), std::string::npos);
  EXPECT_NE(why({"./noexec"}).find("execute permission"), std::string::npos);
  EXPECT_NE(why({"./bad"}).find("/no/such/python"), std::string::npos);
  EXPECT_NE(why({"./crlf"}).find("CRLF"), std::string::npos);
  EXPECT_NE(why({"./text"}).find("#! line"), std::string::npos);
  EXPECT_NE(why({"./folder"}).find("directory"), std::string::npos);
  EXPECT_NE(why({"no-such-program-anywhere"}).find("PATH"), std::string::npos);
  EXPECT_NE(why({"python3", "missing.py"}).find("missing.py"), std::string::npos);
  EXPECT_NE(why({"/usr/bin/env", "no-such-program"}).find("PATH"), std::string::npos);
  EXPECT_EQ(why({"./good"}), "fine");
  EXPECT_EQ(why({"sh", "-c", "true; x"}), "fine");
  EXPECT_EQ(why({"env", "A=b", "sh"}), "fine");
}

TEST(FreePort, CaseJ7_NoTwoLivingAttemptsShareOneAndAReturnedOneIsFree) {
  FreePorts ports;
  std::set<std::uint16_t> seen;
  for (std::uint64_t trial = 1; trial <= 50; ++trial) {
    const std::uint16_t port = ports.lend({trial, 1});
    ASSERT_NE(port, 0);
    EXPECT_TRUE(seen.insert(port).second);
  }
}

TEST(FreePort, CaseJ7_APortInUseIsNotLent) {
  const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  ASSERT_EQ(bind(descriptor, reinterpret_cast<sockaddr*>(&address), length), 0);
  ASSERT_EQ(listen(descriptor, 1), 0);
  ASSERT_EQ(getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length), 0);
  FreePorts ports;
  for (std::uint64_t trial = 1; trial <= 100; ++trial) {
    EXPECT_NE(ports.lend({trial, 1}), ntohs(address.sin_port));
  }
  close(descriptor);
}

TEST(FileHashes, ChangeWithTheContentAlone) {
  const TemporaryFolder folder;
  folder.write("a", "one");
  FileHashes hashes;
  const std::string first = hashes.hash(folder.path("a"));
  EXPECT_EQ(first.size(), 16U);
  EXPECT_EQ(hashes.hash(folder.path("a")), first);
  folder.write("a", "two!");
  EXPECT_NE(hashes.hash(folder.path("a")), first);
  folder.write("b", "one");
  EXPECT_EQ(hashes.hash(folder.path("b")), first);
  EXPECT_EQ(hashes.hash(folder.path("missing")), "");
}

TEST(CodeDifference, CaseH9_TellsAnEditedProgramAndAnotherOneOfTheSameName) {
  const auto details = [](const std::string& folder, const std::string& file,
                          const std::string& hash) {
    nlohmann::json json = {{"argv", {"python3", file}}, {"cwd", folder}};
    if (!file.empty()) json["code_file"] = file;
    if (!file.empty()) json["code_hash"] = hash;
    return json.dump();
  };
  const std::string first = details("/a", "/a/t.py", "1");
  EXPECT_FALSE(code_difference(first, first));
  EXPECT_FALSE(code_difference("", first));
  EXPECT_FALSE(code_difference("not json", first));
  EXPECT_FALSE(code_difference(first, details("/a", "/a/u.py", "2"))) << "the space names it";
  EXPECT_FALSE(code_difference(first, details("/b", "/b/t.py", "1"))) << "the project was moved";
  EXPECT_FALSE(code_difference(first, details("/a", "/a/t.py", ""))) << "it cannot be read";
  EXPECT_EQ(code_difference(first, details("/a", "/a/t.py", "2"))->find("/a/t.py was changed"), 0);
  EXPECT_EQ(code_difference(first, details("/b", "/b/t.py", "2"))->find("/b/t.py is not what"), 0);
  EXPECT_FALSE(code_difference(details("/a", "", ""), details("/a", "", "")));
  EXPECT_EQ(code_difference(details("/a", "", ""), details("/b", "", ""))->find("earlier trials"),
            0);
}

TEST(Snapshot, OutsideAGitCheckoutItIsRefusedWithTheReason) {
  const TemporaryFolder folder;
  auto copy = take_snapshot(folder.path(), folder.path("copy"));
  ASSERT_FALSE(copy);
  EXPECT_NE(copy.error().message.find("git checkout"), std::string::npos);
}

class Setup : public ::testing::Test {
 protected:
  LaunchOrder prepare(const std::string& yaml, AttemptSetup::Prepared* all = nullptr) {
    StudySources sources;
    sources.file_name = "sweep.yaml";
    sources.file_text = yaml;
    auto spec = read_study(sources, [](const std::string&) -> Result<std::string> {
      return fail(ErrorCode::usage, "no file");
    });
    EXPECT_TRUE(spec) << (spec ? "" : spec.error().message);
    spec_ = std::move(*spec);
    SetupContext context;
    context.study_dir = folder_.path("study");
    context.working_dir = folder_.path();
    context.surroundings = {{"PATH", "/usr/bin:/bin"}, {"HOME", "/h"}};
    fs::create_directories(folder_.path("study"));
    setup_ = make_attempt_setup(spec_, context);
    TrialStatus trial;
    trial.number = 7;
    auto point = spec_.space.point(0);
    trial.point = **point;
    trial.folder = "00007-x";
    Allocation allocation;
    allocation.slot = 2;
    allocation.cpus = 2;
    auto prepared = setup_->prepare(trial, {7, 1}, allocation);
    EXPECT_TRUE(prepared) << (prepared ? "" : prepared.error().message);
    if (!prepared) return {};
    if (all != nullptr) *all = *prepared;
    return prepared->order;
  }

  static std::string variable(const LaunchOrder& order, const std::string& name) {
    for (const std::string& word : order.environment) {
      if (word.starts_with(name + "=")) return word.substr(name.size() + 1);
    }
    return "(unset)";
  }

  TemporaryFolder folder_;
  StudySpec spec_;
  std::unique_ptr<AttemptSetup> setup_;
};

TEST_F(Setup, GivesTheVariablesOfTheContract) {
  const LaunchOrder order = prepare(
      "command: [echo, '${args}']\nparameters: {n: {values: [1, 2]}}\nenv: {OUT: "
      "'o-{n}-{slot}'}\n");
  EXPECT_EQ(order.argv, (std::vector<std::string>{"echo", "--n=1"}));
  EXPECT_EQ(variable(order, "SEEDBED_TRIAL"), "7");
  EXPECT_EQ(variable(order, "SEEDBED_ATTEMPT"), "1");
  EXPECT_EQ(variable(order, "SEEDBED_SLOT"), "2");
  EXPECT_EQ(variable(order, "SEEDBED_TRIAL_DIR"), folder_.path("study/trials/00007-x"));
  EXPECT_EQ(variable(order, "OMP_NUM_THREADS"), "2");
  EXPECT_EQ(variable(order, "OUT"), "o-1-2");
  EXPECT_EQ(variable(order, "HOME"), "/h");
  EXPECT_NE(variable(order, "MASTER_PORT"), "(unset)");
  EXPECT_TRUE(fs::exists(variable(order, "SEEDBED_PARAMS")));
  EXPECT_TRUE(fs::exists(variable(order, "WANDB_SWEEP_PARAM_PATH")));
  EXPECT_EQ(order.working_dir, folder_.path());
}

TEST_F(Setup, CaseJ6_InAFolderOfItsOwnAScriptGivenByRelativePathIsStillFound) {
  folder_.write("t.py", "");
  const LaunchOrder order = prepare(
      "command: [python3, t.py, '${args}']\nparameters: {n: {values: [1, 2]}}\nworkdir: trial\n");
  EXPECT_EQ(order.working_dir, folder_.path("study/trials/00007-x"));
  EXPECT_EQ(order.argv, (std::vector<std::string>{"python3", folder_.path("t.py"), "--n=1"}));
}

TEST_F(Setup, CaseI13_DescribesHowToRepeatIt) {
  folder_.write("t.py", "print(1)");
  AttemptSetup::Prepared prepared;
  prepare("command: [python3, t.py, '${args}']\nparameters: {n: {values: [1, 2]}}\n", &prepared);
  const auto details = nlohmann::json::parse(prepared.details_json);
  EXPECT_EQ(details["argv"], (nlohmann::json{"python3", "t.py", "--n=1"}));
  EXPECT_EQ(details["program"], "/usr/bin/python3");
  EXPECT_EQ(details["cwd"], folder_.path());
  EXPECT_EQ(details["env"]["SEEDBED_TRIAL"], "7");
  EXPECT_FALSE(details["env"].contains("HOME"));
  EXPECT_EQ(details["code_hash"].get<std::string>().size(), 16U);
}

}  // namespace
}  // namespace seedbed
