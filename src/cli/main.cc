#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "base/version.h"
#include "cli/invocation.h"

namespace seedbed {
namespace {

constexpr const char* kExample =
    "Example:\n"
    "  seedbed run lr=1e-3,1e-2 seed=0..4 --metric loss --goal minimize -- python3 train.py\n"
    "  seedbed status; seedbed compare; seedbed best\n"
    "Each command explains itself: seedbed COMMAND --help";

void add_commands(CLI::App& app, Invocation& invocation) {
  add_run_command(app, invocation);
  add_plan_command(app, invocation);
  add_add_command(app, invocation);
  add_list_command(app, invocation);
  add_status_command(app, invocation);
  add_trials_command(app, invocation);
  add_compare_command(app, invocation);
  add_best_command(app, invocation);
  add_show_command(app, invocation);
  add_logs_command(app, invocation);
  add_export_command(app, invocation);
  add_control_commands(app, invocation);
  add_attach_command(app, invocation);
  add_clean_command(app, invocation);
  add_doctor_command(app, invocation);
  add_gpu_report_command(app, invocation);
  add_capture_test_command(app, invocation);
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

/// The words for the parser, which wants them in reverse.
std::vector<std::string> own_words(const Invocation& invocation) {
  const std::size_t after = invocation.has_command ? invocation.command.size() + 1 : 0;
  std::vector<std::string> words(invocation.arguments.begin(),
                                 invocation.arguments.end() - static_cast<std::ptrdiff_t>(after));
  std::reverse(words.begin(), words.end());
  return words;
}

/// `--name=` with nothing behind would take the next word as its value.
std::optional<std::string> empty_option(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word.starts_with("--") && word.find('=') == word.size() - 1) return word;
  }
  return std::nullopt;
}

int report_usage(const std::string& message) {
  std::fprintf(stderr, "seedbed: %s\n", message.c_str());
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

/// A mistyped command or option gets the one that was probably meant.
std::string suggestion(const CLI::App& app, const Invocation& invocation) {
  if (invocation.arguments.empty()) return {};
  std::vector<std::string> names;
  std::map<std::string, const CLI::App*> commands;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
    commands.emplace(command->get_name(), command);
  }
  const CLI::App* named = nullptr;
  for (const std::string& word : invocation.arguments) {
    if (word == "--" || named != nullptr) break;
    if (const auto found = commands.find(word); found != commands.end()) named = found->second;
  }
  if (named == nullptr) {
    if (auto near = nearest(invocation.arguments[0], names)) {
      return fmt::format("; did you mean 'seedbed {}'?", *near);
    }
    return {};
  }
  std::vector<std::string> options;
  for (const CLI::Option* option : named->get_options()) {
    for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
  }
  for (const std::string& word : invocation.arguments) {
    const std::string name = word.substr(0, word.find('='));
    if (name == "--") break;
    if (!name.starts_with("--") ||
        std::find(options.begin(), options.end(), name) != options.end()) {
      continue;
    }
    if (auto meant = meant_option(name, options)) {
      return fmt::format("; did you mean {}?", *meant);
    }
    return fmt::format("; seedbed {} --help lists its options", named->get_name());
  }
  return {};
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
    std::fputs(app.help().c_str(), stdout);
    return exit_code(ErrorCode::usage);
  }
  try {
    if (const auto word = empty_option(own_words(invocation))) {
      const std::string name = word->substr(0, word->size() - 1);
      return report_usage(
          fmt::format("{} has no value; leave {} out, or write {} ''", *word, name, name));
    }
    app.parse(own_words(invocation));
  } catch (const CLI::Success& asked_for_help) {
    return app.exit(asked_for_help);
  } catch (const CLI::ParseError& error) {
    return report_usage(error.what() + suggestion(app, invocation));
  }
  const Result<int> result = invocation.action();
  if (result) return *result;
  std::fprintf(stderr, "seedbed: %s\n", result.error().message.c_str());
  return exit_code(result.error().code);
}

}  // namespace
}  // namespace seedbed

int main(int argc, char** argv) { return seedbed::run_main(argc, argv); }
