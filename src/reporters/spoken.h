#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reporters/lines.h"

namespace seedbed {

/// What the plain reporter and the live view have in common: which lines a commit gives, the
/// numbers beside the state, since when the run winds down, and the latest time that is known
/// (reporters have no clock).
class Spoken {
 public:
  /// `every_end`: also trials that completed get a line.
  Spoken(ReportFacts facts, LogTail tail, bool colour, bool every_end);

  /// The lines of one commit; the start lines in front of the first.
  [[nodiscard]] std::vector<std::string> take(const std::vector<Entry>& entries,
                                              const StudyState& state);
  /// The start lines, when they are still due at a tick.
  [[nodiscard]] std::vector<std::string> take_time(Timestamp now, const StudyState& state);
  [[nodiscard]] std::vector<std::string> closing(const StudyState& state) const;

  [[nodiscard]] Timestamp now() const { return now_; }
  [[nodiscard]] Timestamp stopping_since() const { return stopping_since_; }
  [[nodiscard]] bool started() const { return started_; }
  [[nodiscard]] const Progress& numbers() const { return progress_; }
  [[nodiscard]] const Lines& lines() const { return lines_; }
  [[nodiscard]] const ReportFacts& facts() const { return facts_; }

 private:
  /// A view that reads the records gets those of earlier runs too, all at once: they are no news.
  [[nodiscard]] std::size_t first_news(const std::vector<Entry>& entries) const;
  void start(const StudyState& state, std::vector<std::string>& text);
  void take_stopping(const StudyState& state, std::vector<std::string>& text);

  ReportFacts facts_;
  Progress progress_;
  Lines lines_;
  bool every_end_;
  bool started_ = false;
  Timestamp now_;
  std::optional<RunStopping> stopping_;  ///< what was said last
  Timestamp stopping_since_;
};

}  // namespace seedbed
