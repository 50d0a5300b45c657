#include "controller/local_metric_feed.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <utility>

#include "base/text.h"
#include "env/posix/files.h"
#include "metrics/attempt_metrics.h"
#include "metrics/metric_source.h"

namespace seedbed {
namespace {

std::vector<ReadPosition> to_read(const std::vector<SourcePosition>& positions) {
  std::vector<ReadPosition> read;
  read.reserve(positions.size());
  for (const SourcePosition& one : positions) read.push_back({one.source, one.offset, one.state});
  return read;
}

void append(MetricsRead&& read, MetricsReported& reported) {
  for (MetricSample& sample : read.samples) {
    reported.points.push_back({std::move(sample.name), sample.step, sample.value, sample.at});
  }
  for (ReadPosition& one : read.positions) {
    const auto known = std::find_if(
        reported.positions.begin(), reported.positions.end(),
        [&one](const SourcePosition& position) { return position.source == one.source; });
    SourcePosition position{std::move(one.source), one.offset, std::move(one.state)};
    if (known == reported.positions.end()) {
      reported.positions.push_back(std::move(position));
    } else {
      *known = std::move(position);
    }
  }
}

class LocalMetricFeed : public MetricFeed {
 public:
  LocalMetricFeed(const StudySpec& spec, std::string study_dir, std::string working_dir)
      : spec_(spec), study_dir_(std::move(study_dir)), working_dir_(std::move(working_dir)) {}

  void follow(const TrialStatus& trial, AttemptId attempt, const std::vector<SourcePosition>& own,
              const std::vector<SourcePosition>& before) override {
    const std::vector<ReadPosition> start =
        own.empty() ? AttemptMetrics::for_next_attempt(to_read(before)) : to_read(own);
    const AttemptSources sources = sources_of(trial, attempt);
    auto metrics = AttemptMetrics::make(sources, start);
    // A position that cannot be read: the files still hold everything, so read them anew.
    if (!metrics) metrics = AttemptMetrics::make(sources, {});
    if (metrics) followed_[attempt] = {std::move(*metrics), sources.log_path, {}};
  }

  std::vector<MetricsReported> poll(Timestamp now) override {
    std::vector<MetricsReported> all;
    for (auto& [attempt, followed] : followed_) {
      if (followed.log_gone()) continue;
      MetricsReported reported{attempt, {}, {}};
      for (int i = 0; i < kReadsPerPoll; ++i) {
        auto read = followed.metrics->poll(now);
        if (read) append(std::move(*read), reported);
        if (!followed.metrics->behind()) break;
      }
      if (!reported.points.empty() || !reported.positions.empty()) {
        all.push_back(std::move(reported));
      }
    }
    return all;
  }

  Rest finish(AttemptId attempt, Timestamp now) override {
    Rest rest;
    rest.reported.attempt = attempt;
    auto found = followed_.extract(attempt);
    if (found.empty()) return rest;
    AttemptMetrics& metrics = *found.mapped().metrics;
    // It has ended, so it had a log.
    rest.log_gone = found.mapped().log_gone() || !found.mapped().log;
    while (!rest.log_gone && !metrics.done()) {
      auto read = metrics.finish(now);
      if (read) append(std::move(*read), rest.reported);
    }
    rest.traceback_seen = metrics.traceback_seen();
    rest.failure_line = metrics.failure_line();
    rest.names_seen = join(metrics.names_seen(), ", ");
    for (std::string& text : metrics.take_notes()) {
      rest.notes.push_back({attempt.trial, "metrics", std::move(text)});
    }
    return rest;
  }

 private:
  struct Followed {
    std::unique_ptr<AttemptMetrics> metrics;
    std::string log_path;
    std::optional<std::pair<dev_t, ino_t>> log;  ///< as it was first seen

    /// It was there and is not any more, or another file has its place: the study was moved, say,
    /// and a new one of its name begun. Nothing there is this attempt's.
    bool log_gone() {
      struct stat info = {};
      const bool there = ::stat(log_path.c_str(), &info) == 0;
      if (!there) return log.has_value() && errno == ENOENT;
      const std::pair now(info.st_dev, info.st_ino);
      if (!log) log = now;
      return *log != now;
    }
  };

  static constexpr int kReadsPerPoll = 16;  // 16 MiB per source and turn, then others have theirs

  [[nodiscard]] std::string trial_dir(const TrialStatus& trial) const {
    return study_dir_ + "/trials/" + trial.folder;
  }

  [[nodiscard]] AttemptSources sources_of(const TrialStatus& trial, AttemptId attempt) const {
    CommandContext words;
    words.trial = std::to_string(trial.number);
    words.attempt = std::to_string(attempt.attempt);
    words.study_dir = study_dir_;
    words.trial_dir = trial_dir(trial);
    const std::string& base = spec_.workdir == Workdir::trial ? words.trial_dir : working_dir_;
    AttemptSources sources;
    sources.log_path = words.trial_dir + "/attempt-" + std::to_string(attempt.attempt) + ".log";
    sources.client_path = words.trial_dir + "/metrics.jsonl";
    sources.capture = spec_.capture;
    sources.ranks = spec_.resources.ranks;
    for (const CaptureSpec& capture : spec_.capture) {
      if (capture.file.empty()) continue;
      auto path = spec_.command.fill(capture.file, trial.point, words, &spec_.space);
      if (!path) continue;
      sources.files.push_back({capture.file, path->starts_with('/') ? *path : base + "/" + *path});
    }
    return sources;
  }

  const StudySpec& spec_;
  std::string study_dir_;
  std::string working_dir_;
  std::map<AttemptId, Followed> followed_;
};

}  // namespace

Result<std::unique_ptr<MetricFeed>> make_local_metric_feed(const StudySpec& spec,
                                                           std::string study_dir,
                                                           std::string working_dir) {
  auto compiled = make_parser(SourceFormat::output_lines, spec.capture);
  if (!compiled) return propagate(compiled);
  return std::make_unique<LocalMetricFeed>(spec, std::move(study_dir), std::move(working_dir));
}

}  // namespace seedbed
