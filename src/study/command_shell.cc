#include <string>
#include <utility>

#include "study/command_text.h"

namespace seedbed {
namespace {

// Follows bash's quoting over the literal parts of a script, as far as it decides how a value must
// be quoted where it stands. Values are only ever positional parameters, so a misjudged place can
// split or decorate one; where bash would evaluate it as arithmetic, it is refused.
class QuoteTracker {
 public:
  enum class State {
    unquoted,
    single_quote,
    double_quote,
    ansi_quote,
    arithmetic,          // ((…)) and $((…))
    bracket_arithmetic,  // $[…]
    expansion,           // ${…}, where offsets and subscripts are arithmetic
    subscript,           // name[…]
    conditional,         // [[ … ]]
    backtick
  };

  [[nodiscard]] State state() const { return stack_.back().state; }
  // What surrounds this place and makes code of values; nullptr: nothing does.
  [[nodiscard]] const char* evaluated_by() const {
    for (const Level& level : stack_) {
      if (level.state == State::arithmetic) return "((…))";
      if (level.state == State::bracket_arithmetic) return "$[…]";
      if (level.state == State::expansion) return "${…}";
      if (level.state == State::subscript) return "the […] of an array";
    }
    return nullptr;
  }
  // The value that a `[[…]]` compares as a number, which evaluates it; empty: none.
  [[nodiscard]] const std::string& compared() const { return compared_; }
  [[nodiscard]] bool after_here_document() const { return here_document_; }

  void feed(std::string_view text) {
    std::size_t i = 0;
    for (; i < text.size(); ++i) i += step(text, i);
    after_backslash_ = i > text.size();  // the last step reached beyond the text
  }
  [[nodiscard]] bool after_backslash() const { return after_backslash_; }
  // A value stands here: what follows is not the start of a word.
  void value(const std::string& name) {
    word_start_ = false;
    name_ = false;
    after_backslash_ = false;
    for (Level& level : stack_) level.value = name;
  }

 private:
  struct Level {
    State state = State::unquoted;
    int parentheses = 0;     // open ones of this level
    int brackets = 0;        // and open `[`
    bool in_double = false;  // an expansion within double quotes: there `'` is itself
    bool compares = false;   // numbers, in a conditional: bash evaluates both sides
    std::string value = {};  // the last of ours within
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

  // `$(`, `$((`, `$[`, `${` and backticks, which count inside double quotes too.
  std::size_t substitution(std::string_view text, std::size_t i) {
    if (text.substr(i, 3) == "$((") {
      stack_.push_back({State::arithmetic, 2});
      return 2;
    }
    if (text.substr(i, 2) == "$[") {
      stack_.push_back({State::bracket_arithmetic});
      return 1;
    }
    if (text.substr(i, 2) == "${") {
      stack_.push_back({State::expansion, 0, 0, state() == State::double_quote});
      return 1;
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
        stack_.push_back({State::backtick});
        word_start_ = true;
      }
    }
    return 0;
  }

  std::size_t unquoted(std::string_view text, std::size_t i, char c, char next) {
    const bool start =
        std::exchange(word_start_, std::string_view(" \t\n;|&(").find(c) != std::string_view::npos);
    const bool named = std::exchange(name_, false);
    if (comment_) {
      comment_ = c != '\n';
      return 0;
    }
    if (c == '#' && start) {
      comment_ = true;
      return 0;
    }
    if (c == '\\') return 1;
    if (closes_bracket(c)) return 0;
    if (start && conditional(text.substr(i))) return 1;
    const bool digit = c >= '0' && c <= '9';
    name_ = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (named && digit);
    name_ = name_ && (start || named);
    if (c == '[' && named) {
      stack_.push_back({State::subscript});
    } else if (c == '[') {
      ++stack_.back().brackets;
    } else if (c == '\'' && !stack_.back().in_double) {
      stack_.push_back({State::single_quote});
    } else if (c == '"') {
      stack_.push_back({State::double_quote});
    } else if (c == '$' && next == '\'' && !stack_.back().in_double) {
      stack_.push_back({State::ansi_quote});
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

  // The end of `$[`, `${` or `name[`. A `[` that is none of these ends with its line.
  bool closes_bracket(char c) {
    const State now = state();
    if (c == ']' && stack_.back().brackets > 0) {
      --stack_.back().brackets;
      return true;
    }
    const bool end = (now == State::expansion && c == '}') ||
                     (now == State::bracket_arithmetic && c == ']') ||
                     (now == State::subscript && (c == ']' || c == '\n' || c == ';'));
    if (end) stack_.pop_back();
    return end;
  }

  // The words `[[` and `]]`, two characters; notes comparisons between them.
  bool conditional(std::string_view rest) {
    if (rest.starts_with("[[")) {
      stack_.push_back({State::conditional});
      return true;
    }
    if (state() != State::conditional) return false;
    for (const char* word : {"-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v"}) {
      if (rest.starts_with(word)) stack_.back().compares = true;
    }
    if (!rest.starts_with("]]")) return false;
    if (stack_.back().compares && compared_.empty()) compared_ = stack_.back().value;
    stack_.pop_back();
    return true;
  }

  void close() {
    Level& level = stack_.back();
    if (level.parentheses == 0 || --level.parentheses > 0 || stack_.size() == 1) return;
    if (level.state == State::unquoted || level.state == State::arithmetic) stack_.pop_back();
  }

  std::vector<Level> stack_ = {Level()};
  bool word_start_ = true;
  bool name_ = false;  // the word so far is a name: a `[` behind it is a subscript
  bool comment_ = false;
  bool here_document_ = false;
  bool after_backslash_ = false;
  std::string compared_;
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

tl::unexpected<Error> evaluated(const std::string& value, const char* place) {
  return fail(ErrorCode::usage, "{" + value + "} stands inside " + place +
                                    ", where bash would evaluate the value as code; compute it in "
                                    "the program, or list the computed values");
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
    if (const char* place = tracker.evaluated_by()) return evaluated(part.text, place);
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
    tracker.value(part.text);
  }
  if (!tracker.compared().empty()) {
    return evaluated(tracker.compared(), "[[…]] with -eq, -lt and the like");
  }
  return script;
}

}  // namespace seedbed
