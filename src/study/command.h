#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "study/point.h"
#include "study/space.h"

namespace seedbed {

/// What a placeholder such as `{trial_dir}` stands for at one attempt. All are known only when the
/// attempt is planned; `plan` fills them with examples.
struct CommandContext {
  std::string trial, attempt, trial_dir, study_dir, slot, gpu, gpu_uuid, gpu_index, port, config;
  /// For ${args_json_file}: path of a file that holds `CommandTemplate::arguments_json(point)`.
  std::string params_file;
  std::string python;  ///< `python`, or `python3` where there is no `python`
  /// For ${envvar:NAME}; without it, or where it gives nothing, the macro is NAME itself.
  std::function<std::optional<std::string>(const std::string& name)> environment;
  /// Room for all arguments: a quarter of the usual 8 MiB of stack, less 128 KiB of environment.
  std::size_t argument_bytes = 2 * 1024 * 1024 - 128 * 1024;
};

struct TextPart;  // a piece of a word, command_text.h

/// How booleans reach `${args}` unless `flag:` says otherwise (`--bool-style`).
enum class BoolStyle { python, lower, zero_one };

/// A command as the user wrote it: an argument vector with W&B macros and `{name}` placeholders.
/// Values are put in once and never scanned again; no shell is involved, unless `shell: true`.
///
/// Macros are whole words: ${env} ${interpreter} ${program} ${args} ${args_no_equals}
/// ${args_no_hyphens} ${args_no_boolean_flags} ${args_json} ${args_json_file} ${args_append_hydra}
/// ${args_override_hydra}; ${envvar:NAME} may stand inside a word. Other `${…}`: see take_apart.
///
/// Placeholders: a parameter `{lr}`, `{param.lr}`, or a built-in; `{{lr}}` gives `{lr}`; all other
/// braces are left alone. An absent parameter takes its option with it: the words `{lr}` (and a
/// bare option before it), `--lr={lr}` and `lr={lr}` are left out; elsewhere it is empty text.
///
/// `shell: true`: the words, joined by blanks, are the script of `bash -o pipefail -c`; macros may
/// stand anywhere in it. Values come as its positional parameters and are quoted for the place
/// where they stand, so bash never reads them as code.
class CommandTemplate {
 public:
  struct Options {
    bool shell = false;           ///< one string for bash with pipefail
    bool params_by_file = false;  ///< `params: file`: the program reads $SEEDBED_PARAMS
    BoolStyle bool_style = BoolStyle::python;
    bool append_args = true;  ///< add ${args} when no macro or parameter placeholder is there
    /// Parameters that reach the program by `env:` or `template:` (repetitions do no harm).
    std::vector<std::string> passed_elsewhere;
  };

  CommandTemplate() = default;

  /// Checks placeholders against the space: unknown `{nmae}` that looks like a parameter gets a
  /// suggestion; a name that is both a parameter and a built-in needs `{param.NAME}`; a varying
  /// parameter that reaches the program in no way is an error. `program` serves ${program}; no
  /// words at all are W&B's default command. ${args} is added unless a macro (other than envvar), a
  /// parameter's placeholder or `{config}` is there, parameters go by file, or `shell: true` has a
  /// script of more than one command.
  [[nodiscard]] static Result<CommandTemplate> build(std::vector<std::string> words,
                                                     std::string program, Options options,
                                                     const Space& space);

  /// Refuses a variable of the environment over the kernel's limit (128 KiB with its name) or with
  /// a NUL byte, naming the parameter that makes it so.
  [[nodiscard]] static Status check_variable(const std::string& name, const std::string& value,
                                             const Point& point);

  /// The exact argument vector for one point. Refuses arguments over the kernel's limits (128 KiB
  /// each, `argument_bytes` together) and NUL bytes, naming the parameter and the limit, with the
  /// hint to pass it by file.
  [[nodiscard]] Result<std::vector<std::string>> render(const Point& point,
                                                        const CommandContext& context) const;

  /// `{name}` placeholders in any text of the user's (`env:` values, `template:` files), booleans
  /// as in the command. With `space`, parameters that do not exist at this point are empty text
  /// instead of left alone.
  [[nodiscard]] Result<std::string> fill(std::string_view text, const Point& point,
                                         const CommandContext& context,
                                         const Space* space = nullptr) const;

  /// The parameters whose placeholders stand in such a text, checked as `build` checks a word.
  [[nodiscard]] static Result<std::vector<std::string>> parameters_in(std::string_view text,
                                                                      const Space& space);

  /// All parameters as one JSON object, dotted names nested, numbers as numbers: ${args_json}.
  [[nodiscard]] static std::string arguments_json(const Point& point);

  /// What makes two runs of a study the same experiment: template words and options, as text.
  [[nodiscard]] std::string identity() const;
  /// The words in effect: with the default command or the added ${args}.
  [[nodiscard]] const std::vector<std::string>& words() const { return words_; }
  [[nodiscard]] const Options& options() const { return options_; }
  [[nodiscard]] bool uses_config_file() const;
  [[nodiscard]] bool uses_arguments_file() const;  ///< ${args_json_file}

 private:
  struct Parts;  // the words taken apart

  [[nodiscard]] std::vector<std::string> expand(const TextPart& part, const Point& point,
                                                const CommandContext& context) const;

  std::vector<std::string> words_;
  std::string program_;
  Options options_;
  std::map<std::string, FlagStyle, std::less<>> flags_;
  std::shared_ptr<const Parts> parts_;  // immutable, so copies may share it
};

}  // namespace seedbed
