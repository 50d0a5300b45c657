#include "controller/request_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.h"

namespace seedbed {
namespace {

using Numbers = std::set<TrialNumber>;

/// `3-5`, `8`.
std::vector<std::string> ranges(const Numbers& numbers) {
  std::vector<std::string> parts;
  for (auto next = numbers.begin(); next != numbers.end();) {
    const TrialNumber first = *next;
    TrialNumber last = first;
    while (++next != numbers.end() && *next == last + 1) last = *next;
    parts.push_back(first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last));
  }
  return parts;
}

/// `trial 3`, `trials 3-5, 8`.
std::string trials_text(const Numbers& numbers) {
  return (numbers.size() == 1 ? "trial " : "trials ") + join(ranges(numbers), ", ");
}

/// Trials by what is so of them, in the order in which that first came up.
class Groups {
 public:
  void add(TrialNumber trial, const std::string& one, const std::string& several) {
    const auto known = std::find_if(groups_.begin(), groups_.end(),
                                    [&](const Group& group) { return group.one == one; });
    Group& group = known == groups_.end() ? groups_.emplace_back() : *known;
    group.one = one;
    group.several = several;
    group.trials.insert(trial);
  }
  void add(TrialNumber trial, const std::string& both) { add(trial, both, both); }

  [[nodiscard]] std::string text() const {
    std::vector<std::string> parts;
    for (const Group& group : groups_) {
      parts.push_back(trials_text(group.trials) + " " +
                      (group.trials.size() == 1 ? group.one : group.several));
    }
    return join(parts, "; ");
  }

 private:
  struct Group {
    std::string one, several;
    Numbers trials;
  };
  std::vector<Group> groups_;
};

Status check_known(const StudyState& state, const Numbers& numbers) {
  Numbers missing, known;
  for (const TrialNumber number : numbers) {
    (state.trial(number) == nullptr ? missing : known).insert(number);
  }
  if (missing.empty()) return {};
  const std::string there = state.trials().empty()
                                ? "there are none yet"
                                : fmt::format("the last one is {}", state.trials().rbegin()->first);
  std::string untouched;
  if (!known.empty()) {
    untouched =
        fmt::format("; {} {} left as {}", trials_text(known), known.size() == 1 ? "is" : "are",
                    known.size() == 1 ? "it is" : "they are");
  }
  return fail(ErrorCode::usage,
              fmt::format("there {} no {}: {}{}", missing.size() == 1 ? "is" : "are",
                          trials_text(missing), there, untouched));
}

void tell_cancel(const TrialStatus& trial, Groups& groups) {
  if (trial.state == TrialState::waiting) {
    groups.add(trial.number, "cancelled");
  } else if (trial.state == TrialState::running) {
    groups.add(trial.number, "is asked to stop", "are asked to stop");
  } else {
    const std::string was = fmt::format("had ended before: {}", trial_state_word(trial.state));
    groups.add(trial.number, was);
  }
}

void tell_retry(const StudyState& state, const TrialStatus& trial, Timestamp now, Groups& groups) {
  if (trial.state == TrialState::running) {
    groups.add(trial.number, "is running", "are running");
  } else if (trial.state == TrialState::waiting) {
    if (trial.not_before > now) {
      groups.add(trial.number, fmt::format("starts again by itself in {} (`retries: wait`)",
                                           format_duration(trial.not_before - now)));
    } else {
      groups.add(trial.number, "was waiting already", "were waiting already");
    }
  } else if (trial.state == TrialState::completed && !trial.metric_missing) {
    groups.add(trial.number, "has completed: a good result is not put at risk",
               "have completed: a good result is not put at risk");
  } else if (state.in_space(trial)) {
    groups.add(trial.number, "waiting again");
  } else {
    groups.add(trial.number, "waiting again, outside the present space: for a run that names it",
               "waiting again, outside the present space: for a run that names them");
  }
}

std::string tell_retry_of_failed(const StudyState& state) {
  std::uint64_t failed = 0;
  Numbers silent;  // these have completed, and run again only when they are named
  for (const auto& [number, trial] : state.trials()) {
    if (!state.in_space(trial)) continue;
    if (trial.state == TrialState::failed) ++failed;
    if (trial.state == TrialState::completed && trial.metric_missing) silent.insert(number);
  }
  std::string text =
      failed == 0 ? "no trial has failed"
                  : fmt::format("{} failed trial{} waiting again", failed, failed == 1 ? "" : "s");
  if (silent.empty() || !state.space()) return text;
  constexpr std::size_t kMostParts = 20;
  std::vector<std::string> parts = ranges(silent);
  const bool cut = parts.size() > kMostParts;
  if (cut) parts.resize(kMostParts);
  return text + fmt::format("; {} reported no `{}`: seedbed retry {}{} runs {} again",
                            silent.size(), one_line(state.space()->metric, 80), join(parts, " "),
                            cut ? " …" : "", silent.size() == 1 ? "it" : "them");
}

struct Teller {
  const StudyState& state;
  Timestamp now;

  Result<std::string> operator()(const CancelAsked& input) const {
    const Numbers numbers(input.trials.begin(), input.trials.end());
    if (Status known = check_known(state, numbers); !known) return propagate(known);
    Groups groups;
    for (const TrialNumber number : numbers) tell_cancel(*state.trial(number), groups);
    return groups.text();
  }
  Result<std::string> operator()(const RetryAsked& input) const {
    if (input.trials.empty()) return tell_retry_of_failed(state);
    const Numbers numbers(input.trials.begin(), input.trials.end());
    if (Status known = check_known(state, numbers); !known) return propagate(known);
    Groups groups;
    for (const TrialNumber number : numbers) tell_retry(state, *state.trial(number), now, groups);
    return groups.text();
  }
  template <typename Other>
  Result<std::string> operator()(const Other& /*input*/) const {
    return std::string();
  }
};

}  // namespace

Result<std::string> request_text(const StudyState& state, const Input& input, Timestamp now) {
  return std::visit(Teller{state, now}, input);
}

std::string first_points_text(const std::vector<Point>& points) {
  constexpr std::size_t kShown = 4;
  constexpr std::size_t kLongest = 80;
  std::vector<std::string> shown;
  for (const Point& point : points) {
    if (shown.size() == kShown) {
      shown.push_back(fmt::format("… and {} more", points.size() - kShown));
      break;
    }
    std::vector<std::string> parameters;
    for (const Parameter& parameter : point.parameters) {
      if (parameter.value.is_absent()) continue;
      parameters.push_back(parameter.name + "=" + shell_quote(parameter.value.spelling()));
    }
    shown.push_back(parameters.empty() ? "(no parameters)"
                                       : one_line(join(parameters, " "), kLongest));
  }
  return join(shown, "; ");
}

}  // namespace seedbed
