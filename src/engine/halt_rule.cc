#include <fmt/format.h>

#include "engine/engine.h"

namespace seedbed {

Result<HaltRule> HaltRule::parse(std::string_view text) {
  auto spec = HaltSpec::parse(text);
  if (!spec) return tl::unexpected(spec.error().with_context("halt"));
  return HaltRule{spec->kind, spec->threshold};
}

std::string HaltRule::reached(std::uint64_t failed, std::uint64_t ended) const {
  switch (kind) {
    case Kind::never:
      return {};
    case Kind::first:
      return failed >= 1 ? "halt rule `first`: a trial failed" : "";
    case Kind::count:
      if (static_cast<double>(failed) < threshold) return {};
      return fmt::format("halt rule `{:g}`: {} trial{} failed", threshold, failed,
                         failed == 1 ? "" : "s");
    case Kind::percent:
      if (ended < kEndedForPercent) return {};
      if (static_cast<double>(failed) * 100 < threshold * static_cast<double>(ended)) return {};
      return fmt::format("halt rule `{:g}%`: {} of {} trials failed", threshold, failed, ended);
  }
  return {};
}

}  // namespace seedbed
