#include "results/measure.h"

#include <charconv>
#include <cmath>
#include <numeric>

namespace seedbed {

Result<Measure> Measure::parse(std::string_view text) {
  if (text == "last") return Measure{Kind::last, 1};
  if (text == "best") return Measure{Kind::best, 1};
  constexpr std::string_view kPrefix = "mean-last:";
  if (text.substr(0, kPrefix.size()) == kPrefix) {
    const std::string_view digits = text.substr(kPrefix.size());
    std::uint64_t count = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), count);
    const bool whole = read.ec == std::errc() && read.ptr == digits.data() + digits.size();
    if (whole && count >= 1 && count <= 1'000'000) return Measure{Kind::mean_last, count};
  }
  return fail(ErrorCode::usage, "\"" + std::string(text) +
                                    "\" is no measure of a curve; use last, best or mean-last:N "
                                    "with N from 1 to 1000000");
}

std::string Measure::text() const {
  switch (kind) {
    case Kind::last:
      return "last";
    case Kind::best:
      return "best";
    case Kind::mean_last:
      return "mean-last:" + std::to_string(count);
  }
  return "last";
}

std::optional<double> measured(const MetricNumbers& numbers, const Measure& measure, Goal goal) {
  if (numbers.n == 0) return std::nullopt;
  switch (measure.kind) {
    case Measure::Kind::last:
      return numbers.last;
    case Measure::Kind::best: {
      const auto& extreme = goal == Goal::minimize ? numbers.min : numbers.max;
      // Nothing finite at all: say what there is instead of hiding the trial.
      return extreme ? *extreme : numbers.last;
    }
    case Measure::Kind::mean_last: {
      if (numbers.tail.empty()) return std::nullopt;  // the snapshot was not asked for it
      const std::size_t count = std::min<std::size_t>(measure.count, numbers.tail.size());
      const double sum = std::accumulate(numbers.tail.end() - static_cast<std::ptrdiff_t>(count),
                                         numbers.tail.end(), 0.0);
      return sum / static_cast<double>(count);
    }
  }
  return std::nullopt;
}

bool better(double a, double b, Goal goal) {
  if (!std::isfinite(a)) return false;
  if (!std::isfinite(b)) return true;
  return goal == Goal::minimize ? a < b : a > b;
}

void Mean::add(double value) {
  if (n_++ == 0 && std::isfinite(value)) shift_ = value;
  sum_ += value - shift_;
}

std::optional<double> sample_deviation(const std::vector<double>& values, double mean) {
  if (values.size() < 2) return std::nullopt;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

bool goes_before(const Standing& a, const Standing& b, Goal goal) {
  if (!std::isfinite(a.mean) || !std::isfinite(b.mean)) {
    return std::isfinite(a.mean) && !std::isfinite(b.mean);
  }
  if (a.complete != b.complete) return a.complete;
  return better(a.mean, b.mean, goal);
}

std::string_view goal_word(Goal goal) { return goal == Goal::minimize ? "min" : "max"; }

}  // namespace seedbed
