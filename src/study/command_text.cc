#include "study/command_text.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace seedbed {
namespace {

constexpr std::pair<std::string_view, Macro> kMacros[] = {
    {"env", Macro::env},
    {"interpreter", Macro::interpreter},
    {"program", Macro::program},
    {"args", Macro::args},
    {"args_no_equals", Macro::args_no_equals},
    {"args_no_hyphens", Macro::args_no_hyphens},
    {"args_no_boolean_flags", Macro::args_no_boolean_flags},
    {"args_json", Macro::args_json},
    {"args_json_file", Macro::args_json_file},
    {"args_append_hydra", Macro::args_append_hydra},
    {"args_override_hydra", Macro::args_override_hydra},
};

using Builtin = std::pair<std::string_view, std::string CommandContext::*>;
constexpr Builtin kBuiltins[] = {
    {"trial", &CommandContext::trial},         {"attempt", &CommandContext::attempt},
    {"trial_dir", &CommandContext::trial_dir}, {"study_dir", &CommandContext::study_dir},
    {"slot", &CommandContext::slot},           {"gpu", &CommandContext::gpu},
    {"gpu_uuid", &CommandContext::gpu_uuid},   {"gpu_index", &CommandContext::gpu_index},
    {"port", &CommandContext::port},           {"config", &CommandContext::config},
};

bool is_builtin(std::string_view name) {
  return std::any_of(std::begin(kBuiltins), std::end(kBuiltins),
                     [&](const Builtin& builtin) { return builtin.first == name; });
}

bool looks_like_name(std::string_view text) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !text.empty() && letter(text[0]) && std::all_of(text.begin(), text.end(), [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '-';
  });
}

// Takes one text apart, left to right.
class Apart {
 public:
  Apart(std::string_view text, const std::vector<std::string>& parameters, MacroUse macros,
        bool strict)
      : text_(text), parameters_(parameters), macros_(macros), strict_(strict) {}

  Result<std::vector<TextPart>> run() {
    while (at_ < text_.size()) {
      Status status;
      if (text_[at_] == '$' && macros_ != MacroUse::none && next() == '{') {
        status = dollar();
      } else if (text_[at_] == '{') {
        status = brace();
      } else {
        literal(1);
      }
      if (!status) return propagate(status);
    }
    return std::move(parts_);
  }

 private:
  [[nodiscard]] char next() const { return at_ + 1 < text_.size() ? text_[at_ + 1] : '\0'; }

  void literal(std::size_t length) {
    if (parts_.empty() || parts_.back().kind != TextPart::Kind::literal) parts_.emplace_back();
    parts_.back().text += text_.substr(at_, length);
    at_ += length;
  }

  void add(TextPart::Kind kind, std::string_view name, std::size_t length) {
    TextPart part;
    part.kind = kind;
    part.text = std::string(name);
    parts_.push_back(std::move(part));
    at_ += length;
  }

  [[nodiscard]] bool is_parameter(std::string_view name) const {
    return std::find(parameters_.begin(), parameters_.end(), name) != parameters_.end();
  }

  // The text between braces that open at `open`, or nothing when they do not close or nest.
  [[nodiscard]] std::optional<std::string_view> inside(std::size_t open) const {
    const std::size_t end = text_.find_first_of("{}", open + 1);
    if (end == std::string_view::npos || text_[end] != '}') return std::nullopt;
    return text_.substr(open + 1, end - open - 1);
  }

  [[nodiscard]] tl::unexpected<Error> wrong(const std::string& message) const {
    return fail(ErrorCode::usage, "command word `" + one_line(text_, 80) + "`, column " +
                                      std::to_string(at_ + 1) + ": " + message);
  }

  // `${…}` that is the whole word, or all behind its `=`. Inside of other words it is left to a
  // shell that the command may name.
  [[nodiscard]] bool stands_alone(std::size_t length) const {
    return at_ + length == text_.size() && (at_ == 0 || text_[at_ - 1] == '=') &&
           text_.find_first_of(" \t\n;") == std::string_view::npos;
  }

  // `${{name}}` is the text `${name}` wherever that would mean something or be refused.
  bool kept_dollar() {
    if (macros_ != MacroUse::whole || at_ + 2 >= text_.size() || text_[at_ + 2] != '{')
      return false;
    const std::optional<std::string_view> name = inside(at_ + 2);
    if (!name) return false;
    const std::size_t length = name->size() + 5;
    if (at_ + length > text_.size() || text_[at_ + length - 1] != '}') return false;
    if (!name->starts_with("envvar:") && !macro_of(*name) && !is_parameter(*name) &&
        !(looks_like_name(*name) && stands_alone(length))) {
      return false;
    }
    literal(2);
    ++at_;
    literal(name->size() + 1);
    ++at_;
    return true;
  }

  [[nodiscard]] tl::unexpected<Error> no_macro(std::string_view name) const {
    std::string message = "there is no macro ${" + std::string(name) + "}";
    const auto near = nearest(name, macro_names());
    if (near) {
      message += "; did you mean ${" + *near + "}?";
    } else {
      message += "; known: ${" + join(macro_names(), "} ${") + "} ${envvar:NAME};";
    }
    const bool variable =
        std::none_of(name.begin(), name.end(), [](char c) { return c >= 'a' && c <= 'z'; });
    if (variable) message += " for the variable write ${envvar:" + std::string(name) + "},";
    return wrong(message + (macros_ == MacroUse::anywhere
                                ? " for a variable of the shell $" + std::string(name)
                                : " for the text itself ${{" + std::string(name) + "}}"));
  }

  // `${…}`: a macro, or text that is none of our business.
  Status dollar() {
    if (kept_dollar()) return {};
    const std::optional<std::string_view> name = inside(at_ + 1);
    if (!name) {
      literal(2);
      return {};
    }
    const std::size_t length = name->size() + 3;
    if (name->starts_with("envvar:")) {
      add(TextPart::Kind::envvar, name->substr(7), length);
      return {};
    }
    if (const std::optional<Macro> macro = macro_of(*name)) {
      if (macros_ == MacroUse::whole && length != text_.size()) {
        return wrong("the macro ${" + std::string(*name) +
                     "} must be a word of its own; split this word in two");
      }
      add(TextPart::Kind::macro, *name, length);
      parts_.back().macro = *macro;
      return {};
    }
    if (strict_ && (is_parameter(*name) || name->starts_with("param."))) {
      return wrong("placeholders are written without the dollar: {" + std::string(*name) + "}");
    }
    if (strict_ && looks_like_name(*name)) {
      const bool slip = name->find('_') != name->npos && nearest(*name, macro_names());
      if (slip || (macros_ == MacroUse::whole && stands_alone(length))) return no_macro(*name);
    }
    literal(length);
    return {};
  }

  // What `{name}` means; nothing when it means nothing.
  Result<std::optional<TextPart::Kind>> meaning(std::string_view name) const {
    using Answer = std::optional<TextPart::Kind>;
    const bool parameter = is_parameter(name);
    if (is_builtin(name)) {
      if (parameter) {
        return wrong("{" + std::string(name) +
                     "} is a built-in and also a parameter; write {param." + std::string(name) +
                     "} for the parameter, or rename it");
      }
      return Answer(TextPart::Kind::builtin);
    }
    if (parameter) return Answer(TextPart::Kind::parameter);
    if (name.starts_with("param.") && is_parameter(name.substr(6))) {
      return Answer(TextPart::Kind::parameter);
    }
    if (!strict_ || !looks_like_name(name)) return Answer();
    const bool prefixed = name.starts_with("param.");
    std::vector<std::string> candidates = parameters_;
    if (!prefixed) {
      for (const Builtin& builtin : kBuiltins) candidates.emplace_back(builtin.first);
    }
    const auto near = nearest(prefixed ? name.substr(6) : name, candidates);
    if (!near && !prefixed) return Answer();
    return wrong("there is no parameter {" + std::string(name) + "}" +
                 (near ? "; did you mean {" + *near + "}?" : "") + " To keep the text, write {{" +
                 std::string(name) + "}}");
  }

  Status brace() {
    // `{{name}}` is the text `{name}` wherever `{name}` would mean something or be refused.
    if (next() == '{') {
      const std::optional<std::string_view> name = inside(at_ + 1);
      const std::size_t end = name ? at_ + name->size() + 3 : 0;
      if (name && end < text_.size() && text_[end] == '}') {
        const Result<std::optional<TextPart::Kind>> kind = meaning(*name);
        if (!kind || *kind) {
          ++at_;
          literal(name->size() + 2);
          ++at_;
        } else {
          literal(name->size() + 4);
        }
        return {};
      }
      literal(1);
      return {};
    }
    const std::optional<std::string_view> name = inside(at_);
    if (!name) {
      literal(1);
      return {};
    }
    const Result<std::optional<TextPart::Kind>> kind = meaning(*name);
    if (!kind) return propagate(kind);
    const std::size_t length = name->size() + 2;
    if (!*kind) {
      literal(length);
      return {};
    }
    const bool prefixed = **kind == TextPart::Kind::parameter && !is_parameter(*name);
    add(**kind, prefixed ? name->substr(6) : *name, length);
    return {};
  }

  std::string_view text_;
  const std::vector<std::string>& parameters_;
  MacroUse macros_;
  bool strict_;
  std::size_t at_ = 0;
  std::vector<TextPart> parts_;
};

}  // namespace

std::optional<Macro> macro_of(std::string_view name) {
  for (const auto& [text, macro] : kMacros) {
    if (text == name) return macro;
  }
  return std::nullopt;
}

bool is_args_macro(Macro macro) { return macro >= Macro::args; }

const std::vector<std::string>& macro_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto& [text, macro] : kMacros) all.emplace_back(text);
    return all;
  }();
  return names;
}

Result<std::vector<TextPart>> take_apart(std::string_view text,
                                         const std::vector<std::string>& parameters,
                                         MacroUse macros, bool strict) {
  return Apart(text, parameters, macros, strict).run();
}

const std::string& builtin_value(std::string_view name, const CommandContext& context) {
  for (const auto& [text, member] : kBuiltins) {
    if (text == name) return context.*member;
  }
  SEEDBED_CHECK(is_builtin(name));
  return context.trial;
}

std::string environment_value(const std::string& name, const CommandContext& context) {
  if (context.environment) {
    if (std::optional<std::string> value = context.environment(name)) return *value;
  }
  return name;
}

}  // namespace seedbed
