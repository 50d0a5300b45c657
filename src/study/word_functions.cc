// The functions of the word grammar: Hydra's, and the short forms for ranges.
#include <algorithm>
#include <cmath>

#include "study/word_numbers.h"
#include "study/word_reader.h"

namespace seedbed {

namespace {

using Arguments = std::vector<std::optional<WordTerm>>;

tl::unexpected<Error> error(const SourceText& source, std::size_t offset,
                            const std::string& message, const std::string& remedy = {}) {
  return tl::unexpected(source.error(offset, message, remedy));
}

WordTerm choice_term(std::size_t offset, std::vector<Value> values) {
  WordTerm term;
  term.kind = WordTerm::Kind::choice;
  term.offset = offset;
  term.values = std::move(values);
  return term;
}

WordTerm distribution_term(std::size_t offset, const Distribution& distribution) {
  WordTerm term;
  term.kind = WordTerm::Kind::distribution;
  term.offset = offset;
  term.distribution = distribution;
  return term;
}

// Every argument that is given has to be one number.
Status need_numbers(const SourceText& source, const Arguments& arguments) {
  for (const std::optional<WordTerm>& argument : arguments) {
    if (!argument) continue;
    if (argument->kind != WordTerm::Kind::value || !argument->value.is_number()) {
      return error(source, argument->offset, "a number is needed here",
                   "plain decimal notation: 8, 0.1, 1e-3");
    }
  }
  return {};
}

Result<WordTerm> call_choice(const SourceText& source, std::size_t offset,
                             const Arguments& arguments) {
  std::vector<Value> values;
  for (const std::optional<WordTerm>& argument : arguments) {
    if (argument->kind != WordTerm::Kind::value) {
      return error(source, argument->offset, "a range or choice inside a choice",
                   "list the values, or give the range alone");
    }
    values.push_back(argument->value);
  }
  if (values.empty()) {
    return error(source, offset, "the choice is empty", "write choice(a, b)");
  }
  return choice_term(offset, std::move(values));
}

Result<WordTerm> call_range(const SourceText& source, std::size_t offset,
                            const Arguments& arguments) {
  if (Status fine = need_numbers(source, arguments); !fine) return propagate(fine);
  Value start = Value::integer(0);
  Value step = Value::integer(1);
  Value stop;
  if (arguments[1]) {
    if (arguments[0]) start = arguments[0]->value;
    stop = arguments[1]->value;
  } else if (arguments[0]) {
    stop = arguments[0]->value;  // range(5): from 0
  } else {
    return error(source, offset, "too few arguments for `range`", "write range(stop)");
  }
  if (arguments[2]) step = arguments[2]->value;
  Result<NumberSet> numbers = number_range(start, stop, step);
  if (!numbers) return error(source, offset, numbers.error().message);
  if (numbers->distribution) return distribution_term(offset, *numbers->distribution);
  return choice_term(offset, std::move(numbers->values));
}

Result<WordTerm> call_spaced(const SourceText& source, std::size_t offset,
                             const Arguments& arguments,
                             Result<std::vector<Value>> (*make)(const Value&, const Value&,
                                                                const Value&)) {
  if (Status fine = need_numbers(source, arguments); !fine) return propagate(fine);
  Result<std::vector<Value>> values =
      make(arguments[0]->value, arguments[1]->value, arguments[2]->value);
  if (!values) return error(source, offset, values.error().message);
  return choice_term(offset, std::move(*values));
}

Result<WordTerm> call_linspace(const SourceText& source, std::size_t offset,
                               const Arguments& arguments) {
  return call_spaced(source, offset, arguments, linear_values);
}

Result<WordTerm> call_geomspace(const SourceText& source, std::size_t offset,
                                const Arguments& arguments) {
  return call_spaced(source, offset, arguments, geometric_values);
}

Result<WordTerm> call_real_range(const SourceText& source, std::size_t offset,
                                 const Arguments& arguments, DistributionKind kind) {
  if (Status fine = need_numbers(source, arguments); !fine) return propagate(fine);
  Distribution distribution;
  distribution.kind = kind;
  distribution.min = *arguments[0]->value.number();
  distribution.max = *arguments[1]->value.number();
  return distribution_term(offset, distribution);
}

Result<WordTerm> call_interval(const SourceText& source, std::size_t offset,
                               const Arguments& arguments) {
  return call_real_range(source, offset, arguments, DistributionKind::uniform);
}

Result<WordTerm> call_loguniform(const SourceText& source, std::size_t offset,
                                 const Arguments& arguments) {
  return call_real_range(source, offset, arguments, DistributionKind::log_uniform_values);
}

Result<WordTerm> call_randint(const SourceText& source, std::size_t offset,
                              const Arguments& arguments) {
  if (Status fine = need_numbers(source, arguments); !fine) return propagate(fine);
  Result<Distribution> span = integer_span(arguments[0]->value, arguments[1]->value);
  if (!span) return error(source, offset, span.error().message);
  return distribution_term(offset, *span);
}

// tag(log, interval(a, b)): the only tag that means something here.
Result<WordTerm> call_tag(const SourceText& source, std::size_t, const Arguments& arguments) {
  WordTerm term = *arguments.back();
  for (std::size_t i = 0; i + 1 < arguments.size(); ++i) {
    if (arguments[i]->value.spelling() != "log") {
      return error(source, arguments[i]->offset, "a tag that means nothing here",
                   "only `log` is known: tag(log, interval(1e-5, 1e-1))");
    }
  }
  if (term.kind != WordTerm::Kind::distribution) {
    return error(source, term.offset, "tag(log, …) takes an interval",
                 "write tag(log, interval(a, b)), or geomspace(a, b, n) for a list");
  }
  if (term.distribution.kind == DistributionKind::uniform) {
    term.distribution.kind = DistributionKind::log_uniform_values;
  } else if (term.distribution.kind == DistributionKind::int_uniform) {
    term.distribution.log_integer = true;
  }
  return term;
}

Result<WordTerm> call_sort(const SourceText& source, std::size_t offset,
                           const Arguments& arguments) {
  std::vector<Value> values;
  bool reverse = false;
  if (arguments[0]) {  // reverse=true
    if (arguments[0]->value.kind() != ValueKind::boolean) {
      return error(source, arguments[0]->offset, "`reverse` is true or false");
    }
    reverse = arguments[0]->value.number() == 1.0;
  }
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    if (arguments[i]->kind == WordTerm::Kind::distribution) {
      return error(source, arguments[i]->offset, "a range of this kind has no order to sort");
    }
    if (arguments[i]->kind == WordTerm::Kind::value) values.push_back(arguments[i]->value);
    const std::vector<Value>& more = arguments[i]->values;
    values.insert(values.end(), more.begin(), more.end());
  }
  if (values.empty()) return error(source, offset, "nothing to sort", "write sort(3, 1, 2)");
  std::stable_sort(values.begin(), values.end());
  if (reverse) std::reverse(values.begin(), values.end());
  return choice_term(offset, std::move(values));
}

// int(interval(1, 8)) is a range of integers, as in Hydra's Optuna sweeper.
Result<WordTerm> integer_interval(const SourceText& source, WordTerm term) {
  Distribution& distribution = term.distribution;
  const bool logarithmic = distribution.kind == DistributionKind::log_uniform_values;
  if (distribution.kind == DistributionKind::int_uniform) return term;
  if (std::fabs(distribution.min) > 9e15 || std::fabs(distribution.max) > 9e15) {
    return error(source, term.offset, "the ends of an integer range are at most 9e15");
  }
  Result<Distribution> span =
      integer_span(Value::integer(static_cast<std::int64_t>(std::ceil(distribution.min))),
                   Value::integer(static_cast<std::int64_t>(std::floor(distribution.max))));
  if (!span) return error(source, term.offset, span.error().message);
  distribution = *span;
  distribution.log_integer = logarithmic;
  return term;
}

Result<Value> cast_integer(const Value& value) {
  const std::optional<double> number = value.number();
  if (value.kind() == ValueKind::integer) return value;
  if (number && std::fabs(*number) < 9e15) {
    return Value::integer(static_cast<std::int64_t>(std::trunc(*number)));
  }
  return fail(ErrorCode::usage, "not a number that fits an integer");
}

Result<Value> cast_real(const Value& value) {
  if (value.kind() == ValueKind::real) return value;
  if (value.number()) return Value::real(*value.number());
  return fail(ErrorCode::usage, "not a number");
}

Result<Value> cast_text(const Value& value) { return Value::from_text(value.spelling()); }

Result<Value> cast_boolean(const Value& value) {
  if (value.number()) return Value::boolean(*value.number() != 0.0);
  return fail(ErrorCode::usage, "not true, false or a number");
}

Result<WordTerm> cast(const SourceText& source, const Arguments& arguments,
                      Result<Value> (*convert)(const Value&)) {
  WordTerm term = *arguments[0];
  if (term.kind == WordTerm::Kind::distribution) {
    return error(source, term.offset, "this cast takes values, not a range");
  }
  if (term.kind == WordTerm::Kind::value) term.values = {term.value};
  for (Value& value : term.values) {
    Result<Value> converted = convert(value);
    if (!converted) {
      return error(source, term.offset,
                   in_ticks(value.spelling()) + ": " + converted.error().message);
    }
    value = *converted;
  }
  if (term.kind == WordTerm::Kind::value) term.value = term.values[0];
  return term;
}

Result<WordTerm> call_int(const SourceText& source, std::size_t, const Arguments& arguments) {
  if (arguments[0]->kind == WordTerm::Kind::distribution) {
    return integer_interval(source, *arguments[0]);
  }
  return cast(source, arguments, cast_integer);
}

Result<WordTerm> call_float(const SourceText& source, std::size_t, const Arguments& arguments) {
  return cast(source, arguments, cast_real);
}

Result<WordTerm> call_str(const SourceText& source, std::size_t, const Arguments& arguments) {
  return cast(source, arguments, cast_text);
}

Result<WordTerm> call_bool(const SourceText& source, std::size_t, const Arguments& arguments) {
  return cast(source, arguments, cast_boolean);
}

Result<WordTerm> call_absent(const SourceText&, std::size_t offset, const Arguments&) {
  WordTerm term;
  term.offset = offset;
  term.value = Value::absent();
  return term;
}

}  // namespace

const std::vector<WordFunction>& word_functions() {
  static const std::vector<WordFunction> functions = {
      {"choice", "choice(a, b, …)", "value…", 0, call_choice},
      {"range", "range(start, stop, step)", "start stop step", 0, call_range},
      {"interval", "interval(start, end)", "start end", 2, call_interval},
      {"uniform", "uniform(low, high)", "low high", 2, call_interval},
      {"loguniform", "loguniform(low, high)", "low high", 2, call_loguniform},
      {"randint", "randint(first, last)", "first last", 2, call_randint},
      {"linspace", "linspace(first, last, n)", "first last n", 3, call_linspace},
      {"geomspace", "geomspace(first, last, n)", "first last n", 3, call_geomspace},
      {"tag", "tag(log, interval(start, end))", "tag sweep…", 2, call_tag},
      {"sort", "sort(a, b, …, reverse=true)", "reverse= value…", 1, call_sort},
      {"int", "int(value)", "value", 1, call_int},
      {"float", "float(value)", "value", 1, call_float},
      {"str", "str(value)", "value", 1, call_str},
      {"bool", "bool(value)", "value", 1, call_bool},
      {"absent", "absent()", "", 0, call_absent},
      {"shuffle", "choose the order of trials with --order shuffled", "", 0, nullptr},
      {"glob", "write the choices out, as choice(a, b)", "", 0, nullptr},
      {"json_str", "quote the text", "", 0, nullptr},
  };
  return functions;
}

}  // namespace seedbed
