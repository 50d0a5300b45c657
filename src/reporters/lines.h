#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/state.h"
#include "reporters/make_reporter.h"
#include "reporters/progress.h"
#include "reporters/style.h"

namespace seedbed {

/// STUDY_DIR/trials/FOLDER/attempt-N.log
[[nodiscard]] std::string log_path(const std::string& study_dir, const std::string& folder,
                                   std::uint32_t attempt);

/// How a trial is called in every line: its folder's name.
[[nodiscard]] std::string trial_label(const TrialStatus& trial);

/// `val_acc=0.957`; without a named metric the first two that were reported.
[[nodiscard]] std::string metrics_text(const TrialStatus& trial, const StudyState& state);

/// `step 12  val_acc=0.957` of a running trial, as far as known.
[[nodiscard]] std::string progress_text(const TrialStatus& trial, const StudyState& state);

/// `20 completed, 1 failed, 2 running, 10 waiting`: completed always, others where there are any.
[[nodiscard]] std::vector<Span> counts_text(const StudyState& state, const Progress& numbers);

/// `maximize`, `minimize`.
[[nodiscard]] std::string_view goal_text(Goal goal);

/// The wording of everything that is said once, line by line; the same in the plain reporter and
/// above the live view. Lines are safe for a terminal, complete (never cut to its width) and
/// without their line end.
class Lines {
 public:
  Lines(const ReportFacts& facts, LogTail tail, bool colour);

  using Text = std::vector<std::string>;

  /// The study, its size, the machine, what is already done.
  [[nodiscard]] Text start(const StudyState& state, const Progress& numbers) const;

  /// What an entry has to say, if anything. `state` is that after the whole commit; `done` the
  /// number of trials done after this entry.
  [[nodiscard]] Text entry(const Entry& entry, const StudyState& state, const Progress& numbers,
                           std::uint64_t done);

  [[nodiscard]] std::string progress(Timestamp now, const StudyState& state,
                                     const Progress& numbers) const;

  [[nodiscard]] Text closing(const StudyState& state, const Progress& numbers,
                             Milliseconds took) const;

  [[nodiscard]] Text left() const;

  [[nodiscard]] std::string trouble(const std::string& text) const;

  /// How the run winds down, in words: why, what happens, and what the next Ctrl-C does.
  [[nodiscard]] std::string stopping(const RunStopping& stopping, Timestamp since, Timestamp now,
                                     std::uint64_t running) const;

 private:
  [[nodiscard]] std::string paint_line(const std::vector<Span>& spans) const;
  [[nodiscard]] std::string counter(const StudyState& state, const Progress& numbers,
                                    std::uint64_t done) const;
  [[nodiscard]] std::string word_for_commands() const;
  void finished(const TrialFinished& record, const StudyState& state, const std::string& counter,
                Text& text);
  void requeued(const TrialRequeued& record, Timestamp at, const StudyState& state,
                const std::string& counter, Text& text);
  void add_tail(const TrialStatus& trial, const AttemptStatus& attempt, Text& text);
  void add_best(const Closing& closing, const StudyState& state, Text& text) const;

  const ReportFacts* facts_;
  LogTail tail_;
  bool colour_;
  std::uint64_t tails_shown_ = 0;
};

}  // namespace seedbed
