#include "metrics/object_scan.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/text.h"
#include "metrics/number.h"
#include "metrics/step_names.h"

namespace seedbed {
namespace {

constexpr int kDeepest = 32;
constexpr std::size_t kLongestName = 256;
constexpr std::size_t kMostTextNames = 8;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}

void append_utf8(std::string& out, unsigned code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | (code >> 18));
    out += static_cast<char>(0x80 | ((code >> 12) & 0x3f));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

std::optional<unsigned> hex4(std::string_view text) {
  unsigned code = 0;
  if (text.size() < 4) return std::nullopt;
  const auto read = std::from_chars(text.data(), text.data() + 4, code, 16);
  if (read.ec != std::errc() || read.ptr != text.data() + 4) return std::nullopt;
  return code;
}

/// The text of a string with escapes; what is no escape stands as it is.
std::string unescape(std::string_view raw) {
  std::string out;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\' || i + 1 == raw.size()) {
      out += raw[i];
      continue;
    }
    const char c = raw[++i];
    if (c == 'u') {
      std::optional<unsigned> code = hex4(raw.substr(i + 1));
      if (code) {
        i += 4;
        const bool high = *code >= 0xd800 && *code < 0xdc00 && raw.substr(i + 1, 2) == "\\u";
        const std::optional<unsigned> low = high ? hex4(raw.substr(i + 3)) : std::nullopt;
        if (low && *low >= 0xdc00 && *low < 0xe000) {
          code = 0x10000 + ((*code - 0xd800) << 10) + (*low - 0xdc00);
          i += 6;
        }
        append_utf8(out, *code);
        continue;
      }
    }
    switch (c) {
      case 'n':
        out += '\n';
        break;
      case 't':
        out += '\t';
        break;
      case 'r':
        out += '\r';
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace

std::size_t ObjectScanner::scan(std::string_view text, Rule rule, Row& row) {
  text_ = text;
  at_ = 0;
  rule_ = rule;
  row_ = &row;
  path_.clear();
  text_names_.clear();
  const std::size_t before = row.size();
  if (peek() == '{' && object(0)) return at_;
  row.shrink(before);
  return 0;
}

void ObjectScanner::blanks() {
  while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
}

bool ObjectScanner::object(int depth) {
  if (depth > kDeepest) return false;
  ++at_;  // {
  const std::size_t outer = path_.size();
  while (true) {
    blanks();
    if (peek() == '}') {
      ++at_;
      return true;
    }
    if (outer != 0) path_ += '.';
    if (!key()) return false;
    blanks();
    if (peek() != ':') return false;
    ++at_;
    blanks();
    if (!value(depth)) return false;
    path_.resize(outer);
    blanks();
    if (peek() == ',') {
      ++at_;
    } else if (peek() != '}') {
      return false;
    }
  }
}

/// Appends a key to the path. Python's dicts may have keys that are no strings: 1, (1, 2), None.
bool ObjectScanner::key() {
  const char c = peek();
  if (c == '"' || c == '\'') {
    std::string_view raw;
    bool escaped = false;
    if (!string(raw, escaped)) return false;
    if (escaped) {
      path_ += unescape(raw);
    } else {
      path_ += raw;
    }
    return true;
  }
  const std::size_t start = at_;
  while (is_word(peek()) || peek() == '-') ++at_;
  path_ += text_.substr(start, at_ - start);
  return at_ > start;
}

bool ObjectScanner::string(std::string_view& raw, bool& escaped) {
  const char quote = peek();
  const std::size_t start = ++at_;
  while (at_ < text_.size() && text_[at_] != quote) {
    if (text_[at_] == '\\') {
      escaped = true;
      ++at_;
    }
    ++at_;
  }
  if (at_ >= text_.size()) return false;
  raw = text_.substr(start, at_ - start);
  ++at_;
  return true;
}

bool ObjectScanner::value(int depth) {
  switch (peek()) {
    case '{':
      return object(depth + 1);
    case '[':
    case '(':
      return list(depth + 1);
    case '"':
    case '\'': {
      std::string_view raw;
      bool escaped = false;
      if (!string(raw, escaped)) return false;
      const std::optional<double> number = whole_number(raw);
      if (number && !std::isfinite(*number)) {
        add(*number);
      } else if (text_names_.size() < kMostTextNames) {
        text_names_.push_back(to_valid_utf8(path_));
      }
      return true;
    }
    case '<': {  // <NllLossBackward0 object at 0x7f>
      const std::size_t close = text_.find('>', at_);
      if (close == std::string_view::npos) return false;
      at_ = close + 1;
      return true;
    }
    default:
      return number_or_word(depth);
  }
}

/// A list, a tuple, or the arguments of a wrapper: passed over.
bool ObjectScanner::list(int depth) {
  if (depth > kDeepest) return false;
  const char close = peek() == '[' ? ']' : ')';
  ++at_;
  const std::size_t cells = row_->size();
  const std::size_t names = text_names_.size();
  while (true) {
    blanks();
    if (peek() == close) {
      ++at_;
      row_->shrink(cells);
      text_names_.resize(names);
      return true;
    }
    if (!value(depth)) return false;
    blanks();
    if (peek() == '=') {  // device='cuda:0'
      ++at_;
      if (!value(depth)) return false;
      blanks();
    }
    if (peek() == ',') {
      ++at_;
    } else if (peek() != close) {
      return false;
    }
  }
}

bool ObjectScanner::number_or_word(int depth) {
  const std::string_view rest = text_.substr(at_);
  const std::optional<NumberPrefix> number = number_prefix(rest);
  if (number && (number->length == rest.size() || !is_word(rest[number->length]))) {
    at_ += number->length;
    add(number->value);
    return true;
  }
  const std::size_t start = at_;
  while (is_word(peek())) ++at_;
  const std::string_view word = text_.substr(start, at_ - start);
  if (word.empty() || (word[0] >= '0' && word[0] <= '9')) return false;
  if (peek() == '(') return wrapped(depth);
  if (word == "true" || word == "True") add(1);
  if (word == "false" || word == "False") add(0);
  return true;  // null, None and other bare words are no numbers
}

/// `tensor(0.5, device='cuda:0')`: the number if that is the first thing inside.
bool ObjectScanner::wrapped(int depth) {
  std::size_t inside = at_ + 1;
  while (inside < text_.size() && is_blank(text_[inside])) ++inside;
  const std::string_view rest = text_.substr(inside);
  const std::optional<NumberPrefix> number = number_prefix(rest);
  if (!list(depth + 1)) return false;
  if (number && number->length < rest.size() &&
      (rest[number->length] == ')' || rest[number->length] == ',')) {
    add(number->value);
  }
  return true;
}

void ObjectScanner::add(double number) {
  if (path_.empty() || path_.size() > kLongestName) return;
  const bool ascii =
      std::all_of(path_.begin(), path_.end(), [](char c) { return (c & 0x80) == 0; });
  if (ascii || is_valid_utf8(path_)) {
    row_->add(path_, number, rule_, step_rank(path_));
  } else {
    row_->add(to_valid_utf8(path_), number, rule_, 0);
  }
}

}  // namespace seedbed
