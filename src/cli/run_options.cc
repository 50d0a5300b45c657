#include "cli/run_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <utility>

#include "base/bytes.h"
#include "base/text.h"
#include "cli/option_checks.h"
#include "env/posix/files.h"
#include "samplers/sampler.h"
#include "study/halt.h"
#include "study/yaml_tree.h"

extern char** environ;

namespace seedbed {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kLargestSweepFile = 16 << 20;

bool is_spec_word(const std::string& word) {
  const std::size_t equals = word.find('=');
  // A path with a '=' in its folder's name is still a file.
  return equals != std::string::npos && equals > 0 && word.find('/') > equals;
}

/// A program where the sweep file is expected: by its name, or by how it begins.
bool looks_like_program(const std::string& file, std::string_view text) {
  const std::string extension = fs::path(file).extension().string();
  for (const char* known : {".py", ".sh", ".R", ".jl", ".pl", ".rb", ".js", ".lua", ".ipynb"}) {
    if (extension == known) return true;
  }
  return text.starts_with("#!") || text.starts_with(
                                       "\x7f"
                                       "ELF");
}

tl::unexpected<Error> no_sweep_file(const std::string& file, const RunOptions& options) {
  std::vector<std::string> words;
  for (const std::string& word : options.words) {
    if (is_spec_word(word)) words.push_back(word);
  }
  const std::string specs = words.empty() ? "lr=1e-3,1e-2" : shell_quote(words);
  const std::string extension = fs::path(file).extension().string();
  std::string program = shell_quote(file);
  if (extension == ".py") {
    program = "python3 " + program;
  } else if (extension == ".sh") {
    program = "bash " + program;
  } else if (file.find('/') == std::string::npos) {
    program = "./" + program;
  }
  return fail(ErrorCode::usage,
              fmt::format("{} looks like a program, not like a sweep file; a program comes after "
                          "--, behind the values: seedbed run {} -- {}",
                          one_line(file, 200), one_line(specs, 200), one_line(program, 200)));
}

/// A word that is neither a parameter nor a file that is there.
tl::unexpected<Error> no_such_word(const std::string& word, const std::string& before) {
  const std::string shown = one_line(word, 80);
  if (word.starts_with('~')) {
    return fail(ErrorCode::usage, fmt::format("{}: a parameter cannot be deleted here; write "
                                              "{}=absent() to leave the option out",
                                              shown, shown.substr(1)));
  }
  if (before.ends_with(',')) {
    return fail(ErrorCode::usage,
                fmt::format("`{}` is no NAME=SPEC and no sweep file; no blank after a comma, or "
                            "quote the word: {}",
                            shown, one_line(shell_quote(before + " " + word), 200)));
  }
  if (word.find_first_of("./") != std::string::npos) {
    return fail(ErrorCode::usage, fmt::format("{}: no such sweep file", one_line(word, 200)));
  }
  return fail(ErrorCode::usage,
              fmt::format("`{}` is no NAME=SPEC and no sweep file; write lr=1e-3,1e-2, or the name "
                          "of a file",
                          shown));
}

Status take_words(const Invocation& invocation, const RunOptions& options, StudySources& sources,
                  std::string& file) {
  std::string before;  // the word before this one
  for (const std::string& word : options.words) {
    const std::string previous = std::exchange(before, word);
    if (is_spec_word(word)) {
      sources.words.push_back(word);
    } else if ((previous.ends_with(',') || word.starts_with('~')) && !path_exists(word)) {
      return no_such_word(word, previous);
    } else if (file.empty()) {
      file = word;
    } else {
      return fail(ErrorCode::usage,
                  fmt::format("'{}' is neither NAME=SPEC nor the sweep file (that is {}); the "
                              "command of the trials comes after --",
                              one_line(word, 80), one_line(file, 80)));
    }
  }
  if (file.empty() && !invocation.study.empty()) {
    auto dir = find_study(invocation);
    if (!dir) return propagate(dir);
    file = *dir + "/sweep.yaml";
  }
  if (!file.empty()) {
    auto text = read_file(file, kLargestSweepFile);
    if (looks_like_program(file, text ? std::string_view(*text) : std::string_view())) {
      return no_sweep_file(file, options);
    }
    if (!text) {
      Invocation named = invocation;
      named.study = file;
      if (const auto study = find_study(named)) {
        return fail(ErrorCode::usage,
                    fmt::format("{} is a study, and the sweep file is expected here; to go on with "
                                "the study: {}",
                                one_line(file, 200), run_again_line(*study)));
      }
      if (!path_exists(file) && invocation.study.empty()) return no_such_word(file, {});
      return tl::unexpected(Error{ErrorCode::usage, text.error().message});
    }
    sources.file_name = file;
    sources.file_text = std::move(*text);
  }
  return {};
}

std::string base_name(const std::string& word) { return fs::path(word).filename().string(); }

bool is_script(const std::string& word) {
  const std::string extension = fs::path(word).extension().string();
  return extension == ".py" || extension == ".sh" || extension == ".R" || extension == ".jl";
}

/// `pkg.train`, as `python3 -m` takes it.
bool is_module(const std::string& word) {
  const bool letters = std::all_of(word.begin(), word.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
  });
  return letters && !word.empty() && std::isdigit(static_cast<unsigned char>(word[0])) == 0;
}

/// Modules that start another one or a script: what they start gives the name.
bool starts_another(const std::string& module) {
  return module == "torch.distributed.run" || module == "torch.distributed.launch" ||
         module == "accelerate.commands.launch" || module == "mpi4py" || module == "pdb" ||
         module == "cProfile" || module == "coverage";
}

/// Words of the command one by one, those of a script for a shell (`bash -c '…'`) taken apart.
std::vector<std::string> single_words(const CommandTemplate& command) {
  std::vector<std::string> single;
  const std::vector<std::string>& words = command.words();
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool script =
        command.options().shell || (i > 0 && (words[i - 1] == "-c" || words[i - 1] == "-lc"));
    if (!script) {
      single.push_back(words[i]);
      continue;
    }
    std::string word;
    for (const char c : words[i] + " ") {
      if (std::string_view(" \t\n;&|()'\"").find(c) == std::string_view::npos) {
        word += c;
      } else if (!word.empty()) {
        single.push_back(std::exchange(word, {}));
      }
    }
  }
  return single;
}

/// The stem of the script or module that a command runs, else of its program, behind
/// `env NAME=value`.
std::string name_of_command(const CommandTemplate& command) {
  const std::vector<std::string> words = single_words(command);
  bool python = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string program = base_name(words[i]);
    python = python || program.starts_with("python") || program == "uv" || program == "torchrun" ||
             program == "accelerate" || program == "coverage" || words[i] == "${interpreter}";
    if (is_script(words[i])) return fs::path(words[i]).stem().string();
    if (python && words[i] == "-m" && i + 1 < words.size() && is_module(words[i + 1]) &&
        !starts_another(words[i + 1])) {
      return words[i + 1].substr(words[i + 1].find_last_of('.') + 1);
    }
  }
  std::size_t head = 0;
  if (!words.empty() && (words[0] == "${env}" || base_name(words[0]) == "env")) {
    do {
      head += words[head] == "-u" || words[head] == "-C" ? 2 : 1;  // these take a word
    } while (head < words.size() &&
             (words[head].starts_with('-') || words[head].find('=') != std::string::npos));
    if (head >= words.size()) head = 0;
  }
  return words.empty() ? "study" : fs::path(words[head]).stem().string();
}

/// `--name`, the file's name, its stem, or the stem of the script or program.
std::string derive_name(const RunOptions& options, const Invocation& invocation,
                        const StudySpec& spec, const std::string& file) {
  if (!options.name.empty()) return options.name;
  if (!invocation.study.empty()) {
    auto dir = find_study(invocation);
    if (dir) return study_name(*dir);
  }
  if (!spec.name.empty()) return spec.name;
  if (!file.empty()) return fs::path(file).stem().string();
  return name_of_command(spec.command);
}

Status read_gpus_per_trial(const std::string& text, ResourceSpec& resources) {
  double number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) {
    auto bytes = parse_bytes(text);
    if (!bytes || *bytes == 0) {
      return fail(ErrorCode::usage,
                  fmt::format("--gpus-per-trial {}: write 1, 2, 0.25, or the memory of a part of "
                              "one: 8GiB",
                              text));
    }
    resources.gpus = 0;
    resources.gpu_memory = *bytes;
    return {};
  }
  if (!(number > 0) || number > 1024 || (number > 1 && number != std::floor(number))) {
    return fail(
        ErrorCode::usage,
        fmt::format("--gpus-per-trial {}: neither a number of devices nor a share below 1", text));
  }
  resources.gpus = number;
  resources.gpu_memory = 0;
  return {};
}

Status apply_resources(const RunOptions& options, StudySpec& spec) {
  if (options.cpus) spec.resources.cpus = *options.cpus;
  if (!options.memory.empty()) {
    auto bytes = parse_bytes(options.memory);
    if (!bytes) return tl::unexpected(bytes.error().with_context("--memory"));
    spec.resources.memory = *bytes;
  }
  if (!options.gpus_per_trial.empty()) {
    if (Status read = read_gpus_per_trial(options.gpus_per_trial, spec.resources); !read) {
      return read;
    }
  }
  const bool asks = spec.resources.gpus > 0 || spec.resources.gpu_memory > 0;
  if (!options.gpus.empty() && options.gpus != "0" && !asks) spec.resources.gpus = 1;
  if (options.launcher != "local") {
    return fail(ErrorCode::usage, fmt::format("--launcher {}: this version of seedbed has the "
                                              "local launcher alone",
                                              options.launcher));
  }
  return {};
}

Status apply_halt(const RunOptions& options, StudySpec& spec) {
  if (options.halt.empty()) return {};
  auto rule = HaltSpec::parse(options.halt);
  if (!rule) return tl::unexpected(rule.error().with_context("--halt"));
  spec.halt = rule->kind == HaltSpec::Kind::never ? "" : options.halt;
  return {};
}

/// A search that never ends is refused where the file asks for it.
Status check_end(const StudySources& sources, const StudySpec& spec) {
  if (spec.space.finite() || spec.run_cap) return {};
  const auto sampler = make_sampler(spec);
  if (sampler) return {};
  const std::string& message = sampler.error().message;
  const SourceText file(sources.file_name, sources.file_text);
  const auto tree = parse_yaml(file);
  const YamlNode* method = tree && (*tree)->is_map() ? (*tree)->find("method") : nullptr;
  if (!sources.method.empty() || method == nullptr) return fail(ErrorCode::usage, message);
  return tl::unexpected(file.error(method->offset, message));
}

}  // namespace

void add_run_options(CLI::App& command, Invocation& invocation, RunOptions& options) {
  command.add_option("WORDS", options.words,
                     "The sweep file (YAML); NAME=SPEC words replace the file's");
  // An empty shell variable must not switch something off unseen.
  const auto not_empty = [](CLI::Option* option, const std::string& remedy) {
    option->check(CLI::Validator(
        [remedy](const std::string& word) -> std::string {
          return word.empty() ? "is empty; " + remedy : "";
        },
        ""));
  };
  not_empty(command.add_option("--name", options.name, "Name of the study"),
            "leave it out for the name of the file or program");
  add_study_options(command, invocation, false);
  command.add_option("--method", options.method, "grid, random or sobol");
  whole_number(
      command.add_option("--sampler-seed", options.sampler_seed, "Seed of random and sobol"), 0,
      std::numeric_limits<std::uint64_t>::max());
  slot_count(command.add_option("--slots", options.slots, "Trials at once (auto: what fits)"));
  whole_number(command.add_option("--limit", options.limit, "The first N points of the space"), 1,
               kMostTrials);
  command.add_flag("--yes,-y", options.yes, "Yes to more than 10,000 trials");
  command.add_option("--order", options.order, "given, shuffled or longest-first");
  not_empty(command.add_option("--halt", options.halt,
                               "Stop starting after failures: first, N, or X% of 10 or more ended"),
            "leave it out to go on whatever fails");
  command.add_flag("--retry-failed", options.retry_failed, "Run failed trials again");
  command.add_option("--grace", options.grace, "Time between asking and killing")
      ->capture_default_str();
  command.add_option("--metric", options.metric, "The metric that decides");
  command.add_option("--goal", options.goal, "minimize or maximize");
  repeatable(command.add_option("--where", options.where,
                                "Keep only points where this holds; may be repeated"));
  positive_number(command.add_option("--cpus", options.cpus, "Cores per trial"));
  command.add_option("--memory", options.memory, "Memory per trial (4GiB)");
  command.add_option("--gpus", options.gpus, "GPUs to hand out: 4 | 0,2 | all");
  command.add_option("--gpus-per-trial", options.gpus_per_trial, "1, 2, 0.25 or 8GiB");
  command.add_option("--launcher", options.launcher, "local, for now")
      ->group("");  // not in the help
  command.add_option("--seed-parameter", options.seed_parameter,
                     "The parameter that makes replicates; none");
  command.add_option("--bool-style", options.bool_style, "How booleans are passed");
  one_of(command.add_option("--on-interrupt", options.on_interrupt, "At the first Ctrl-C"),
         {"stop", "drain"})
      ->capture_default_str();
  command.add_flag("--new-command", options.new_command,
                   "Keep trials of another command in this study");
  command.add_flag("--take-over", options.take_over, "Take a study that another host held");
  add_output_option(command, invocation);
}

Result<RunRequest> read_run(const Invocation& invocation, const RunOptions& options) {
  StudySources sources;
  std::string file;
  if (Status taken = take_words(invocation, options, sources, file); !taken) {
    return propagate(taken);
  }
  sources.command = invocation.command;
  sources.where = options.where;
  sources.metric = options.metric;
  sources.goal = options.goal;
  sources.method = options.method;
  sources.order = options.order;
  sources.bool_style = options.bool_style;
  sources.seed_parameter = options.seed_parameter;
  sources.limit = options.limit;
  sources.sampler_seed = options.sampler_seed;

  const std::string folder = fs::path(file).parent_path().string();
  // A file that the sweep names stands beside the sweep file, or where the user stands.
  const auto place_of = [&folder](const std::string& path) {
    const std::string beside = folder.empty() ? path : folder + "/" + path;
    return !path.starts_with('/') && path_exists(beside) ? beside : path;
  };
  auto spec = read_study(
      sources, [&place_of](const std::string& path) { return read_file(place_of(path)); });
  if (!spec) return propagate(spec);
  if (!spec->template_file.empty()) {
    // Later runs and `add` read it from the record, wherever they stand.
    std::error_code unknown;
    const fs::path whole = fs::absolute(place_of(spec->template_file), unknown);
    if (!unknown) spec->template_file = whole.lexically_normal().string();
  }
  if (Status ends = check_end(sources, *spec); !ends) return propagate(ends);
  if (Status read = apply_halt(options, *spec); !read) return propagate(read);
  if (options.slots == "auto") spec->slots.reset();
  if (Status applied = apply_resources(options, *spec); !applied) return propagate(applied);
  auto grace = parse_duration(options.grace);
  if (!grace) return tl::unexpected(grace.error().with_context("--grace"));

  RunRequest request;
  request.name = derive_name(options, invocation, *spec, file);
  auto dir = study_dir_for(invocation, request.name);
  if (!dir) return propagate(dir);
  request.spec = std::move(*spec);
  request.study_dir = std::move(*dir);
  request.command_line = invocation.command_line();
  std::error_code error;
  request.working_dir = fs::current_path(error).string();
  if (error) return fail(ErrorCode::machine, "the current folder: " + error.message());
  request.surroundings = surrounding_variables(environ);
  if (const std::uint32_t slots = slots_of(options.slots); slots > 0) request.slots = slots;
  request.gpus = options.gpus;
  request.grace = *grace;
  request.new_command = options.new_command;
  request.retry_failed = options.retry_failed;
  request.take_over = options.take_over;
  request.drain_on_interrupt = options.on_interrupt == "drain";
  return request;
}

Result<std::string> study_dir_for(const Invocation& invocation, const std::string& name) {
  if (!invocation.study.empty()) {
    auto dir = find_study(invocation);
    if (dir) return dir;
  }
  constexpr std::size_t kLongestName = 200;
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos ||
      name.find('\0') != std::string::npos || name.size() > kLongestName ||
      one_line(name) != name) {
    return fail(
        ErrorCode::usage,
        fmt::format("'{}' cannot be the name of a study: it is the name of its folder, so "
                    "no slash or control character, not . or .., and at most {} bytes; give "
                    "--name",
                    one_line(name, 60), kLongestName));
  }
  std::error_code error;
  const fs::path dir = fs::absolute(fs::path(invocation.dir) / name, error);
  if (error) return fail(ErrorCode::machine, invocation.dir + ": " + error.message());
  for (const fs::path& folder : {dir, fs::absolute(invocation.dir, error)}) {
    if (!fs::is_regular_file(folder, error)) continue;
    return fail(ErrorCode::usage,
                fmt::format("{} is a file, and the folder of the stud{} should be there; move it "
                            "away, or give {}",
                            one_line(folder.string(), 200), folder == dir ? "y" : "ies",
                            folder == dir ? "another --name or --dir" : "another --dir"));
  }
  return canonical_path(dir.string());
}

std::string too_many(const StudySpec& spec) {
  if (spec.run_cap) return {};
  const PointCount count = spec.space.count();
  if (count.infinite || (count.value <= kManyTrials && !count.saturated)) return {};
  return fmt::format("that is {}{} trials", count.exact ? "" : "up to ",
                     count.saturated ? "more than 10^19" : fmt::format("{}", count.value));
}

Status check_size(const StudySpec& spec, bool yes) {
  const std::string many = yes ? "" : too_many(spec);
  if (many.empty()) return {};
  return fail(ErrorCode::usage,
              fmt::format("{}; say --yes to run them all, or --limit N for the first N{}", many,
                          spec.method == Method::grid ? ", or --method random with --limit" : ""));
}

}  // namespace seedbed
