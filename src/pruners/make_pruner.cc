#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "pruners/rules.h"

namespace seedbed {
namespace {

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  const std::optional<std::string> near = nearest(word, known);
  return near ? fmt::format("; did you mean `{}`?", *near) : std::string();
}

Status check_names(const PrunerSpec& spec, const std::vector<std::string>& known) {
  for (const auto& [name, value] : spec.options) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return fail(ErrorCode::usage,
                fmt::format("early_terminate: the rule `{}` has no option `{}`{} ({})", spec.type,
                            name, did_you_mean(name, known),
                            known.empty() ? "it takes none" : "known: " + join(known, ", ")));
  }
  return {};
}

Result<std::size_t> count_option(const PrunerSpec& spec, const std::string& name,
                                 std::size_t fallback) {
  const auto found = spec.options.find(name);
  if (found == spec.options.end()) return fallback;
  const double value = found->second;
  if (!(value >= 1 && value <= 1e9) || std::floor(value) != value) {
    return fail(ErrorCode::usage,
                fmt::format("early_terminate: `{}` of the rule `{}` is {}; it must be a whole "
                            "number from 1",
                            name, spec.type, format_number(value)));
  }
  return static_cast<std::size_t>(value);
}

}  // namespace

Result<std::unique_ptr<Pruner>> make_pruner(const PrunerSpec& spec, Goal goal) {
  if (spec.type == "nan") {
    if (Status names = check_names(spec, {}); !names) return propagate(names);
    return make_nan_pruner();
  }
  if (spec.type == "median") {
    if (Status names = check_names(spec, {"min_iter", "min_trials"}); !names) {
      return propagate(names);
    }
    MedianOptions options;
    const Result<std::size_t> min_iter = count_option(spec, "min_iter", options.min_iter);
    if (!min_iter) return propagate(min_iter);
    const Result<std::size_t> min_trials = count_option(spec, "min_trials", options.min_trials);
    if (!min_trials) return propagate(min_trials);
    options.min_iter = *min_iter;
    options.min_trials = *min_trials;
    return make_median_pruner(options, goal);
  }
  return fail(ErrorCode::usage, fmt::format("early_terminate: unknown rule `{}`{} (known: median, "
                                            "nan)",
                                            spec.type, did_you_mean(spec.type, {"median", "nan"})));
}

}  // namespace seedbed
