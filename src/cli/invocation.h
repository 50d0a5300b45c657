#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
}

namespace seedbed {

/// What all subcommands share: the words of this call and what was chosen to do.
struct Invocation {
  std::vector<std::string> arguments;  ///< all words after `seedbed`
  std::vector<std::string> command;    ///< words after `--`
  bool has_command = false;

  std::string dir = "studies";  ///< `--dir`
  std::string study;            ///< STUDY or `--study`: a name or a path; empty: the only or newest
  std::string output = "text";  ///< `--output`

  /// Set by the subcommand that was named.
  std::function<Result<int>()> action;

  /// The whole command line, quoted, for records and locks.
  [[nodiscard]] std::string command_line() const;
};

/// Adds `--dir`, `--study` and the optional STUDY word.
void add_study_options(CLI::App& command, Invocation& invocation, bool positional = true);
/// Adds `--output text|json`, or the given choices.
void add_output_option(CLI::App& command, Invocation& invocation,
                       std::vector<std::string> choices = {"text", "json"});

/// The folder of the study that is meant; the error lists the studies there are.
[[nodiscard]] Result<std::string> find_study(const Invocation& invocation);

/// What stands for STUDY in a line that people copy and run where they stand now: the plain name
/// where that finds this study, else its folder. Not quoted; `study_dir` as find_study gives it.
[[nodiscard]] std::string study_word(const std::string& study_dir);

/// The line that goes on with a study: `seedbed run --study STUDY`, behind `cd FOLDER &&` where its
/// last run was started from another folder, since trials run where the user stands.
[[nodiscard]] std::string run_again_line(const std::string& study_dir);

/// The name of a study from its folder.
[[nodiscard]] std::string study_name(const std::string& study_dir);

/// Reads trial numbers (`3`, `5-8`, `1,3,5-8`) from words; also the name of a trial's folder
/// (`00003-lr0.1`), when it is that trial's.
[[nodiscard]] Result<std::vector<std::uint64_t>> read_trials(const std::string& study_dir,
                                                             const std::vector<std::string>& words);

/// Where a command takes its study by `--study` alone, a first word that is no number but the name
/// of a study is taken for one: the words with `--study` put in front of it.
[[nodiscard]] std::vector<std::string> with_study_option(std::vector<std::string> words);

// One per file; each adds its subcommand to the application.
void add_run_command(CLI::App& app, Invocation& invocation);
void add_plan_command(CLI::App& app, Invocation& invocation);
void add_add_command(CLI::App& app, Invocation& invocation);
void add_list_command(CLI::App& app, Invocation& invocation);
void add_status_command(CLI::App& app, Invocation& invocation);
void add_trials_command(CLI::App& app, Invocation& invocation);
void add_compare_command(CLI::App& app, Invocation& invocation);
void add_best_command(CLI::App& app, Invocation& invocation);
void add_show_command(CLI::App& app, Invocation& invocation);
void add_logs_command(CLI::App& app, Invocation& invocation);
void add_export_command(CLI::App& app, Invocation& invocation);
void add_control_commands(CLI::App& app,
                          Invocation& invocation);  // stop pause resume cancel retry slots
void add_attach_command(CLI::App& app, Invocation& invocation);
void add_clean_command(CLI::App& app, Invocation& invocation);
void add_doctor_command(CLI::App& app, Invocation& invocation);
void add_gpu_report_command(CLI::App& app, Invocation& invocation);
void add_capture_test_command(CLI::App& app, Invocation& invocation);

}  // namespace seedbed
