#pragma once

#include <map>
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
  std::string params_file;  ///< path of params.json, for ${args_json_file}
  std::string python;       ///< `python`, or `python3` where there is no `python`
};

/// How booleans reach `${args}` unless `flag:` says otherwise (`--bool-style`).
enum class BoolStyle { python, lower, zero_one };

/// A command as the user wrote it: an argument vector with W&B macros and `{name}` placeholders.
/// Values are put in once and never scanned again; no shell is involved (unless `shell: true`,
/// where the words are given to `bash -o pipefail -c` as positional text, quoted by us).
class CommandTemplate {
 public:
  struct Options {
    bool shell = false;          ///< one string for bash with pipefail
    bool params_by_file = false; ///< `params: file`: the program reads $SEEDBED_PARAMS
    BoolStyle bool_style = BoolStyle::python;
    bool append_args = true;     ///< add ${args} when no macro or parameter placeholder is there
  };

  CommandTemplate() = default;

  /// Checks placeholders against the space: unknown `{nmae}` that looks like a parameter gets a
  /// suggestion; a name that is both a parameter and a built-in needs `{param.NAME}`; a varying
  /// parameter that reaches the program in no way is an error. `program` serves ${program}.
  [[nodiscard]] static Result<CommandTemplate> build(std::vector<std::string> words,
                                                     std::string program, Options options,
                                                     const Space& space);

  /// The exact argument vector for one point. Refuses arguments over the kernel's limits (128 KiB
  /// each), naming the parameter and the limit, with the hint to pass it by file.
  [[nodiscard]] Result<std::vector<std::string>> render(const Point& point,
                                                        const CommandContext& context) const;

  /// `{name}` placeholders in any text of the user's (`env:` values, `template:` files).
  [[nodiscard]] static Result<std::string> fill(std::string_view text, const Point& point,
                                                const CommandContext& context);

  /// What makes two runs of a study the same experiment: template words and options, as text.
  [[nodiscard]] std::string identity() const;
  [[nodiscard]] const std::vector<std::string>& words() const { return words_; }
  [[nodiscard]] const Options& options() const { return options_; }
  [[nodiscard]] bool uses_config_file() const;

 private:
  std::vector<std::string> words_;
  std::string program_;
  Options options_;
  std::map<std::string, FlagStyle, std::less<>> flags_;
};

}  // namespace seedbed
