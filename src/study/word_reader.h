#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "study/distribution.h"
#include "study/reader_error.h"
#include "study/value.h"

namespace seedbed {

/// What one element of a word means: a value, several values to choose from, or a range.
struct WordTerm {
  enum class Kind { value, choice, distribution };

  Kind kind = Kind::value;
  std::size_t offset = 0;  ///< where it starts in the word
  Value value;
  std::vector<Value> values;
  Distribution distribution;
};

/// One argument of a function in a word.
struct WordArgument {
  std::string name;  ///< empty: by position
  std::size_t name_offset = 0;
  WordTerm term;
};

/// A function of the word grammar. Arguments arrive in the order of `parameters`, named ones put
/// in their place; the handler reports errors through `source` at the offsets of the terms.
struct WordFunction {
  std::string_view name;
  std::string_view usage;  ///< `range(start, stop, step)`, for messages and the reference page
  /// Names separated by spaces. `name=` can only be given by name (those come first); the last may
  /// end in `…`: any number.
  std::string_view parameters;
  std::size_t least;  ///< arguments by position needed
  Result<WordTerm> (*call)(const SourceText& source, std::size_t offset,
                           const std::vector<std::optional<WordTerm>>& arguments);
};

/// All functions, for look-up, suggestions and the reference page.
[[nodiscard]] const std::vector<WordFunction>& word_functions();

/// Reads what follows the `=` of a word, from `offset` on.
///
///   spec     = element (',' element)*                     several: a choice
///   element  = quoted | list | map | function | bare
///   list     = '[' (element (',' element)*)? ']'          one value
///   map      = '{' (key ':' element (',' …)*)? '}'        one value
///   function = name '(' (name '=')? element (',' …)* ')'
///   bare     = any characters but , ( ) [ ] { } and, inside brackets, : ; \ before one of
///              \ ( ) [ ] { } : = , space or tab takes it literally; ${…} is kept whole
///
/// Nesting deeper than kMaxNesting is refused.
[[nodiscard]] Result<WordTerm> read_word_spec(const SourceText& source, std::size_t offset);

}  // namespace seedbed
