#include <fmt/format.h>

#include "reporters/make_reporter.h"
#include "reporters/spoken.h"

namespace seedbed {
namespace {

constexpr Milliseconds kBetweenProgress{30'000};
constexpr Milliseconds kLastWords{60'000};  // how long a slow pipe may take over the closing lines

class PlainReporter final : public Reporter {
 public:
  PlainReporter(Output& output, ReportFacts facts, LogTail tail)
      : output_(output), spoken_(std::move(facts), std::move(tail), output.colour(), true) {}

  void committed(const std::vector<Entry>& entries, const StudyState& state) override {
    if (silent_) return;
    write(spoken_.take(entries, state));
    if (progress_due_.ms == 0) progress_due_ = spoken_.now() + kBetweenProgress;
  }

  void tick(Timestamp now, const StudyState& state) override {
    if (silent_) return;
    std::vector<std::string> text = spoken_.take_time(now, state);
    if (progress_due_.ms == 0) progress_due_ = now + kBetweenProgress;
    // A clock set back must not silence the line for as long as it was set back.
    if (progress_due_ - now > kBetweenProgress) progress_due_ = now + kBetweenProgress;
    if (now >= progress_due_) {
      progress_due_ = now + kBetweenProgress;
      if (!state.open_attempts().empty() && !output_.busy()) {
        text.push_back(spoken_.lines().progress(now, state, spoken_.numbers()));
      }
    }
    write(text);
  }

  void ended(const StudyState& state) override {
    if (silent_) return;
    write(spoken_.closing(state));
    output_.drain(kLastWords);
  }

  void trouble(const std::string& text) override {
    if (!silent_) write({spoken_.lines().trouble(text)});
  }

  void left(const StudyState& /*state*/) override {
    if (silent_) return;
    write(spoken_.lines().left());
    output_.drain(kLastWords);
  }

 private:
  /// One write for all, so that lines of others cannot come between.
  void write(const std::vector<std::string>& text) {
    std::string bytes;
    for (const std::string& line : text) bytes += line + '\n';
    if (output_.dropped() > dropped_ && !output_.busy()) {
      const std::uint64_t lost = output_.dropped() - dropped_;
      bytes = fmt::format("({} message{} lost: the reader was too slow or the disk full)\n", lost,
                          lost == 1 ? " was" : "s were") +
              bytes;
      dropped_ = output_.dropped();
    }
    silent_ = !output_.write(bytes);
  }

  Output& output_;
  Spoken spoken_;
  Timestamp progress_due_;
  std::uint64_t dropped_ = 0;
  bool silent_ = false;
};

}  // namespace

std::unique_ptr<Reporter> make_plain_reporter(Output& output, ReportFacts facts, LogTail tail) {
  return std::make_unique<PlainReporter>(output, std::move(facts), std::move(tail));
}

}  // namespace seedbed
