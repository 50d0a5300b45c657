#include "study/command.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "study/command_args.h"
#include "study/command_text.h"

namespace seedbed {
namespace {

constexpr std::size_t kArgumentLimit = 128 * 1024 - 1;  // MAX_ARG_STRLEN less the closing NUL

std::string with_commas(std::size_t number) {
  std::string text = std::to_string(number);
  for (std::size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, ",");
  return text;
}

bool has_macro(const std::vector<TextPart>& word, Macro macro) {
  return std::any_of(word.begin(), word.end(), [&](const TextPart& part) {
    return part.kind == TextPart::Kind::macro && part.macro == macro;
  });
}

// A script in which ${args} at the end would go to the last of several commands.
bool several_commands(const std::string& script) {
  return script.find_first_of("|;&<>\n`#") != std::string::npos ||
         script.find("$(") != std::string::npos;
}

bool is_bare_option(const std::vector<TextPart>& word) {
  return word.size() == 1 && word[0].kind == TextPart::Kind::literal && word[0].text.size() > 1 &&
         word[0].text[0] == '-' && word[0].text != "--" &&
         word[0].text.find('=') == std::string::npos;
}

}  // namespace

struct CommandTemplate::Parts {
  std::vector<std::vector<TextPart>> words;  // one, the script, with `shell: true`
  std::set<std::string, std::less<>> used;   // parameters with a placeholder of their own
  bool macro = false;                        // any but envvar
  bool args_macro = false;                   // one that carries all parameters
  bool program = false;
  bool config = false;
  bool arguments_file = false;

  [[nodiscard]] Status add(const std::string& word, const Space& space, bool shell);
  void append_args(std::vector<std::string>& texts, bool shell);
  [[nodiscard]] Status check_reached(const Options& options, const Space& space) const;
  void use_interpreter(bool shell);
};

Status CommandTemplate::Parts::add(const std::string& word, const Space& space, bool shell) {
  Result<std::vector<TextPart>> apart =
      take_apart(word, space.names(), shell ? MacroUse::anywhere : MacroUse::whole, true);
  if (!apart) return propagate(apart);
  for (const TextPart& part : *apart) {
    if (part.kind == TextPart::Kind::parameter) used.insert(part.text);
    if (part.kind == TextPart::Kind::builtin && part.text == "config") config = true;
    if (part.kind == TextPart::Kind::macro) {
      macro = true;
      args_macro = args_macro || is_args_macro(part.macro);
    }
  }
  program = program || has_macro(*apart, Macro::program);
  arguments_file = arguments_file || has_macro(*apart, Macro::args_json_file);
  words.push_back(std::move(*apart));
  return {};
}

void CommandTemplate::Parts::append_args(std::vector<std::string>& texts, bool shell) {
  const TextPart args = {TextPart::Kind::macro, "args", Macro::args};
  args_macro = true;
  if (shell) {
    texts[0] += " ${args}";
    words[0].push_back({TextPart::Kind::literal, " ", Macro::env});
    words[0].push_back(args);
  } else {
    texts.emplace_back("${args}");
    words.push_back({args});
  }
}

Status CommandTemplate::Parts::check_reached(const Options& options, const Space& space) const {
  if (args_macro || options.params_by_file) return {};
  const std::vector<std::string>& passed = options.passed_elsewhere;
  for (const std::string& name : space.varying()) {
    if (used.count(name) != 0) continue;
    if (std::find(passed.begin(), passed.end(), name) != passed.end()) continue;
    return fail(ErrorCode::usage, "parameter `" + one_line(name, 60) +
                                      "` varies, but reaches the program in no way; put {" + name +
                                      "} or \"${args}\" into the command, or write `params: file` "
                                      "if the program reads $SEEDBED_PARAMS");
  }
  return {};
}

// A leading `python`, also after ${env}, may be python3 where there is no `python`.
void CommandTemplate::Parts::use_interpreter(bool shell) {
  const TextPart interpreter = {TextPart::Kind::macro, "interpreter", Macro::interpreter};
  std::size_t head = 0;
  while (!shell && head < words.size() && has_macro(words[head], Macro::env)) ++head;
  if (head == words.size() || words[head].empty()) return;
  std::vector<TextPart>& word = words[head];
  if (word[0].kind != TextPart::Kind::literal) return;
  if (!shell && word.size() == 1 && word[0].text == "python") {
    word = {interpreter};
  } else if (shell && word[0].text.starts_with("python ")) {
    word[0].text.erase(0, 6);
    word.insert(word.begin(), interpreter);
  }
}

Result<CommandTemplate> CommandTemplate::build(std::vector<std::string> words, std::string program,
                                               Options options, const Space& space) {
  if (words.empty() && !program.empty()) {
    words = {"${env}", "${interpreter}", "${program}", "${args}"};
    options.shell = false;
  }
  if (words.empty() || trim(words[0]).empty()) {
    return fail(ErrorCode::usage,
                "there is no command to run; write it after `--`, or as `command:` or `program:`");
  }
  if (options.shell && words.size() > 1) words = {join(words, " ")};

  Parts parts;
  for (const std::string& word : words) {
    if (Status status = parts.add(word, space, options.shell); !status) return propagate(status);
  }
  if (parts.program && program.empty()) {
    return fail(ErrorCode::usage,
                "the command uses ${program}, but no `program:` is given; add it");
  }
  const bool by_other_ways = parts.macro || !parts.used.empty() || parts.config ||
                             options.params_by_file || !options.append_args;
  if (!by_other_ways && !(options.shell && several_commands(words[0]))) {
    parts.append_args(words, options.shell);
  }
  if (Status status = parts.check_reached(options, space); !status) return propagate(status);
  parts.use_interpreter(options.shell);
  if (options.shell) {
    // Places where no value can stand show now, not at the first trial.
    const Result<Script> script = quote_script(
        parts.words[0], [](const TextPart&) { return std::vector<std::string>(1, "x"); });
    if (!script) return propagate(script);
  }

  CommandTemplate result;
  for (const SpaceBranch& branch : space.branches()) {
    for (const Dimension& dimension : branch.dimensions) {
      if (dimension.flag == FlagStyle::python) continue;
      result.flags_.emplace(dimension.name, dimension.flag);
    }
  }
  result.words_ = std::move(words);
  result.program_ = std::move(program);
  result.options_ = std::move(options);
  result.parts_ = std::make_shared<const Parts>(std::move(parts));
  return result;
}

namespace {

// Not there and absent are the same to the program.
const Value* present(const Point& point, std::string_view name) {
  const Value* value = point.find(name);
  return value == nullptr || value->is_absent() ? nullptr : value;
}

constexpr std::string_view kByFile =
    "; pass it by file: `params: file`, without naming it in the command, and the program reads "
    "$SEEDBED_PARAMS";

using Guilty = std::function<bool(const std::string&)>;

bool holds_nul(const std::string& value) { return value.find('\0') != std::string::npos; }
bool is_long(const std::string& value) { return value.size() > kArgumentLimit / 2; }

// The parameter whose value makes a word what it must not be; empty: none.
std::string owner_of(const std::string& word, const Point& point, const Guilty& guilty) {
  for (const Parameter& parameter : point.parameters) {
    const std::string& value = parameter.value.spelling();
    if (guilty(value) && word.find(value) != std::string::npos) return parameter.name;
  }
  return "";
}

std::string argument_words(const std::string& word, std::size_t index, const Point& point,
                           const Guilty& guilty) {
  const std::string owner = owner_of(word, point, guilty);
  return owner.empty() ? "word " + std::to_string(index + 1) + " of the command"
                       : "the argument of parameter `" + owner + "`";
}

std::string longest_parameter(const Point& point) {
  const auto longest = std::max_element(
      point.parameters.begin(), point.parameters.end(), [](const Parameter& a, const Parameter& b) {
        return a.value.spelling().size() < b.value.spelling().size();
      });
  if (longest == point.parameters.end()) return "";
  return " (the longest is parameter `" + longest->name + "`)";
}

// Checks what the kernel would refuse with an unhelpful E2BIG, or cut at a NUL byte.
Status check_limits(const std::vector<std::string>& words, const Point& point,
                    std::size_t total_limit) {
  std::size_t total = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    total += words[i].size() + 1 + sizeof(char*);
    if (holds_nul(words[i])) {
      std::string message = argument_words(words[i], i, point, holds_nul);
      message.append(" holds a NUL byte, which no argument can carry").append(kByFile);
      return fail(ErrorCode::usage, std::move(message));
    }
    if (words[i].size() <= kArgumentLimit) continue;
    std::string message = argument_words(words[i], i, point, is_long);
    message.append(" has ").append(with_commas(words[i].size()));
    message.append(" bytes, and Linux allows ").append(with_commas(kArgumentLimit));
    message.append(" for one argument").append(kByFile);
    return fail(ErrorCode::usage, std::move(message));
  }
  if (total <= total_limit) return {};
  std::string message = "the arguments have " + with_commas(total);
  message.append(" bytes together, and Linux allows ").append(with_commas(total_limit));
  message.append(" here").append(longest_parameter(point)).append(kByFile);
  return fail(ErrorCode::usage, std::move(message));
}

}  // namespace

std::vector<std::string> CommandTemplate::expand(const TextPart& part, const Point& point,
                                                 const CommandContext& context) const {
  switch (part.kind) {
    case TextPart::Kind::literal:
      return {part.text};
    case TextPart::Kind::parameter: {
      const Value* value = present(point, part.text);
      if (value == nullptr) return {};
      return {value_text({part.text, *value}, flags_, options_.bool_style)};
    }
    case TextPart::Kind::builtin:
      return {builtin_value(part.text, context)};
    case TextPart::Kind::envvar:
      return {environment_value(part.text, context)};
    case TextPart::Kind::macro:
      break;
  }
  switch (part.macro) {
    case Macro::env:
      return {"/usr/bin/env"};
    case Macro::interpreter:
      return {context.python.empty() ? "python" : context.python};
    case Macro::program:
      return {program_};
    case Macro::args_json_file:
      return {context.params_file};
    default:
      return expand_args(part.macro, point, flags_, options_.bool_style);
  }
}

Result<std::vector<std::string>> CommandTemplate::render(const Point& point,
                                                         const CommandContext& context) const {
  SEEDBED_CHECK(parts_ != nullptr);
  std::vector<std::string> words;
  if (options_.shell) {
    Result<Script> script = quote_script(
        parts_->words[0], [&](const TextPart& part) { return expand(part, point, context); });
    if (!script) return propagate(script);
    words = {"bash", "-o", "pipefail", "-c", script->text, "bash"};
    words.insert(words.end(), script->values.begin(), script->values.end());
  }
  for (std::size_t i = 0; !options_.shell && i < parts_->words.size(); ++i) {
    const std::vector<TextPart>& word = parts_->words[i];
    const bool alone = word.size() == 1;
    const bool after_equals =
        word.size() == 2 && word[0].kind == TextPart::Kind::literal && word[0].text.ends_with('=');
    if ((alone || after_equals) && word.back().kind == TextPart::Kind::parameter &&
        present(point, word.back().text) == nullptr) {
      // The option goes with its value.
      if (alone && i > 0 && is_bare_option(parts_->words[i - 1])) words.pop_back();
      continue;
    }
    if (alone && word[0].kind == TextPart::Kind::macro) {
      const std::vector<std::string> several = expand(word[0], point, context);
      words.insert(words.end(), several.begin(), several.end());
      continue;
    }
    std::string text;
    for (const TextPart& part : word) text += join(expand(part, point, context), " ");
    words.push_back(std::move(text));
  }
  if (Status status = check_limits(words, point, context.argument_bytes); !status) {
    return propagate(status);
  }
  return words;
}

Status CommandTemplate::check_variable(const std::string& name, const std::string& value,
                                       const Point& point) {
  const std::size_t size = name.size() + 1 + value.size();
  const bool nul = holds_nul(value);
  if (!nul && size <= kArgumentLimit) return {};
  const std::string owner = owner_of(value, point, nul ? holds_nul : is_long);
  std::string message = "env: " + name;
  if (!owner.empty()) message.append(", with parameter `").append(owner).append("` in it,");
  if (nul) {
    message.append(" holds a NUL byte, which no variable can carry");
  } else {
    message.append(" has ").append(with_commas(size)).append(" bytes, and Linux allows ");
    message.append(with_commas(kArgumentLimit)).append(" for one variable");
  }
  message.append("; the program finds every parameter in the file $SEEDBED_PARAMS");
  return fail(ErrorCode::usage, std::move(message));
}

Result<std::string> CommandTemplate::fill(std::string_view text, const Point& point,
                                          const CommandContext& context, const Space* space) const {
  std::vector<std::string> names;
  if (space != nullptr) {
    names = space->names();
  } else {
    for (const Parameter& parameter : point.parameters) names.push_back(parameter.name);
  }
  const Result<std::vector<TextPart>> parts = take_apart(text, names, MacroUse::none, false);
  if (!parts) return propagate(parts);
  std::string result;
  for (const TextPart& part : *parts) {
    if (part.kind == TextPart::Kind::builtin) {
      result += builtin_value(part.text, context);
    } else if (part.kind == TextPart::Kind::literal) {
      result += part.text;
    } else if (const Value* value = point.find(part.text)) {
      result += value_text({part.text, *value}, flags_, options_.bool_style);
    }
  }
  return result;
}

Result<std::vector<std::string>> CommandTemplate::parameters_in(std::string_view text,
                                                                const Space& space) {
  const Result<std::vector<TextPart>> parts = take_apart(text, space.names(), MacroUse::none, true);
  if (!parts) return propagate(parts);
  std::vector<std::string> names;
  for (const TextPart& part : *parts) {
    if (part.kind == TextPart::Kind::parameter) names.push_back(part.text);
  }
  return names;
}

std::string CommandTemplate::identity() const {
  static constexpr const char* kStyles[] = {"python", "lower", "zero_one"};
  nlohmann::ordered_json json;
  json["words"] = words_;
  if (parts_ != nullptr && parts_->program) json["program"] = program_;
  json["shell"] = options_.shell;
  json["params_by_file"] = options_.params_by_file;
  json["booleans"] = kStyles[static_cast<int>(options_.bool_style)];
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

bool CommandTemplate::uses_config_file() const { return parts_ != nullptr && parts_->config; }

bool CommandTemplate::uses_arguments_file() const {
  return parts_ != nullptr && parts_->arguments_file;
}

}  // namespace seedbed
