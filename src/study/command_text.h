#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "study/command.h"

// The user's texts taken apart into what stands for itself and what is put in per attempt.

namespace seedbed {

enum class Macro {
  env,
  interpreter,
  program,
  args,
  args_no_equals,
  args_no_hyphens,
  args_no_boolean_flags,
  args_json,
  args_json_file,
  args_append_hydra,
  args_override_hydra,
};

/// `args` of `${args}`; nothing when there is no such macro.
[[nodiscard]] std::optional<Macro> macro_of(std::string_view name);
[[nodiscard]] bool is_args_macro(Macro macro);
[[nodiscard]] const std::vector<std::string>& macro_names();

struct TextPart {
  enum class Kind { literal, parameter, builtin, macro, envvar };
  Kind kind = Kind::literal;
  std::string text;  ///< literal text, or the name
  Macro macro = Macro::env;
};

enum class MacroUse {
  none,      ///< `${…}` is only text (env values, config templates)
  whole,     ///< a macro is a whole word
  anywhere,  ///< in a script
};

/// Takes a text apart. `parameters` are all names of the space; with `strict`, names that look like
/// a mistyped placeholder or macro are refused, and so is a `${name}` that is no macro where it is
/// the whole word or all behind its `=`; `${{name}}` gives the text `${name}`. Inside of other
/// words
/// `${…}` is left to a shell.
[[nodiscard]] Result<std::vector<TextPart>> take_apart(std::string_view text,
                                                       const std::vector<std::string>& parameters,
                                                       MacroUse macros, bool strict);

/// What a built-in stands for; every TextPart::builtin has one.
[[nodiscard]] const std::string& builtin_value(std::string_view name,
                                               const CommandContext& context);

/// The value of `${envvar:NAME}`.
[[nodiscard]] std::string environment_value(const std::string& name, const CommandContext& context);

/// A script and its positional parameters: parts put in so that bash never reads values as code.
struct Script {
  std::string text;
  std::vector<std::string> values;
};

/// `expand` gives the values of a part other than a literal: none, one, or several words.
/// Refuses places where bash would evaluate the value whatever the quotes: `$((…))`, `$[…]`,
/// `${…}`, `name[…]`, `[[…]]` that compares numbers, here-documents.
[[nodiscard]] Result<Script> quote_script(
    const std::vector<TextPart>& parts,
    const std::function<std::vector<std::string>(const TextPart&)>& expand);

}  // namespace seedbed
