#include "ports.h"

namespace seedbed::simulation {

void SimMetricFeed::follow(const TrialStatus& /*trial*/, AttemptId attempt,
                           const std::vector<SourcePosition>& own,
                           const std::vector<SourcePosition>& /*before*/) {
  followed_[attempt] = own.empty() ? 0 : own.front().offset;
}

MetricsReported SimMetricFeed::read(AttemptId attempt, std::uint64_t& offset, std::size_t most) {
  MetricsReported reported;
  reported.attempt = attempt;
  const std::vector<Machine::Written> written = machine_.written(attempt);
  while (offset < written.size() && reported.points.size() < most) {
    const Machine::Written& point = written[offset];
    ++offset;
    reported.points.push_back({"loss", static_cast<double>(offset), point.value, clock_.wall()});
  }
  if (!reported.points.empty()) reported.positions.push_back({"log", offset, ""});
  return reported;
}

std::vector<MetricsReported> SimMetricFeed::poll(Timestamp /*now*/) {
  std::vector<MetricsReported> all;
  for (auto& [attempt, offset] : followed_) {
    MetricsReported reported = read(attempt, offset, 1 + random_.below(3));
    if (!reported.points.empty()) all.push_back(std::move(reported));
  }
  return all;
}

MetricFeed::Rest SimMetricFeed::finish(AttemptId attempt, Timestamp /*now*/) {
  Rest rest;
  rest.reported.attempt = attempt;
  const auto followed = followed_.find(attempt);
  if (followed == followed_.end()) return rest;
  rest.reported = read(attempt, followed->second, SIZE_MAX);
  followed_.erase(followed);
  return rest;
}

void SimProposals::ask(std::uint64_t from, std::uint64_t count,
                       std::function<void(ProposalsMade)> answer) {
  ProposalsMade made;
  made.from = from;
  std::uint64_t number = from;
  const std::uint64_t look_at_most = count + 1 + random_.below(10);
  for (; made.points.size() < count && number - from < look_at_most; ++number) {
    if (number >= options_.size) {
      made.exhausted = true;
      break;
    }
    if (auto point = point_of(options_, number)) made.points.push_back({number, std::move(*point)});
  }
  made.next = number;
  const Milliseconds takes(random_.below(4) == 0 ? random_.below(500) : random_.below(3));
  loop_.call_after(takes, [answer = std::move(answer), made = std::move(made)] { answer(made); });
}

void SimLog::write(LogLevel level, std::string_view event, LogFields fields) {
  if (level != LogLevel::error || sync_may_fail) return;
  std::string text(event);
  for (const auto& [key, value] : fields) text += " " + std::string(key) + "=" + value;
  throw Violation("the log has an error: " + text);
}

}  // namespace seedbed::simulation
