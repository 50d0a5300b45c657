#include "study/expression.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "study/expression_node.h"

// Grammar, loosest first (all binary operators but `**` group to the left):
//
//   or      : and ("or" and)*
//   and     : not ("and" not)*
//   not     : "not" not | compare
//   compare : sum (("<" | "<=" | ">" | ">=" | "==" | "!=") sum)*  |  sum ["not"] "in" list
//   list    : "(" or ("," or)* [","] ")"     (also with square brackets)
//   sum     : product (("+" | "-") product)*
//   product : unary (("*" | "/" | "//" | "%") unary)*
//   unary   : ("-" | "+") unary | power
//   power   : atom ["**" unary]
//   atom    : number | string | name | `name` | true | false | none | "(" or ")"
//
// A chain `a < b < c` means `a < b and b < c`. `//` and `%` round down, as in Python. Integers are
// exact while they fit in 64 bits, then they become reals.
//
// Limits: 64 KiB of text, nesting 100 deep; a flat chain of operators has no limit of its own
// because it is one node with many children.

namespace seedbed {

using expression_detail::Operator;
using expression_detail::pointed;

namespace {

constexpr int kMaxDepth = 100;
constexpr std::size_t kMaxText = 64 * 1024;
enum class TokenKind { end, number, string, name, word, symbol };

struct Token {
  TokenKind kind = TokenKind::end;
  std::size_t at = 0;      // byte offset in the text
  std::size_t length = 0;  // bytes
  std::string text;        // contents: unescaped for strings, without backquotes for names
};

struct Symbol {
  std::string_view text;
  Operator op;
};

constexpr Symbol kComparisons[] = {{"<=", Operator::less_equal}, {">=", Operator::greater_equal},
                                   {"==", Operator::equal},      {"!=", Operator::not_equal},
                                   {"<", Operator::less},        {">", Operator::greater}};
constexpr Symbol kSums[] = {{"+", Operator::add}, {"-", Operator::subtract}};
constexpr Symbol kProducts[] = {{"*", Operator::multiply},
                                {"//", Operator::floor_divide},
                                {"/", Operator::divide},
                                {"%", Operator::modulo}};

template <std::size_t n>
std::optional<Operator> find_operator(const Symbol (&table)[n], const Token& token) {
  if (token.kind != TokenKind::symbol) return std::nullopt;
  for (const Symbol& symbol : table) {
    if (symbol.text == token.text) return symbol.op;
  }
  return std::nullopt;
}

bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_char(char c) { return is_name_start(c) || is_digit(c); }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
// Words of other languages, and what to write here.
std::string_view remedy_for(const Token& token) {
  static constexpr std::pair<std::string_view, std::string_view> kRemedies[] = {
      {"=", "compare with `==`"},
      {"&&", "write `and`"},
      {"&", "write `and`"},
      {"||", "write `or`"},
      {"|", "write `or`"},
      {"!", "write `not`"},
      {"<>", "write `!=`"},
      {"AND", "write `and`"},
      {"OR", "write `or`"},
      {"is", "compare with `==`"},
      {"NOT", "write `not`"},
      {"^", "powers are written `**`"},
      {"(", "calls are not part of this language"},
      {".", "attributes are not part of this language; dotted names are written without spaces"},
      {"[", "items are not part of this language"},
      {"-", ""}};
  for (const auto& [text, remedy] : kRemedies) {
    if (token.text == text && token.kind != TokenKind::string) return remedy;
  }
  if (token.kind == TokenKind::name)
    return "words are quoted ('sgd'), odd names backquoted (`a-b`)";
  return "";
}

}  // namespace

struct Expression::Parser {
  using NodePtr = std::shared_ptr<const Node>;
  using Type = Node::Type;

  explicit Parser(std::string_view source) : text(source) {}

  std::string_view text;
  std::size_t position = 0;
  int depth = 0;
  Token token;  // the one looked at
  std::vector<std::string> names;

  // Errors at the place of the token looked at.
  [[nodiscard]] tl::unexpected<Error> error(const std::string& message) const {
    return error_at(token.at, message);
  }
  [[nodiscard]] tl::unexpected<Error> error_at(std::size_t at, const std::string& message) const {
    return fail(ErrorCode::usage, pointed(text, at, message));
  }
  [[nodiscard]] tl::unexpected<Error> unexpected(const std::string& wanted) const {
    std::string message = "expected " + wanted;
    if (token.kind == TokenKind::end) return error(message + ", but the expression ends here");
    message += ", not `" + one_line(text.substr(token.at, token.length), 30) + "`";
    const std::string_view remedy = remedy_for(token);
    if (!remedy.empty()) message += "; " + std::string(remedy);
    return error(message);
  }

  [[nodiscard]] bool at_word(std::string_view word) const {
    return token.kind == TokenKind::word && token.text == word;
  }
  [[nodiscard]] bool at_symbol(std::string_view symbol) const {
    return token.kind == TokenKind::symbol && token.text == symbol;
  }
  [[nodiscard]] char peek(std::size_t ahead) const {
    return position + ahead < text.size() ? text[position + ahead] : '\0';
  }

  [[nodiscard]] Status advance();
  [[nodiscard]] Status read_number();
  [[nodiscard]] Status read_string(char quote);
  [[nodiscard]] Status read_backquoted();
  void read_name();
  [[nodiscard]] Status read_symbol();

  [[nodiscard]] Status enter() {
    if (++depth > kMaxDepth) {
      return error("nested more than " + std::to_string(kMaxDepth) + " deep; write it flatter");
    }
    return {};
  }

  template <std::size_t n>
  [[nodiscard]] Result<NodePtr> left_chain(const Symbol (&table)[n], Type type,
                                           Result<NodePtr> (Parser::*operand)());
  [[nodiscard]] Result<NodePtr> word_chain(std::string_view word, Type type,
                                           Result<NodePtr> (Parser::*operand)());
  [[nodiscard]] Result<NodePtr> parse_or() {
    return word_chain("or", Type::any, &Parser::parse_and);
  }
  [[nodiscard]] Result<NodePtr> parse_and() {
    return word_chain("and", Type::all, &Parser::parse_not);
  }
  [[nodiscard]] Result<NodePtr> parse_not();
  [[nodiscard]] Result<NodePtr> parse_compare();
  [[nodiscard]] Result<NodePtr> parse_list(NodePtr operand, bool negated, std::size_t at);
  [[nodiscard]] Result<NodePtr> parse_sum() {
    return left_chain(kSums, Type::arithmetic, &Parser::parse_product);
  }
  [[nodiscard]] Result<NodePtr> parse_product() {
    return left_chain(kProducts, Type::arithmetic, &Parser::parse_unary);
  }
  [[nodiscard]] Result<NodePtr> parse_unary();
  [[nodiscard]] Result<NodePtr> parse_power();
  [[nodiscard]] Result<NodePtr> parse_atom();
};

Status Expression::Parser::advance() {
  while (position < text.size() && is_space(text[position])) ++position;
  token = Token();
  token.at = position;
  if (position == text.size()) return {};
  const char c = text[position];
  Status status;
  if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
    status = read_number();
  } else if (c == '\'' || c == '"') {
    status = read_string(c);
  } else if (c == '`') {
    status = read_backquoted();
  } else if (is_name_start(c)) {
    read_name();
  } else {
    status = read_symbol();
  }
  token.length = position - token.at;
  return status;
}

Status Expression::Parser::read_number() {
  token.kind = TokenKind::number;
  // Everything that could belong to a number or a word with digits, so that `1_000` and `3x` are
  // one wrong word instead of a number and a surprise.
  while (position < text.size()) {
    const char c = text[position];
    const char previous = position > token.at ? text[position - 1] : '\0';
    const bool exponent_sign =
        (c == '+' || c == '-') && (previous == 'e' || previous == 'E') && is_digit(peek(1));
    if (!is_name_char(c) && c != '.' && !exponent_sign) break;
    ++position;
  }
  token.text = std::string(text.substr(token.at, position - token.at));
  if (!Value::from_plain(token.text).is_number()) {
    return error("`" + one_line(token.text, 30) +
                 "` is not a plain decimal number; if it is a word, quote it: '" +
                 one_line(token.text, 30) + "'");
  }
  return {};
}

Status Expression::Parser::read_string(char quote) {
  token.kind = TokenKind::string;
  ++position;
  while (position < text.size() && text[position] != quote) {
    char c = text[position];
    if (c == '\\') {
      // As in Python: the known escapes, and any other backslash stands for itself.
      const char next = peek(1);
      if (next == '\\' || next == '\'' || next == '"') {
        c = next;
        ++position;
      } else if (next == 'n' || next == 't') {
        c = next == 'n' ? '\n' : '\t';
        ++position;
      }
    }
    token.text += c;
    ++position;
  }
  if (position >= text.size()) {
    position = text.size();
    return error(std::string("this text has no closing ") + quote);
  }
  ++position;
  return {};
}

Status Expression::Parser::read_backquoted() {
  token.kind = TokenKind::name;
  const std::size_t end = text.find('`', position + 1);
  if (end == std::string_view::npos) return error("this name has no closing `");
  token.text = std::string(text.substr(position + 1, end - position - 1));
  position = end + 1;
  if (token.text.empty()) return error("a name cannot be empty");
  return {};
}

void Expression::Parser::read_name() {
  while (is_name_char(peek(0)) || (peek(0) == '.' && is_name_char(peek(1)))) ++position;
  token.text = std::string(text.substr(token.at, position - token.at));
  static constexpr std::string_view kWords[] = {"and",  "or",   "not",   "in",    "true",
                                                "True", "TRUE", "false", "False", "FALSE",
                                                "none", "None", "null"};
  const bool word = std::find(std::begin(kWords), std::end(kWords), token.text) != std::end(kWords);
  token.kind = word ? TokenKind::word : TokenKind::name;
}

Status Expression::Parser::read_symbol() {
  token.kind = TokenKind::symbol;
  static constexpr std::string_view kSymbols[] = {
      "**", "//", "<=", ">=", "==", "!=", "<>", "&&", "||"};
  const std::string_view two = text.substr(position, 2);
  const bool is_two =
      std::find(std::begin(kSymbols), std::end(kSymbols), two) != std::end(kSymbols);
  token.text = std::string(is_two ? two : text.substr(position, 1));
  position += token.text.size();
  if (!is_two && std::string_view("+-*/%<>(),[]=&|!^.").find(token.text[0]) == std::string::npos) {
    return error("`" + one_line(token.text) + "` has no meaning here; odd names are backquoted " +
                 "(`a-b`), words are quoted ('a-b')");
  }
  return {};
}

template <std::size_t n>
Result<Expression::Parser::NodePtr> Expression::Parser::left_chain(
    const Symbol (&table)[n], Type type, Result<NodePtr> (Parser::*operand)()) {
  Result<NodePtr> first = (this->*operand)();
  if (!first || !find_operator(table, token)) return first;
  auto node = std::make_shared<Node>();
  node->type = type;
  node->at = (*first)->at;
  node->children.push_back(*first);
  while (const auto op = find_operator(table, token)) {
    node->operators.emplace_back(*op, token.at);
    if (Status status = advance(); !status) return propagate(status);
    Result<NodePtr> next = (this->*operand)();
    if (!next) return next;
    node->children.push_back(*next);
  }
  return NodePtr(std::move(node));
}

Result<Expression::Parser::NodePtr> Expression::Parser::word_chain(
    std::string_view word, Type type, Result<NodePtr> (Parser::*operand)()) {
  Result<NodePtr> first = (this->*operand)();
  if (!first || !at_word(word)) return first;
  auto node = std::make_shared<Node>();
  node->type = type;
  node->at = (*first)->at;
  node->children.push_back(*first);
  while (at_word(word)) {
    if (Status status = advance(); !status) return propagate(status);
    Result<NodePtr> next = (this->*operand)();
    if (!next) return next;
    node->children.push_back(*next);
  }
  return NodePtr(std::move(node));
}

Result<Expression::Parser::NodePtr> Expression::Parser::parse_not() {
  if (!at_word("not")) return parse_compare();
  auto node = std::make_shared<Node>();
  node->type = Type::logical_not;
  node->at = token.at;
  if (Status status = enter(); !status) return propagate(status);
  if (Status status = advance(); !status) return propagate(status);
  Result<NodePtr> operand = parse_not();
  --depth;
  if (!operand) return operand;
  node->children.push_back(*operand);
  return NodePtr(std::move(node));
}

Result<Expression::Parser::NodePtr> Expression::Parser::parse_compare() {
  Result<NodePtr> operand = left_chain(kComparisons, Type::compare, &Parser::parse_sum);
  if (!operand) return operand;
  const std::size_t at = token.at;
  bool negated = false;
  if (at_word("not")) {
    negated = true;
    if (Status status = advance(); !status) return propagate(status);
    if (!at_word("in")) return unexpected("`in` after `not`");
  }
  if (!at_word("in")) return operand;
  if (Status status = advance(); !status) return propagate(status);
  return parse_list(*operand, negated, at);
}

Result<Expression::Parser::NodePtr> Expression::Parser::parse_list(NodePtr operand, bool negated,
                                                                   std::size_t at) {
  if (!at_symbol("(") && !at_symbol("[")) {
    return unexpected("a list after `in`, as in `x in (1, 2)`");
  }
  const std::string_view close = at_symbol("(") ? ")" : "]";
  auto node = std::make_shared<Node>();
  node->type = Type::in_list;
  node->at = at;
  node->negated = negated;
  node->children.push_back(std::move(operand));
  if (Status status = enter(); !status) return propagate(status);
  if (Status status = advance(); !status) return propagate(status);
  while (!at_symbol(close)) {
    Result<NodePtr> item = parse_or();
    if (!item) return item;
    node->children.push_back(*item);
    if (at_symbol(close)) break;
    if (!at_symbol(",")) return unexpected("`,` or `" + std::string(close) + "`");
    if (Status status = advance(); !status) return propagate(status);
  }
  if (node->children.size() == 1) return error("this list is empty, so nothing is ever in it");
  if (Status status = advance(); !status) return propagate(status);
  --depth;
  return NodePtr(std::move(node));
}

Result<Expression::Parser::NodePtr> Expression::Parser::parse_unary() {
  if (!at_symbol("-") && !at_symbol("+")) return parse_power();
  // `+x` is checked to be a number as `0 + x`.
  auto node = std::make_shared<Node>();
  const bool minus = at_symbol("-");
  node->type = minus ? Type::negate : Type::arithmetic;
  node->at = token.at;
  if (Status status = enter(); !status) return propagate(status);
  if (Status status = advance(); !status) return propagate(status);
  Result<NodePtr> operand = parse_unary();
  --depth;
  if (!operand) return operand;
  node->children.push_back(*operand);
  return NodePtr(std::move(node));
}

Result<Expression::Parser::NodePtr> Expression::Parser::parse_power() {
  Result<NodePtr> base = parse_atom();
  if (!base || !at_symbol("**")) return base;
  auto node = std::make_shared<Node>();
  node->type = Type::arithmetic;
  node->at = (*base)->at;
  node->operators.emplace_back(Operator::power, token.at);
  if (Status status = enter(); !status) return propagate(status);
  if (Status status = advance(); !status) return propagate(status);
  Result<NodePtr> exponent = parse_unary();
  --depth;
  if (!exponent) return exponent;
  node->children = {*base, *exponent};
  return NodePtr(std::move(node));
}

Result<Expression::Parser::NodePtr> Expression::Parser::parse_atom() {
  auto node = std::make_shared<Node>();
  node->at = token.at;
  if (at_symbol("(")) {
    if (Status status = enter(); !status) return propagate(status);
    if (Status status = advance(); !status) return propagate(status);
    Result<NodePtr> inner = parse_or();
    --depth;
    if (!inner) return inner;
    if (!at_symbol(")")) return unexpected("an operator or `)`");
    if (Status status = advance(); !status) return propagate(status);
    return inner;
  }
  if (token.kind == TokenKind::number) {
    node->value = Value::from_plain(token.text);
  } else if (token.kind == TokenKind::string) {
    node->value = Value::from_text(token.text);
  } else if (token.kind == TokenKind::name) {
    node->type = Type::name;
    node->name = token.text;
    if (std::find(names.begin(), names.end(), token.text) == names.end()) {
      names.push_back(token.text);
    }
  } else if (token.kind == TokenKind::word && !at_word("and") && !at_word("or") && !at_word("in") &&
             !at_word("not")) {
    const char first = token.text[0];
    node->value = first == 'n' || first == 'N' ? Value::null() : Value::from_plain(token.text);
  } else {
    return unexpected("a number, a text or a name");
  }
  if (Status status = advance(); !status) return propagate(status);
  return NodePtr(std::move(node));
}

Expression::Expression(std::shared_ptr<const Node> root, std::string text,
                       std::vector<std::string> names)
    : root_(std::move(root)), text_(std::move(text)), names_(std::move(names)) {}
Expression::Expression(Expression&&) noexcept = default;
Expression& Expression::operator=(Expression&&) noexcept = default;
Expression::Expression(const Expression&) = default;
Expression& Expression::operator=(const Expression&) = default;
Expression::~Expression() = default;

Result<Expression> Expression::parse(std::string_view text) {
  if (text.size() > kMaxText) {
    return fail(ErrorCode::usage, "the expression is longer than 64 KiB; list the points instead");
  }
  if (!is_valid_utf8(text)) {
    const std::string mended = to_valid_utf8(text);
    const auto first = std::mismatch(text.begin(), text.end(), mended.begin(), mended.end()).first;
    return fail(ErrorCode::usage, pointed(text, static_cast<std::size_t>(first - text.begin()),
                                          "this is not UTF-8; save or type it as UTF-8"));
  }
  Parser parser(text);
  if (Status status = parser.advance(); !status) return propagate(status);
  if (parser.token.kind == TokenKind::end) {
    return fail(ErrorCode::usage,
                "column 1: the expression is empty; write one such as `lr < 0.1`");
  }
  Result<Parser::NodePtr> root = parser.parse_or();
  if (!root) return propagate(root);
  if (parser.token.kind != TokenKind::end) return parser.unexpected("an operator or the end");
  return Expression(*root, std::string(text), std::move(parser.names));
}

const std::vector<std::string>& Expression::names() const { return names_; }
const std::string& Expression::text() const { return text_; }

}  // namespace seedbed
