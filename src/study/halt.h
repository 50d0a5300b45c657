#pragma once

#include <string_view>

#include "base/result.h"

namespace seedbed {

/// What `halt:` and `--halt` say.
struct HaltSpec {
  enum class Kind { never, first, count, percent };
  Kind kind = Kind::never;
  double threshold = 0;  ///< failed trials (count), or per cent of the ended ones (percent)

  /// `first`, a count `N`, `X%`, `never`; empty is never. Errors: usage, without a place.
  [[nodiscard]] static Result<HaltSpec> parse(std::string_view text);
};

}  // namespace seedbed
