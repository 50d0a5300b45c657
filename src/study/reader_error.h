#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace seedbed {

/// A text that is being read, kept so that each error can name and show its place.
class SourceText {
 public:
  /// A file; places read `name:line:column`.
  SourceText(std::string name, std::string text);
  /// A word of the command line (index from 1); places read `word 2, column 7`.
  [[nodiscard]] static SourceText word(int index, std::string text);

  struct Place {
    std::size_t line = 1;    ///< from 1
    std::size_t column = 1;  ///< from 1, in characters
  };

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] Place place(std::size_t offset) const;
  [[nodiscard]] std::string place_text(std::size_t offset) const;

  /// `PLACE: MESSAGE; REMEDY`, then the line concerned with a caret under the place.
  [[nodiscard]] Error error(std::size_t offset, const std::string& message,
                            const std::string& remedy = {}) const;

 private:
  [[nodiscard]] std::size_t line_number(std::size_t offset) const;

  std::string name_;
  std::string text_;
  std::vector<std::size_t> line_starts_;
  int word_index_ = 0;
};

/// "did you mean `x`?" when one candidate is near, else "known: a, b, c", the first of them when
/// they are too many.
[[nodiscard]] std::string suggest(std::string_view word,
                                  const std::vector<std::string>& candidates);

/// `` `text` `` on one line, cut to a length that fits a message.
[[nodiscard]] std::string in_ticks(std::string_view text);

}  // namespace seedbed
