#include "metrics/attempt_metrics.h"

#include <algorithm>
#include <set>
namespace seedbed {
namespace {

/// A position without new points is given only when so much would have to be read again.
constexpr std::uint64_t kPositionEveryBytes = 8u << 20;
constexpr std::string_view kNextAttempt = "next ";

// Names of sources. A captured file may be called `log` or `client` too.
constexpr std::string_view kLog = "log";
constexpr std::string_view kClient = "client";
constexpr std::string_view kFile = "file:";

/// Where to go on with a source; nothing: from the beginning. Earlier versions named captured files
/// without a mark.
const ReadPosition* position_of(const std::vector<ReadPosition>& positions,
                                std::string_view source) {
  const ReadPosition* latest = nullptr;
  for (const ReadPosition& position : positions) {
    if (position.source == source) latest = &position;
  }
  if (latest != nullptr || !source.starts_with(kFile)) return latest;
  source.remove_prefix(kFile.size());
  return source == kLog || source == kClient ? nullptr : position_of(positions, source);
}

}  // namespace

Result<std::unique_ptr<AttemptMetrics>> AttemptMetrics::make(
    const AttemptSources& sources, const std::vector<ReadPosition>& positions) {
  auto metrics = std::unique_ptr<AttemptMetrics>(new AttemptMetrics());
  Status added =
      metrics->add_source(kClient, sources.client_path, SourceFormat::json_lines, {}, positions);
  for (const AttemptSources::File& file : sources.files) {
    if (added) {
      added = metrics->add_source(std::string(kFile) + file.name, file.path, format_of(file.name),
                                  {}, positions);
      if (added && !file.path.empty()) metrics->sources_.back().of_ranks = sources.ranks > 1;
    }
  }
  if (added) {
    added = metrics->add_source(kLog, sources.log_path, SourceFormat::output_lines, sources.capture,
                                positions);
  }
  if (!added) return propagate(added);
  return metrics;
}

Status AttemptMetrics::add_source(std::string_view name, const std::string& path,
                                  SourceFormat format, const std::vector<CaptureSpec>& capture,
                                  const std::vector<ReadPosition>& positions) {
  if (path.empty()) return {};
  Result<std::unique_ptr<MetricParser>> parser = make_parser(format, capture);
  if (!parser) return propagate(parser);
  Source source;
  source.name = name;
  source.follower = std::make_unique<FileFollower>(path, std::move(*parser));
  if (const ReadPosition* position = position_of(positions, name)) {
    std::string_view state = position->state;
    const bool next_attempt = state.starts_with(kNextAttempt);
    if (next_attempt) state.remove_prefix(kNextAttempt.size());
    Status resumed = source.follower->resume(position->offset, state, next_attempt);
    if (!resumed) return resumed;
    source.reported_offset = position->offset;
    source.inherited = next_attempt;
  }
  for (const std::string& known : source.follower->parser().names()) {
    owner_.try_emplace(known, sources_.size());
  }
  sources_.push_back(std::move(source));
  return {};
}

std::vector<ReadPosition> AttemptMetrics::for_next_attempt(const std::vector<ReadPosition>& last) {
  std::vector<ReadPosition> positions;
  for (ReadPosition position : last) {
    if (position.source == kLog) continue;
    if (position.state.substr(0, kNextAttempt.size()) != kNextAttempt) {
      position.state.insert(0, kNextAttempt);
    }
    positions.push_back(std::move(position));
  }
  return positions;
}

std::optional<MetricsRead> AttemptMetrics::poll(Timestamp now) {
  MetricsRead read;
  std::vector<ParsedPoint> points;
  behind_ = false;
  // From the highest source down: a name that it gives in the same poll is its own at once.
  for (std::size_t rank = 0; rank < sources_.size(); ++rank) {
    points.clear();
    const FileFollower::Step step = sources_[rank].follower->step(points);
    behind_ = behind_ || step.more;
    take(rank, points, now, read);
    note_position(sources_[rank], !points.empty(), read);
  }
  if (read.empty()) return std::nullopt;
  return read;
}

std::optional<MetricsRead> AttemptMetrics::finish(Timestamp now) {
  std::optional<MetricsRead> read = poll(now);
  if (behind_ || done_) return read;
  MetricsRead rest = read ? std::move(*read) : MetricsRead();
  std::vector<ParsedPoint> points;
  for (std::size_t rank = 0; rank < sources_.size(); ++rank) {
    points.clear();
    sources_[rank].follower->finish(points);
    take(rank, points, now, rest);
    note_position(sources_[rank], !points.empty(), rest);
  }
  done_ = true;
  if (rest.empty()) return std::nullopt;
  return rest;
}

void AttemptMetrics::take(std::size_t rank, std::vector<ParsedPoint>& points, Timestamp now,
                          MetricsRead& read) {
  Source& source = sources_[rank];
  if (source.of_ranks && !source.mixed) source.mixed = repeats_step(source, points);
  if (source.mixed) return;
  for (ParsedPoint& point : points) {
    const auto [owner, fresh] = owner_.try_emplace(point.name, rank);
    if (owner->second < rank) continue;
    owner->second = rank;
    read.samples.push_back({std::move(point.name), point.step, point.value, now});
  }
}

bool AttemptMetrics::repeats_step(Source& source, const std::vector<ParsedPoint>& points) {
  for (const ParsedPoint& point : points) {
    const auto [last, fresh] = source.last_step.try_emplace(point.name, point.step);
    if (!fresh && point.step <= last->second) return true;
    last->second = point.step;
  }
  return false;
}

void AttemptMetrics::note_position(Source& source, bool has_points, MetricsRead& read) {
  const std::uint64_t offset = source.follower->offset();
  const std::uint64_t moved =
      std::max(offset, source.reported_offset) - std::min(offset, source.reported_offset);
  if (!has_points && !source.inherited && moved < kPositionEveryBytes) return;
  source.inherited = false;
  std::erase_if(read.positions, [&](const ReadPosition& p) { return p.source == source.name; });
  read.positions.push_back({source.name, offset, source.follower->state()});
  source.reported_offset = offset;
}

std::vector<std::string> AttemptMetrics::names_seen() const {
  std::set<std::string> names;
  for (const Source& source : sources_) {
    for (std::string& name : source.follower->parser().names()) names.insert(std::move(name));
  }
  return {names.begin(), names.end()};
}

bool AttemptMetrics::traceback_seen() const {
  return std::any_of(sources_.begin(), sources_.end(), [](const Source& source) {
    return source.name == kLog && source.follower->parser().traceback_seen();
  });
}

std::string AttemptMetrics::failure_line() const {
  for (const Source& source : sources_) {
    if (source.name == kLog) return source.follower->parser().failure_line();
  }
  return {};
}

std::vector<std::string> AttemptMetrics::take_notes() {
  std::vector<std::string> notes;
  for (Source& source : sources_) {
    const std::string name =
        source.name.starts_with(kFile) ? source.name.substr(kFile.size()) : source.name;
    for (const std::string& note : source.follower->take_notes()) {
      notes.push_back(name + ": " + note);
    }
    if (source.mixed) {
      notes.push_back(name +
                      ": its steps come more than once, as when all ranks write it: its values are "
                      "not taken; let rank 0 alone write it");
    }
  }
  return notes;
}

}  // namespace seedbed
