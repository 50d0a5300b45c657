#include "study/word_reader.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "study/reader_context.h"
#include "study/readers.h"
#include "study/value_json.h"
#include "study/word_numbers.h"

namespace seedbed {

namespace {

bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name_part(char c) { return is_name_start(c) || (c >= '0' && c <= '9'); }
bool is_space(char c) { return c == ' ' || c == '\t'; }

// One parse of one spec. Positions are bytes of the whole word.
class SpecParser {
 public:
  SpecParser(const SourceText& source, std::size_t offset)
      : source_(source), text_(source.text()), at_(offset) {}

  Result<WordTerm> parse() {
    const std::size_t start = at_;
    skip_space();
    if (at_ == text_.size()) return plain_term(start, Value::from_text(""));
    std::vector<WordTerm> terms;
    for (;;) {
      Result<WordTerm> term = element();
      if (!term) return term;
      terms.push_back(std::move(*term));
      skip_space();
      if (at_ == text_.size()) break;
      if (text_[at_] != ',') return unexpected();
      ++at_;
      skip_space();
      if (at_ == text_.size()) {
        return error(at_, "a value is missing after the comma", "write '' for an empty text");
      }
    }
    if (terms.size() == 1) return span_of_integers(std::move(terms[0]));
    return choice_of(start, std::move(terms));
  }

 private:
  tl::unexpected<Error> error(std::size_t offset, const std::string& message,
                              const std::string& remedy = {}) const {
    return tl::unexpected(source_.error(offset, message, remedy));
  }
  tl::unexpected<Error> unexpected() const {
    std::size_t length = 1;  // of the whole character
    while (at_ + length < text_.size() && (text_[at_ + length] & 0xC0) == 0x80) ++length;
    return error(at_, "unexpected `" + std::string(text_.substr(at_, length)) + "`",
                 "put the value in quotes to mean the text, or a \\ before the character");
  }
  static WordTerm plain_term(std::size_t offset, Value value) {
    WordTerm term;
    term.offset = offset;
    term.value = std::move(value);
    return term;
  }

  [[nodiscard]] bool at(char c) const { return at_ < text_.size() && text_[at_] == c; }
  void skip_space() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }

  // `1..8`, both ends included; anything else stays as it is.
  Result<WordTerm> span_of_integers(WordTerm term) {
    const std::string& text = term.value.spelling();
    const std::size_t dots = text.find("..");
    if (term.kind != WordTerm::Kind::value || quoted_ || dots == std::string::npos) return term;
    const Value first = Value::from_plain(std::string_view(text).substr(0, dots));
    const Value last = Value::from_plain(std::string_view(text).substr(dots + 2));
    if (first.is_number() && !last.is_number()) {
      const std::string_view end = std::string_view(text).substr(dots + 2);
      const std::size_t colon = end.find(':');
      if (colon != std::string_view::npos && Value::from_plain(end.substr(0, colon)).is_number()) {
        return error(term.offset, "`..` takes no step",
                     "write range(start,stop,step) or linspace(a,b,n)");
      }
      if (const std::size_t second = end.find(".."); second != std::string_view::npos) {
        const auto stop = Value::from_plain(end.substr(0, second)).exact_integer();
        const std::string_view step = end.substr(second + 2);
        if (stop && *stop < 1'000'000'000 && Value::from_plain(step).is_number()) {
          return error(term.offset, "`..` takes no step",
                       "write range(" + first.spelling() + "," + std::to_string(*stop + 1) + "," +
                           std::string(step) + "), whose stop is excluded");
        }
      }
    }
    if (!first.is_number() || !last.is_number()) return term;
    if (first.kind() != ValueKind::integer || last.kind() != ValueKind::integer) {
      return error(term.offset, "`..` joins integers",
                   "write interval(a,b), linspace(a,b,n) or range(start,stop,step)");
    }
    Result<Distribution> span = integer_span(first, last);
    if (!span) return error(term.offset, span.error().message);
    term.kind = WordTerm::Kind::distribution;
    term.distribution = *span;
    return term;
  }

  Result<WordTerm> choice_of(std::size_t offset, std::vector<WordTerm> terms) {
    WordTerm choice;
    choice.kind = WordTerm::Kind::choice;
    choice.offset = offset;
    for (WordTerm& term : terms) {
      if (term.kind != WordTerm::Kind::value) {
        return error(term.offset, "a range or choice inside a list of values",
                     "list the values, or give the range alone");
      }
      choice.values.push_back(std::move(term.value));
    }
    return choice;
  }

  Result<WordTerm> element() {
    skip_space();
    const std::size_t start = at_;
    if (depth_ >= kMaxNesting && (at('[') || at('{') || function_follows())) {
      return error(at_, "a value nested deeper than " + std::to_string(kMaxNesting) + " levels",
                   "keep it in a file, and let the parameter be the file's name");
    }
    ++depth_;
    Result<WordTerm> term = WordTerm{};
    if (at('"') || at('\'')) {
      Result<std::string> text = quoted_text();
      if (!text) return propagate(text);
      quoted_ = true;
      term = plain_term(start, Value::from_text(*text));
    } else if (at('[')) {
      term = list();
    } else if (at('{')) {
      term = map();
    } else if (function_follows()) {
      term = function();
    } else {
      term = bare();
    }
    --depth_;
    return term;
  }

  // A run of backslashes before the quote counts in pairs; elsewhere a backslash is itself.
  Result<std::string> quoted_text() {
    const std::size_t start = at_;
    const char quote = text_[at_++];
    std::string out;
    while (at_ < text_.size() && text_[at_] != quote) {
      std::size_t run = at_;
      while (run < text_.size() && text_[run] == '\\') ++run;
      const std::size_t slashes = run - at_;
      if (slashes == 0) {
        out += text_[at_++];
      } else if (run < text_.size() && text_[run] == quote) {
        out.append(slashes / 2, '\\');
        at_ = run;
        if (slashes % 2 == 1) {
          out += quote;
          ++at_;
        }
      } else {
        out.append(slashes, '\\');
        at_ = run;
      }
    }
    if (at_ == text_.size()) {
      return error(start, "the quote is not closed",
                   "put a \\ before a quote that belongs to the value");
    }
    ++at_;
    return out;
  }

  [[nodiscard]] bool function_follows() const {
    std::size_t i = at_;
    if (i >= text_.size() || !is_name_start(text_[i])) return false;
    while (i < text_.size() && is_name_part(text_[i])) ++i;
    return i < text_.size() && text_[i] == '(';
  }

  // Up to a character that has a meaning here. Outer spaces do not belong to the value.
  Result<WordTerm> bare() {
    const std::size_t start = at_;
    std::string out;
    std::size_t kept = 0;  // length without trailing spaces
    bool escaped = false;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\\' && at_ + 1 < text_.size() &&
          std::string_view("\\()[]{}:=, \t").find(text_[at_ + 1]) != std::string_view::npos) {
        out += text_[at_ + 1];
        at_ += 2;
        kept = out.size();
        escaped = true;
        continue;
      }
      if (c == '$' && at_ + 1 < text_.size() && text_[at_ + 1] == '{') {
        const std::size_t end = text_.find('}', at_);
        if (end == std::string_view::npos) return error(at_, "`${` is not closed");
        out.append(text_.substr(at_, end + 1 - at_));
        at_ = end + 1;
        kept = out.size();
        continue;
      }
      if (std::string_view(",()[]{}").find(c) != std::string_view::npos) break;
      if (c == ':' && in_map_key_) break;
      out += c;
      ++at_;
      if (!is_space(c)) kept = out.size();
    }
    out.resize(kept);
    if (at_ == start || (kept == 0 && !escaped)) {
      if (at_ == text_.size() || at(',') || at(')') || at(']') || at('}')) {
        return error(at_, "a value is missing here", "write '' for an empty text");
      }
      return unexpected();
    }
    if (at_ < text_.size() && std::string_view("([{").find(text_[at_]) != std::string_view::npos) {
      return unexpected();
    }
    return plain_term(start, escaped ? Value::from_text(out) : Value::from_plain(out));
  }

  // Inside a list or map: a value, not a choice.
  Result<Value> nested_value() {
    Result<WordTerm> term = element();
    if (!term) return propagate(term);
    if (term->kind != WordTerm::Kind::value || term->value.is_absent()) {
      return error(term->offset, "a range, choice or absent() inside a value",
                   "a list in [ ] is one value; write choice(a,b) around whole values");
    }
    return term->value;
  }

  Result<WordTerm> list() {
    const std::size_t start = at_++;
    std::vector<std::string> items;
    const bool outer = std::exchange(in_map_key_, false);
    skip_space();
    while (!at(']')) {
      Result<Value> value = nested_value();
      if (!value) return propagate(value);
      items.push_back(json_value(*value));
      if (Status next = comma_or(']', start); !next) return propagate(next);
    }
    in_map_key_ = outer;
    ++at_;
    return plain_term(start, structure(start, json_array(items)));
  }

  Result<WordTerm> map() {
    const std::size_t start = at_++;
    std::map<std::string, std::string> entries;
    const bool outer = in_map_key_;
    skip_space();
    while (!at('}')) {
      const std::size_t key_offset = at_;
      in_map_key_ = true;
      Result<Value> key = nested_value();
      if (!key) return propagate(key);
      in_map_key_ = false;
      skip_space();
      if (!at(':')) return error(at_, "a `:` is missing after the key", "write {key: value}");
      ++at_;
      Result<Value> value = nested_value();
      if (!value) return propagate(value);
      if (key->spelling().size() > kMaxKeyBytes) {
        return error(key_offset, "a key longer than " + std::to_string(kMaxKeyBytes) + " bytes",
                     "keep the map in a file of its own");
      }
      if (!entries.emplace(key->spelling(), json_value(*value)).second) {
        return error(key_offset, "key " + in_ticks(key->spelling()) + " is written twice");
      }
      if (Status next = comma_or('}', start); !next) return propagate(next);
    }
    in_map_key_ = outer;
    ++at_;
    return plain_term(start, structure(start, json_object(entries)));
  }

  [[nodiscard]] Value structure(std::size_t start, std::string json) const {
    return Value::structure(std::string(text_.substr(start, at_ - start)), std::move(json));
  }

  // After an element of a bracket: a comma and another element, or the end.
  Status comma_or(char end, std::size_t start) {
    skip_space();
    if (at(',')) {
      ++at_;
      skip_space();
      if (at(end)) return error(at_, "a value is missing after the comma");
      return {};
    }
    if (at(end)) return {};
    if (at_ == text_.size()) {
      return error(start, std::string("a `") + end + "` is missing for the one that opens here",
                   "put the value in quotes to mean the text");
    }
    return unexpected();
  }

  Result<WordTerm> function();
  Result<WordArgument> argument();
  Result<WordTerm> call(const WordFunction& function, std::size_t offset,
                        std::vector<WordArgument> arguments);

  const SourceText& source_;
  std::string_view text_;
  std::size_t at_;
  int depth_ = 0;  // lists, maps and calls around what is being read
  bool in_map_key_ = false;
  bool quoted_ = false;  // a quote was seen: `'1..8'` is a text
};

Result<WordArgument> SpecParser::argument() {
  WordArgument argument;
  skip_space();
  std::size_t i = at_;
  while (i < text_.size() && is_name_part(text_[i])) ++i;
  if (i > at_ && i < text_.size() && text_[i] == '=') {
    argument.name = std::string(text_.substr(at_, i - at_));
    argument.name_offset = at_;
    at_ = i + 1;
  }
  Result<WordTerm> term = element();
  if (!term) return propagate(term);
  argument.term = std::move(*term);
  return argument;
}

Result<WordTerm> SpecParser::function() {
  const std::size_t start = at_;
  const std::size_t open = text_.find('(', at_);
  const std::string name(text_.substr(start, open - start));
  const WordFunction* found = nullptr;
  std::vector<std::string> names;
  for (const WordFunction& known : word_functions()) {
    names.emplace_back(known.name);
    if (known.name == name) found = &known;
  }
  if (found == nullptr) {
    return error(start, "unknown function " + in_ticks(name),
                 suggest(name, names) + "; quote the value to mean the text");
  }
  if (found->call == nullptr) {
    return error(start, "`" + name + "` is not available", std::string(found->usage));
  }
  at_ = open + 1;
  const bool outer = std::exchange(in_map_key_, false);
  std::vector<WordArgument> arguments;
  skip_space();
  while (!at(')')) {
    Result<WordArgument> next = argument();
    if (!next) return propagate(next);
    arguments.push_back(std::move(*next));
    if (Status more = comma_or(')', open); !more) return propagate(more);
  }
  ++at_;
  in_map_key_ = outer;
  return call(*found, start, std::move(arguments));
}

Result<WordTerm> SpecParser::call(const WordFunction& function, std::size_t offset,
                                  std::vector<WordArgument> arguments) {
  std::vector<std::string> names;
  for (std::string_view name : split(function.parameters, ' ')) {
    if (!name.empty()) names.emplace_back(name);
  }
  const bool any_number = !names.empty() && names.back().ends_with("…");
  if (any_number) names.pop_back();
  std::size_t first = 0;  // those before can only be given by name
  for (; first < names.size() && names[first].ends_with('='); ++first) names[first].pop_back();
  std::vector<std::optional<WordTerm>> placed(names.size());
  std::size_t position = first;
  for (WordArgument& argument : arguments) {
    std::size_t index = position;
    if (!argument.name.empty()) {
      const auto named = std::find(names.begin(), names.end(), argument.name);
      if (named == names.end()) {
        return error(
            argument.name_offset,
            "`" + std::string(function.name) + "` has no argument " + in_ticks(argument.name),
            "write " + std::string(function.usage));
      }
      index = static_cast<std::size_t>(named - names.begin());
    } else {
      ++position;
    }
    if (index >= placed.size()) {
      if (!any_number) {
        return error(argument.term.offset,
                     "too many arguments for `" + std::string(function.name) + "`",
                     "write " + std::string(function.usage));
      }
      placed.resize(index + 1);
    }
    if (placed[index]) {
      return error(argument.term.offset, "argument " + in_ticks(names[index]) + " is given twice");
    }
    placed[index] = std::move(argument.term);
  }
  for (std::size_t i = first; i < first + function.least; ++i) {
    if (i >= placed.size() || !placed[i]) {
      return error(offset, "too few arguments for `" + std::string(function.name) + "`",
                   "write " + std::string(function.usage));
    }
  }
  return function.call(source_, offset, placed);
}

}  // namespace

Result<WordTerm> read_word_spec(const SourceText& source, std::size_t offset) {
  return SpecParser(source, offset).parse();
}

Result<Dimension> read_word(std::string_view word, int word_index) {
  const SourceText source = SourceText::word(word_index, std::string(word));
  word = source.text();  // a byte order mark is off
  if (!is_valid_utf8(word)) {
    return tl::unexpected(source.error(0, "the word is not valid UTF-8"));
  }
  if (const std::size_t zero = word.find('\0'); zero != std::string_view::npos) {
    return tl::unexpected(source.error(zero, "a NUL byte cannot be passed to a program"));
  }
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) {
    return tl::unexpected(source.error(0, in_ticks(word) + " is not NAME=SPEC",
                                       "write lr=0.1,0.01; the command comes after `--`"));
  }
  if (word.starts_with('~')) {
    return tl::unexpected(source.error(0, "a parameter cannot be deleted here",
                                       "write NAME=absent() to leave the option out"));
  }
  std::size_t start = 0;  // Hydra's + and ++ (add) mean nothing more than a name here
  while (start < 2 && start < equals && word[start] == '+') ++start;
  const std::string_view name = trim(word.substr(start, equals - start));
  if (const auto problem = name_problem(name)) {
    return tl::unexpected(source.error(start, *problem, "write NAME=SPEC"));
  }
  Result<WordTerm> term = read_word_spec(source, equals + 1);
  if (!term) return propagate(term);
  Dimension dimension;
  dimension.name = std::string(name);
  switch (term->kind) {
    case WordTerm::Kind::value:
      dimension.values = {std::move(term->value)};
      break;
    case WordTerm::Kind::choice:
      dimension.values = std::move(term->values);
      break;
    case WordTerm::Kind::distribution:
      if (Status valid = term->distribution.validate(); !valid) {
        return tl::unexpected(
            source.error(term->offset, "`" + dimension.name + "`: " + valid.error().message));
      }
      dimension.distribution = term->distribution;
      break;
  }
  return dimension;
}

}  // namespace seedbed
