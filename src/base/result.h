#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace seedbed {

/// What kind of trouble it is; decides the exit code of the command (docs/reference/exit-codes.md).
/// A failing *trial* is data and never an Error.
enum class ErrorCode {
  usage,     ///< wrong use or a wrong file: exit 2
  in_use,    ///< another controller holds the study: exit 3
  damaged,   ///< a record that cannot be trusted: exit 4
  machine,   ///< no space, no permission, no such program, too small a machine: exit 5
  internal,  ///< a bug of ours: exit 70
};

/// An error for people: `message` says what is wrong, where, and what helps. Context is put in
/// front on the way up ("while reading sweep.yaml: ...").
struct [[nodiscard]] Error {
  ErrorCode code = ErrorCode::internal;
  std::string message;

  [[nodiscard]] Error with_context(const std::string& context) const {
    return Error{code, context + ": " + message};
  }
};

/// A value or an Error. Nothing in this program reports failure in another way across folders.
template <typename T>
using Result = tl::expected<T, Error>;

/// Success or an Error.
using Status = Result<void>;

/// Shorthand for `return fail(ErrorCode::usage, "...")`.
[[nodiscard]] inline tl::unexpected<Error> fail(ErrorCode code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message)});
}

/// Passes an error up: `if (!r) return propagate(r);`
template <typename T>
[[nodiscard]] tl::unexpected<Error> propagate(const Result<T>& result) {
  return tl::unexpected<Error>(result.error());
}

/// The exit code of a command that ends with this error.
[[nodiscard]] inline int exit_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::usage:
      return 2;
    case ErrorCode::in_use:
      return 3;
    case ErrorCode::damaged:
      return 4;
    case ErrorCode::machine:
      return 5;
    case ErrorCode::internal:
      return 70;
  }
  return 70;
}

}  // namespace seedbed
