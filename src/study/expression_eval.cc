#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "study/expression_node.h"

namespace seedbed {

namespace expression_detail {

// What a (sub)expression is at one point. `text` points into a Value that outlives it.
struct Operand {
  ValueKind kind = ValueKind::absent;
  bool truth = false;
  std::int64_t integer = 0;
  double real = 0;
  std::string_view text;

  [[nodiscard]] bool is_number() const {
    return kind == ValueKind::integer || kind == ValueKind::real;
  }
  [[nodiscard]] double number() const {
    return kind == ValueKind::integer ? static_cast<double>(integer) : real;
  }
  static Operand boolean(bool value) {
    Operand operand;
    operand.kind = ValueKind::boolean;
    operand.truth = value;
    return operand;
  }
  static Operand of_integer(std::int64_t value) {
    Operand operand;
    operand.kind = ValueKind::integer;
    operand.integer = value;
    return operand;
  }
  static Operand of_real(double value) {
    Operand operand;
    operand.kind = ValueKind::real;
    operand.real = value;
    return operand;
  }
  static Operand of(const Value& value) {
    Operand operand;
    operand.kind = value.kind();
    switch (value.kind()) {
      case ValueKind::boolean:
        operand.truth = *value.number() != 0;
        break;
      case ValueKind::integer:
        if (const auto exact = value.exact_integer()) {
          operand.integer = *exact;
        } else {
          return of_real(*value.number());
        }
        break;
      case ValueKind::real:
        operand.real = *value.number();
        break;
      case ValueKind::text:
        operand.text = value.spelling();
        break;
      case ValueKind::structure:
        operand.text = value.canonical_json();
        break;
      case ValueKind::absent:
      case ValueKind::null:
        break;
    }
    return operand;
  }
};

}  // namespace expression_detail

using expression_detail::Operand;
using expression_detail::Operator;
using expression_detail::pointed;

namespace {

constexpr std::size_t kShownBefore = 60;
constexpr std::size_t kShownAfter = 40;

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !is_continuation(c); }));
}

std::string describe(const Operand& operand) {
  switch (operand.kind) {
    case ValueKind::absent:
      return "absent";
    case ValueKind::null:
      return "none";
    case ValueKind::boolean:
      return operand.truth ? "the boolean true" : "the boolean false";
    case ValueKind::integer:
      return "the number " + std::to_string(operand.integer);
    case ValueKind::real:
      return "the number " + format_number(operand.real);
    case ValueKind::text:
      return "the text '" + one_line(operand.text, 40) + "'";
    case ValueKind::structure:
      return "the structure " + one_line(operand.text, 40);
  }
  return "absent";
}

// Sign of i - d, exact also where a double cannot hold i. d is finite.
int compare_exact(std::int64_t i, double d) {
  constexpr double kTwo63 = 9223372036854775808.0;
  if (d >= kTwo63) return -1;
  if (d < -kTwo63) return 1;
  const double whole = std::trunc(d);
  const auto j = static_cast<std::int64_t>(whole);
  if (i != j) return i < j ? -1 : 1;
  if (d == whole) return 0;
  return d > whole ? -1 : 1;
}

int compare_numbers(const Operand& a, const Operand& b) {
  if (a.kind == ValueKind::integer && b.kind == ValueKind::integer) {
    return a.integer < b.integer ? -1 : a.integer > b.integer ? 1 : 0;
  }
  if (a.kind == ValueKind::integer) return compare_exact(a.integer, b.real);
  if (b.kind == ValueKind::integer) return -compare_exact(b.integer, a.real);
  return a.real < b.real ? -1 : a.real > b.real ? 1 : 0;
}

// Equality between present operands of any kinds; different kinds are never equal.
bool equal_operands(const Operand& a, const Operand& b) {
  if (a.is_number() && b.is_number()) return compare_numbers(a, b) == 0;
  if (a.kind != b.kind) return false;
  if (a.kind == ValueKind::boolean) return a.truth == b.truth;
  return a.text == b.text;
}

bool order_holds(Operator op, int order) {
  switch (op) {
    case Operator::less:
      return order < 0;
    case Operator::less_equal:
      return order <= 0;
    case Operator::greater:
      return order > 0;
    default:
      return order >= 0;
  }
}

// a to the power of a non-negative b, exact, or nothing when it does not fit.
std::optional<std::int64_t> integer_power(std::int64_t a, std::int64_t b) {
  std::int64_t result = 1;
  if (a == 0 || a == 1) return b == 0 ? 1 : a;
  if (a == -1) return b % 2 == 0 ? 1 : -1;
  if (b > 63) return std::nullopt;
  for (std::int64_t i = 0; i < b; ++i) {
    if (__builtin_mul_overflow(result, a, &result)) return std::nullopt;
  }
  return result;
}

// Exact integer arithmetic; nothing when the result does not fit or is no integer. b != 0 for
// divisions.
std::optional<std::int64_t> integer_arithmetic(Operator op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  bool overflow = false;
  switch (op) {
    case Operator::add:
      overflow = __builtin_add_overflow(a, b, &result);
      break;
    case Operator::subtract:
      overflow = __builtin_sub_overflow(a, b, &result);
      break;
    case Operator::multiply:
      overflow = __builtin_mul_overflow(a, b, &result);
      break;
    case Operator::floor_divide:
      if (b == -1) {
        overflow = __builtin_sub_overflow(std::int64_t{0}, a, &result);
      } else {
        result = a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
      }
      break;
    case Operator::modulo:
      result = b == -1 ? 0 : a % b;
      if (result != 0 && (result < 0) != (b < 0)) result += b;
      break;
    case Operator::power:
      return b < 0 ? std::nullopt : integer_power(a, b);
    default:
      return std::nullopt;
  }
  if (overflow) return std::nullopt;
  return result;
}

double real_arithmetic(Operator op, double a, double b) {
  switch (op) {
    case Operator::add:
      return a + b;
    case Operator::subtract:
      return a - b;
    case Operator::multiply:
      return a * b;
    case Operator::divide:
      return a / b;
    case Operator::floor_divide:
      return std::floor(a / b);
    case Operator::modulo: {
      const double rest = std::fmod(a, b);
      return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    }
    default:
      return std::pow(a, b);
  }
}

bool is_division(Operator op) {
  return op == Operator::divide || op == Operator::floor_divide || op == Operator::modulo;
}

}  // namespace

std::string expression_detail::pointed(std::string_view text, std::size_t at,
                                       std::string_view message) {
  at = std::min(at, text.size());
  std::size_t from = at > kShownBefore ? at - kShownBefore : 0;
  while (from < at && is_continuation(text[from])) ++from;
  std::size_t to = std::min(text.size(), at + kShownAfter);
  while (to < text.size() && is_continuation(text[to])) ++to;
  const auto flat = [](std::string_view part) {
    std::string line = to_valid_utf8(part);
    for (char& c : line) {
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
    }
    return line;
  };
  const std::string before = (from > 0 ? "…" : "") + flat(text.substr(from, at - from));
  const std::string after = flat(text.substr(at, to - at)) + (to < text.size() ? "…" : "");
  std::string result = "column " + std::to_string(characters(text.substr(0, at)) + 1) + ": ";
  result += message;
  result += "\n  " + before + after + "\n  " + std::string(display_width(before), ' ') + "^";
  return result;
}

tl::unexpected<Error> Expression::Node::error(const Context& context, std::size_t place,
                                              const std::string& message) const {
  return fail(ErrorCode::usage, pointed(context.text, place, message));
}

std::string Expression::Node::sentence(const Operand& operand) const {
  return (type == Type::name ? "`" + name + "` is " : "this is ") + describe(operand);
}

Result<Operand> Expression::Node::evaluate(const Context& context) const {
  switch (type) {
    case Type::literal:
      return Operand::of(value);
    case Type::name: {
      const Value* found = context.lookup(name);
      return found == nullptr ? Operand() : Operand::of(*found);
    }
    case Type::arithmetic:
      return arithmetic(context);
    case Type::negate: {
      Result<Operand> operand = children[0]->evaluate(context);
      if (!operand || operand->kind == ValueKind::absent) return operand;
      if (!operand->is_number()) {
        return error(context, children[0]->at,
                     children[0]->sentence(*operand) + ", and arithmetic needs numbers");
      }
      return combine(context, Operator::subtract, at, Operand::of_integer(0), *operand);
    }
    case Type::compare:
      return comparison(context);
    case Type::in_list:
      return membership(context);
    case Type::logical_not: {
      Result<Operand> operand = children[0]->truth_of(context);
      if (!operand) return operand;
      return Operand::boolean(!operand->truth);
    }
    case Type::all:
    case Type::any: {
      const bool decisive = type == Type::any;
      for (const auto& child : children) {
        Result<Operand> operand = child->truth_of(context);
        if (!operand) return operand;
        if (operand->truth == decisive) return Operand::boolean(decisive);
      }
      return Operand::boolean(!decisive);
    }
  }
  return Operand();
}

Result<Operand> Expression::Node::truth_of(const Context& context) const {
  Result<Operand> operand = evaluate(context);
  if (!operand || operand->kind == ValueKind::boolean) return operand;
  if (operand->kind == ValueKind::absent) return Operand::boolean(false);
  return error(context, at,
               sentence(*operand) + ", not true or false; compare it with something (`==`, `<`)");
}

Result<Operand> Expression::Node::arithmetic(const Context& context) const {
  Result<Operand> left = children[0]->evaluate(context);
  if (!left) return left;
  bool known = left->kind != ValueKind::absent;
  const auto check = [&](const Node& node, const Operand& operand) -> Status {
    if (operand.is_number() || operand.kind == ValueKind::absent) return {};
    return error(context, node.at, node.sentence(operand) + ", and arithmetic needs numbers");
  };
  if (Status status = check(*children[0], *left); !status) return propagate(status);
  for (std::size_t i = 0; i < operators.size(); ++i) {
    Result<Operand> right = children[i + 1]->evaluate(context);
    if (!right) return right;
    if (Status status = check(*children[i + 1], *right); !status) return propagate(status);
    known = known && right->kind != ValueKind::absent;
    if (!known) continue;  // unknown, but text further on is still an error
    const auto [op, place] = operators[i];
    left = combine(context, op, place, *left, *right);
    if (!left) return left;
  }
  return known ? left : Result<Operand>(Operand());
}

Result<Operand> Expression::Node::combine(const Context& context, Operator op, std::size_t place,
                                          const Operand& a, const Operand& b) const {
  if (is_division(op) && b.number() == 0) {
    return error(context, place, "division by zero; guard it: `x != 0 and … / x …`");
  }
  if (a.kind == ValueKind::integer && b.kind == ValueKind::integer) {
    if (const auto exact = integer_arithmetic(op, a.integer, b.integer)) {
      return Operand::of_integer(*exact);
    }
  }
  const double result = real_arithmetic(op, a.number(), b.number());
  if (!std::isfinite(result)) {
    return error(context, place,
                 "the result for " + describe(a) + " and " + describe(b) + " is not a number");
  }
  return Operand::of_real(result);
}

Result<Operand> Expression::Node::comparison(const Context& context) const {
  Result<Operand> left = children[0]->evaluate(context);
  if (!left) return left;
  for (std::size_t i = 0; i < operators.size(); ++i) {
    Result<Operand> right = children[i + 1]->evaluate(context);
    if (!right) return right;
    const auto [op, place] = operators[i];
    if (left->kind == ValueKind::absent || right->kind == ValueKind::absent) {
      return Operand::boolean(false);
    }
    bool holds = false;
    if (op == Operator::equal || op == Operator::not_equal) {
      holds = equal_operands(*left, *right) == (op == Operator::equal);
    } else if (left->is_number() && right->is_number()) {
      holds = order_holds(op, compare_numbers(*left, *right));
    } else if (left->kind == ValueKind::text && right->kind == ValueKind::text) {
      holds = order_holds(op, left->text.compare(right->text));
    } else {
      return error(context, place,
                   children[i]->sentence(*left) + " and " + children[i + 1]->sentence(*right) +
                       ", which have no order; compare with `==` or `!=`");
    }
    if (!holds) return Operand::boolean(false);
    left = right;
  }
  return Operand::boolean(true);
}

Result<Operand> Expression::Node::membership(const Context& context) const {
  Result<Operand> operand = children[0]->evaluate(context);
  if (!operand) return operand;
  if (operand->kind == ValueKind::absent) return Operand::boolean(false);
  for (std::size_t i = 1; i < children.size(); ++i) {
    Result<Operand> item = children[i]->evaluate(context);
    if (!item) return item;
    if (item->kind != ValueKind::absent && equal_operands(*operand, *item)) {
      return Operand::boolean(!negated);
    }
  }
  return Operand::boolean(negated);
}

Result<bool> Expression::holds(const Lookup& lookup) const {
  Result<Operand> result = root_->truth_of(Node::Context{lookup, text_});
  if (!result) return propagate(result);
  return result->truth;
}

}  // namespace seedbed
