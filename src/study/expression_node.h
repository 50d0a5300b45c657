#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "study/expression.h"

// The tree behind an Expression; only expression.cc and expression_eval.cc look inside.

namespace seedbed {

namespace expression_detail {

enum class Operator {
  add,
  subtract,
  multiply,
  divide,
  floor_divide,
  modulo,
  power,
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  not_equal,
};

struct Operand;

/// `column 5: MESSAGE`, the text, a caret under byte `at`.
[[nodiscard]] std::string pointed(std::string_view text, std::size_t at, std::string_view message);

}  // namespace expression_detail

struct Expression::Node {
  using Operand = expression_detail::Operand;
  using Operator = expression_detail::Operator;
  enum class Type { literal, name, arithmetic, negate, compare, in_list, logical_not, all, any };

  Type type = Type::literal;
  std::size_t at = 0;                                       // byte offset, for carets
  Value value;                                              // literal
  std::string name;                                         // name
  std::vector<std::shared_ptr<const Node>> children;        // operands, in order
  std::vector<std::pair<Operator, std::size_t>> operators;  // between children, with offsets
  bool negated = false;                                     // in_list: `not in`

  struct Context {
    const Lookup& lookup;
    std::string_view text;
  };

  [[nodiscard]] Result<Operand> evaluate(const Context& context) const;
  [[nodiscard]] Result<Operand> truth_of(const Context& context) const;

 private:
  [[nodiscard]] tl::unexpected<Error> error(const Context& context, std::size_t place,
                                            const std::string& message) const;
  [[nodiscard]] std::string sentence(const Operand& operand) const;  // `opt` is the text 'adam'
  [[nodiscard]] Result<Operand> arithmetic(const Context& context) const;
  [[nodiscard]] Result<Operand> comparison(const Context& context) const;
  [[nodiscard]] Result<Operand> membership(const Context& context) const;
  [[nodiscard]] Result<Operand> combine(const Context& context, Operator op, std::size_t place,
                                        const Operand& a, const Operand& b) const;
};

}  // namespace seedbed
