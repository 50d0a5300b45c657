#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/row.h"

namespace seedbed {

/// Reads one JSON object or printed Python dict at the start of a text, and the numbers in it as
/// cells named by their dotted path. Beyond JSON it takes NaN and the infinities in every spelling,
/// single quotes, True/False/None, tuples, a comma before the closing brace, and values wrapped as
/// `tensor(0.5, ...)` or `np.float64(0.5)`. Booleans are 0 and 1; strings are left out unless they
/// spell NaN or an infinity; null and lists are left out.
///
/// Not a general JSON library, because those refuse NaN, which is the most important value here.
class ObjectScanner {
 public:
  /// The length of the object, or 0 when the text does not begin with a complete one (then `row` is
  /// as before). Linear in the length; nesting deeper than 32 is refused.
  std::size_t scan(std::string_view text, Rule rule, Row& row);

  /// Dotted names of the strings in the last object.
  [[nodiscard]] const std::vector<std::string>& text_names() const { return text_names_; }

 private:
  bool object(int depth);
  bool value(int depth);
  bool list(int depth);
  bool number_or_word(int depth);
  bool wrapped(int depth);
  bool string(std::string_view& raw, bool& escaped);
  bool key();
  void blanks();
  void add(double number);
  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  std::string_view text_;
  std::size_t at_ = 0;
  Rule rule_ = Rule::object;
  Row* row_ = nullptr;
  std::string path_;
  std::vector<std::string> text_names_;
};

}  // namespace seedbed
