#include "study/reader_error.h"

#include <algorithm>

#include "base/text.h"

namespace seedbed {

namespace {

constexpr std::size_t kShownBytes = 96;  // of a long line, around the place
constexpr std::size_t kListed = 20;      // more candidates do not fit a message
constexpr std::size_t kFirst = 12;       // then only so many

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !continues_character(c); }));
}

// Moves an offset to the start of the character it is in.
std::size_t character_start(std::string_view text, std::size_t offset) {
  while (offset > 0 && offset < text.size() && continues_character(text[offset])) --offset;
  return offset;
}

// The line and a caret below the place; of a long line only the surroundings.
std::string show(std::string_view line, std::size_t offset) {
  std::size_t first = offset > kShownBytes / 2 ? offset - kShownBytes / 2 : 0;
  if (line.size() <= kShownBytes) first = 0;
  first = character_start(line, first);
  const std::size_t last = character_start(line, std::min(line.size(), first + kShownBytes));
  const std::string lead = first > 0 ? "…" : "";
  const std::string before = lead + one_line(line.substr(first, offset - first));
  const std::string after = one_line(line.substr(offset, last - offset));
  const std::string tail = last < line.size() ? "…" : "";
  return "    " + before + after + tail + "\n    " + std::string(display_width(before), ' ') + "^";
}

}  // namespace

SourceText::SourceText(std::string name, std::string text)
    : name_(std::move(name)), text_(std::move(text)), line_starts_{0} {
  if (text_.starts_with("\xEF\xBB\xBF")) text_.erase(0, 3);  // a byte order mark is no content
  for (std::size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') line_starts_.push_back(i + 1);
  }
}

SourceText SourceText::word(int index, std::string text) {
  SourceText source("word " + std::to_string(index), std::move(text));
  source.word_index_ = index;
  source.line_starts_ = {0};  // a newline inside a word is no new line of a file
  return source;
}

std::size_t SourceText::line_number(std::size_t offset) const {
  const auto next = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  return static_cast<std::size_t>(next - line_starts_.begin());
}

SourceText::Place SourceText::place(std::size_t offset) const {
  offset = std::min(offset, text_.size());
  const std::size_t line = line_number(offset);
  const std::size_t start = line_starts_[line - 1];
  return {line, characters(std::string_view(text_).substr(start, offset - start)) + 1};
}

std::string SourceText::place_text(std::size_t offset) const {
  const Place at = place(offset);
  if (word_index_ > 0) return name_ + ", column " + std::to_string(at.column);
  return name_ + ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
}

Error SourceText::error(std::size_t offset, const std::string& message,
                        const std::string& remedy) const {
  offset = character_start(text_, std::min(offset, text_.size()));
  std::size_t line = line_number(offset);
  // The end of the text is shown at the end of its last line, not on an empty one.
  if (offset == text_.size() && line > 1 && line_starts_[line - 1] == offset) {
    --line;
    offset = line_starts_[line] - 1;
  }
  const std::size_t start = line_starts_[line - 1];
  std::size_t end = line < line_starts_.size() ? line_starts_[line] - 1 : text_.size();
  if (end > start && text_[end - 1] == '\r') --end;
  offset = std::min(offset, end);
  std::string text = place_text(offset) + ": " + message;
  if (!remedy.empty()) text += "; " + remedy;
  text += "\n" + show(std::string_view(text_).substr(start, end - start), offset - start);
  return Error{ErrorCode::usage, text};
}

std::string suggest(std::string_view word, const std::vector<std::string>& candidates) {
  if (const auto near = nearest(word, candidates)) return "did you mean `" + *near + "`?";
  if (candidates.empty()) return {};
  if (candidates.size() <= kListed) return "known: " + join(candidates, ", ");
  const std::vector<std::string> first(candidates.begin(), candidates.begin() + kFirst);
  return "known: " + join(first, ", ") + " and " + std::to_string(candidates.size() - kFirst) +
         " more";
}

std::string in_ticks(std::string_view text) { return "`" + one_line(text, 60) + "`"; }

}  // namespace seedbed
