#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "base/text.h"
#include "base/version.h"
#include "cli/invocation.h"
#include "machine/gpus.h"

namespace seedbed {
namespace {

constexpr const char* kExample =
    "Example:\n"
    "  seedbed run lr=1e-3,1e-2 seed=0..4 --metric loss --goal minimize -- python3 train.py\n"
    "  seedbed status; seedbed compare; seedbed best\n"
    "Each command explains itself: seedbed COMMAND --help";

struct Command {
  std::string_view words;  ///< its name, or all the names that it adds
  void (*add)(CLI::App& app, Invocation& invocation);
};

constexpr Command kCommands[] = {
    {"run", add_run_command},
    {"plan", add_plan_command},
    {"add", add_add_command},
    {"list", add_list_command},
    {"status", add_status_command},
    {"trials", add_trials_command},
    {"compare", add_compare_command},
    {"best", add_best_command},
    {"show", add_show_command},
    {"logs", add_logs_command},
    {"export", add_export_command},
    {"stop pause resume cancel retry slots", add_control_commands},
    {"attach", add_attach_command},
    {"clean", add_clean_command},
    {"doctor", add_doctor_command},
    {"capture-test", add_capture_test_command},
    {kGpuReportCommand, add_gpu_report_command},
};

/// Only what the first word names, if it names something: to set up the options of all commands
/// takes longer than some of them run.
void add_commands(CLI::App& app, Invocation& invocation) {
  const auto named = [&](const Command& command) {
    const auto words = split(command.words, ' ');
    return !invocation.arguments.empty() &&
           std::find(words.begin(), words.end(), invocation.arguments[0]) != words.end();
  };
  const bool any = std::any_of(std::begin(kCommands), std::end(kCommands), named);
  for (const Command& command : kCommands) {
    if (!any || named(command)) command.add(app, invocation);
  }
}

/// Words up to `--` are ours, the rest is the user's command, untouched.
Invocation split_arguments(int argc, char** argv) {
  Invocation invocation;
  for (int i = 1; i < argc; ++i) {
    invocation.arguments.emplace_back(argv[i]);
    if (invocation.has_command) {
      invocation.command.emplace_back(argv[i]);
    } else if (std::string_view(argv[i]) == "--") {
      invocation.has_command = true;
    }
  }
  return invocation;
}

std::vector<std::string> own_words(const Invocation& invocation) {
  const std::size_t after = invocation.has_command ? invocation.command.size() + 1 : 0;
  return with_study_option({invocation.arguments.begin(),
                            invocation.arguments.end() - static_cast<std::ptrdiff_t>(after)});
}

/// `--name=` with nothing behind would take the next word as its value.
std::optional<std::string> empty_option(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word.starts_with("--") && word.find('=') == word.size() - 1) return word;
  }
  return std::nullopt;
}

/// Messages may hold what users and their files wrote: each line is made safe for a terminal.
void print_error(const std::string& message) {
  std::string text;
  for (const std::string_view line : split(message, '\n')) {
    text += (text.empty() ? "seedbed: " : "\n") + one_line(line);
  }
  std::fprintf(stderr, "%s\n", text.c_str());
}

int report_usage(const std::string& message) {
  print_error(message);
  return exit_code(ErrorCode::usage);
}

/// The option that a word was to be: the one that it abbreviates, the one that other tools call so,
/// else the nearest.
std::optional<std::string> meant_option(const std::string& word,
                                        const std::vector<std::string>& options) {
  const auto has = [&](std::string_view option) {
    return std::find(options.begin(), options.end(), option) != options.end();
  };
  for (const std::string& option : options) {
    if (word.size() > 2 && option.starts_with(word)) return option;
  }
  struct Synonym {
    std::string_view word, option, rest;
  };
  constexpr Synonym kSynonyms[] = {
      {"--json", "--output", " json"}, {"--csv", "--output", " csv"}, {"--format", "--output", ""},
      {"--jobs", "--slots", ""},       {"--workers", "--slots", ""},  {"--parallel", "--slots", ""},
      {"--count", "--limit", ""},      {"--direction", "--goal", ""},
  };
  for (const Synonym& synonym : kSynonyms) {
    if (synonym.word == word && has(synonym.option)) {
      return fmt::format("{}{}", synonym.option, synonym.rest);
    }
  }
  return nearest(word, options);
}

/// The command that the words name, also behind options; nullptr when none, or when another word
/// stands where it should.
const CLI::App* named_command(const CLI::App& app, const Invocation& invocation) {
  const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
  for (const std::string& word : invocation.arguments) {
    for (const CLI::App* command : commands) {
      if (command->get_name() == word) return command;
    }
    if (word == "--" || !invocation.arguments[0].starts_with('-')) return nullptr;
  }
  return nullptr;
}

/// The first line below `Example:` in a command's help.
std::string example_of(const CLI::App& command) {
  constexpr std::string_view kMark = "Example:\n";
  const std::string text = command.get_footer();
  const std::size_t mark = text.find(kMark);
  if (mark == std::string::npos) return fmt::format("seedbed {} --help", command.get_name());
  const std::size_t start = mark + kMark.size();
  const std::string_view line =
      trim(std::string_view(text).substr(start, text.find('\n', start) - start));
  return std::string(line.substr(0, line.find("   ")));  // what stands behind explains it
}

std::string unknown_command(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  std::string text = fmt::format("there is no command '{}'", one_line(word, 60));
  if (auto near = nearest(word, names))
    return text + fmt::format("; did you mean 'seedbed {}'?", *near);
  return text + "; seedbed --help lists the commands";
}

/// What is too much: an option that the command does not have, or a word.
std::string unexpected(const CLI::App& command, const std::vector<std::string>& extras) {
  std::vector<std::string> options;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
  }
  for (const std::string& word : extras) {
    if (!word.starts_with('-') || word == "-") continue;
    const std::string name = word.substr(0, word.find('='));
    if (std::find(options.begin(), options.end(), name) != options.end()) {
      return fmt::format("{} comes after the command: seedbed {} {} …", name, command.get_name(),
                         name);
    }
    std::string text =
        fmt::format("seedbed {} has no option {}", command.get_name(), one_line(name, 60));
    const auto meant = meant_option(name, options);
    if (meant) text += fmt::format("; did you mean {}?", *meant);
    const bool takes_parameters =
        command.get_name() == "run" || command.get_name() == "plan" || command.get_name() == "add";
    if (takes_parameters && word.find('=') != std::string::npos) {
      const std::string spec = word.substr(word.find_first_not_of('-'));
      return text + fmt::format("{} parameter is written {}, without the hyphens",
                                meant ? " A" : "; a", one_line(shell_quote(spec), 100));
    }
    if (meant) return text;
    return text + fmt::format("; seedbed {} --help lists its options", command.get_name());
  }
  return fmt::format("'{}' is one word too many for seedbed {}; write it as in: {}",
                     one_line(extras.empty() ? "" : extras.front(), 60), command.get_name(),
                     example_of(command));
}

/// The parser's error in words of ours.
std::string parse_error_text(const CLI::ParseError& error, const CLI::App& app,
                             const Invocation& invocation) {
  const CLI::App* command = named_command(app, invocation);
  if (command == nullptr) {
    const std::string& word = invocation.arguments.front();
    return word.starts_with('-') ? fmt::format(
                                       "'{}' is no option of seedbed itself; the command "
                                       "comes first: seedbed run …",
                                       one_line(word, 60))
                                 : unknown_command(app, word);
  }
  const std::string what = error.what();
  const std::string option = what.substr(0, what.find(':'));
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    const std::vector<std::string> extras = command->remaining();
    return unexpected(*command, extras.empty() ? app.remaining(true) : extras);
  }
  if (error.get_name() == "RequiredError") {
    const std::string missing = what.substr(0, what.find(' '));
    return fmt::format("{} is missing; write it as in: {}", missing, example_of(*command));
  }
  constexpr std::string_view kNotConverted = "Could not convert: ";
  if (what.starts_with(kNotConverted)) {  // `--yes = foo`; other options have checks of their own
    const std::string given = what.substr(kNotConverted.size());
    return fmt::format("{} takes no value: {}", given.substr(0, given.find(' ')), given);
  }
  if (error.get_name() == "ArgumentMismatch") {
    return what.find("missing") != std::string::npos
               ? fmt::format("{} needs a value", option)
               : fmt::format("{} is given more than once, and takes one value", option);
  }
  return what;
}

volatile std::sig_atomic_t pipe_closed = 0;

/// From here on a write to a pipe that nobody reads fails, and ends nothing. A handler, since
/// programs that we start would inherit that the signal is ignored.
void outlive_closed_pipe() {
  std::signal(SIGPIPE, [](int) { pipe_closed = 1; });
}

/// The exit code once the output is written. Who closed a pipe has read what they wanted.
int with_output_written(int code) {
  errno = 0;
  const bool flushed = std::fflush(stdout) == 0;
  const int cause = flushed ? 0 : errno;
  if (flushed && std::ferror(stdout) == 0) return code;
  if (pipe_closed != 0) return code;
  print_error("the output could not be written" +
              (cause == 0 ? std::string() : ": " + std::generic_category().message(cause)));
  return exit_code(ErrorCode::machine);
}

/// What goes on without a reader: a lost output never stops a run.
bool outlives_output(const Invocation& invocation) {
  return invocation.arguments[0] == "run" || invocation.arguments[0] == "attach";
}

int run_main(int argc, char** argv) {
  Invocation invocation = split_arguments(argc, argv);
  CLI::App app{"Runs many independent training runs side by side, and loses nothing.", "seedbed"};
  app.require_subcommand(1);
  app.set_version_flag("--version", version());
  app.footer(kExample);
  constexpr std::size_t kNameColumn = 34;  // most options with their choices fit in a line
  app.get_formatter()->column_width(kNameColumn);
  add_commands(app, invocation);
  if (invocation.arguments.empty()) {
    outlive_closed_pipe();
    std::fputs(app.help().c_str(), stdout);
    return with_output_written(exit_code(ErrorCode::usage));
  }
  try {
    std::vector<std::string> words = own_words(invocation);
    if (const auto word = empty_option(words)) {
      const std::string name = word->substr(0, word->size() - 1);
      return report_usage(
          fmt::format("{} has no value; leave {} out, or write {} ''", *word, name, name));
    }
    std::reverse(words.begin(), words.end());  // as the parser wants them
    app.parse(std::move(words));
  } catch (const CLI::Success& asked_for_help) {
    outlive_closed_pipe();
    std::ostringstream out, errors;
    const int code = app.exit(asked_for_help, out, errors);
    std::fputs(out.str().c_str(), stdout);
    return with_output_written(code);
  } catch (const CLI::ParseError& error) {
    return report_usage(parse_error_text(error, app, invocation));
  }
  const bool may_lose_output = outlives_output(invocation);
  if (!may_lose_output) outlive_closed_pipe();
  const Result<int> result = invocation.action();
  if (result) return may_lose_output ? *result : with_output_written(*result);
  print_error(result.error().message);
  return exit_code(result.error().code);
}

}  // namespace
}  // namespace seedbed

int main(int argc, char** argv) {
  try {
    return seedbed::run_main(argc, argv);
  } catch (const std::exception& error) {
    seedbed::print_error(std::string("this is a bug of seedbed: ") + error.what());
    return seedbed::exit_code(seedbed::ErrorCode::internal);
  }
}
