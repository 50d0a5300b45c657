#include <string>
#include <utility>

#include "study/command_text.h"

namespace seedbed {
namespace {

// Follows bash's quoting over the literal parts of a script, as far as it decides how a value must
// be quoted where it stands. A misjudged place can split or decorate a value but never make code of
// it: values are only ever positional parameters.
class QuoteTracker {
 public:
  enum class State { unquoted, single_quote, double_quote, ansi_quote, arithmetic, backtick };

  [[nodiscard]] State state() const { return stack_.back().state; }
  [[nodiscard]] bool in_arithmetic() const {
    for (const Level& level : stack_) {
      if (level.state == State::arithmetic) return true;
    }
    return false;
  }
  [[nodiscard]] bool after_here_document() const { return here_document_; }

  void feed(std::string_view text) {
    std::size_t i = 0;
    for (; i < text.size(); ++i) i += step(text, i);
    after_backslash_ = i > text.size();  // the last step reached beyond the text
  }
  [[nodiscard]] bool after_backslash() const { return after_backslash_; }
  // A value stands here: what follows is not the start of a word.
  void value() {
    word_start_ = false;
    after_backslash_ = false;
  }

 private:
  struct Level {
    State state = State::unquoted;
    int parentheses = 0;  // open ones of this level
  };

  // Handles the character at i; the number of further characters consumed.
  std::size_t step(std::string_view text, std::size_t i) {
    const char c = text[i];
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    switch (state()) {
      case State::single_quote:
        if (c == '\'') stack_.pop_back();
        return 0;
      case State::ansi_quote:
        if (c == '\\') return 1;
        if (c == '\'') stack_.pop_back();
        return 0;
      case State::double_quote:
        if (c == '\\') return 1;
        if (c == '"') {
          stack_.pop_back();
          return 0;
        }
        return substitution(text, i);
      default:
        return unquoted(text, i, c, next);
    }
  }

  // `$(`, `$((` and backticks, which count inside double quotes too.
  std::size_t substitution(std::string_view text, std::size_t i) {
    if (text.substr(i, 3) == "$((") {
      stack_.push_back({State::arithmetic, 2});
      return 2;
    }
    if (text.substr(i, 2) == "$(") {
      stack_.push_back({State::unquoted, 1});
      word_start_ = true;
      return 1;
    }
    if (text[i] == '`') {
      if (state() == State::backtick) {
        stack_.pop_back();
      } else {
        stack_.push_back({State::backtick, 0});
        word_start_ = true;
      }
    }
    return 0;
  }

  std::size_t unquoted(std::string_view text, std::size_t i, char c, char next) {
    const bool start =
        std::exchange(word_start_, std::string_view(" \t\n;|&(").find(c) != std::string_view::npos);
    if (comment_) {
      comment_ = c != '\n';
      return 0;
    }
    if (c == '#' && start) {
      comment_ = true;
      return 0;
    }
    if (c == '\\') return 1;
    if (c == '\'') {
      stack_.push_back({State::single_quote, 0});
    } else if (c == '"') {
      stack_.push_back({State::double_quote, 0});
    } else if (c == '$' && next == '\'') {
      stack_.push_back({State::ansi_quote, 0});
      return 1;
    } else if (c == '(' && next == '(' && start && state() != State::arithmetic) {
      stack_.push_back({State::arithmetic, 2});
      return 1;
    } else if (c == '(') {
      ++stack_.back().parentheses;
    } else if (c == ')') {
      close();
    } else if (text.substr(i, 3) == "<<<") {
      return 2;
    } else if (text.substr(i, 2) == "<<" && state() != State::arithmetic) {
      here_document_ = true;
      return 1;
    } else {
      return substitution(text, i);
    }
    return 0;
  }

  void close() {
    Level& level = stack_.back();
    if (level.parentheses > 0) --level.parentheses;
    if (level.parentheses == 0 && stack_.size() > 1 && level.state != State::backtick) {
      stack_.pop_back();
    }
  }

  std::vector<Level> stack_ = {Level()};
  bool word_start_ = true;
  bool comment_ = false;
  bool here_document_ = false;
  bool after_backslash_ = false;
};

std::string quoted_parameter(std::size_t number, QuoteTracker::State state) {
  const std::string parameter = "${" + std::to_string(number) + "}";
  switch (state) {
    case QuoteTracker::State::double_quote:
      return parameter;
    case QuoteTracker::State::single_quote:
      return "'\"" + parameter + "\"'";
    case QuoteTracker::State::ansi_quote:
      return "'\"" + parameter + "\"$'";
    default:
      return "\"" + parameter + "\"";
  }
}

}  // namespace

Result<Script> quote_script(
    const std::vector<TextPart>& parts,
    const std::function<std::vector<std::string>(const TextPart&)>& expand) {
  Script script;
  QuoteTracker tracker;
  for (const TextPart& part : parts) {
    if (part.kind == TextPart::Kind::literal) {
      tracker.feed(part.text);
      script.text += part.text;
      continue;
    }
    if (tracker.in_arithmetic()) {
      return fail(ErrorCode::usage,
                  "{" + part.text +
                      "} stands inside ((…)), where bash would evaluate the value as "
                      "code; compute it in the program, or list the computed values");
    }
    if (tracker.after_here_document()) {
      return fail(ErrorCode::usage, "{" + part.text +
                                        "} stands after a here-document (<<), where it cannot be "
                                        "quoted safely; use printf, or `template:` with {config}");
    }
    if (tracker.after_backslash()) {
      return fail(ErrorCode::usage, "a backslash stands right before {" + part.text +
                                        "}, which would undo its quoting; remove it");
    }
    const std::vector<std::string> values = expand(part);
    for (std::size_t i = 0; i < values.size(); ++i) {
      script.values.push_back(values[i]);
      if (i > 0) script.text += ' ';
      script.text += quoted_parameter(script.values.size(), tracker.state());
    }
    tracker.value();
  }
  return script;
}

}  // namespace seedbed
