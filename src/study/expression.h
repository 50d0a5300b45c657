#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "study/value.h"

namespace seedbed {

/// The small language of `where:`, `when:`, `--where`: numbers, strings, names (backquoted when
/// odd), arithmetic (+ - * / // % **), comparison, `in (…)`, `not in`, and/or/not, parentheses,
/// `true false none`. No calls, no attributes, no eval.
class Expression {
 public:
  /// Gives the value of a name, or nullptr when there is none by that name.
  using Lookup = std::function<const Value*(std::string_view name)>;

  /// Errors carry the column (from 1), the text with a caret under the place, and a remedy.
  /// Nesting deeper than 100 is refused.
  [[nodiscard]] static Result<Expression> parse(std::string_view text);

  Expression(Expression&&) noexcept;
  Expression& operator=(Expression&&) noexcept;
  Expression(const Expression&);
  Expression& operator=(const Expression&);
  ~Expression();

  /// Whether the expression holds. A comparison with an absent or unknown-at-this-point value is
  /// false; arithmetic on text, division by zero and a result that is not a truth value are errors
  /// that name the value. Lookup returning nullptr = absent.
  [[nodiscard]] Result<bool> holds(const Lookup& lookup) const;

  /// The names used, each once, in order of appearance.
  [[nodiscard]] const std::vector<std::string>& names() const;
  [[nodiscard]] const std::string& text() const;

 private:
  struct Node;
  struct Parser;
  explicit Expression(std::shared_ptr<const Node> root, std::string text,
                      std::vector<std::string> names);

  std::shared_ptr<const Node> root_;  // immutable, so copies may share it
  std::string text_;
  std::vector<std::string> names_;
};

}  // namespace seedbed
