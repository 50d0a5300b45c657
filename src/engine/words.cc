#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "engine/records.h"

namespace seedbed {
namespace {

template <typename Enum, std::size_t kSize>
using Words = std::array<std::pair<Enum, std::string_view>, kSize>;

template <typename Enum, std::size_t kSize>
std::string_view word_of(const Words<Enum, kSize>& words, Enum value) {
  for (const auto& [known, word] : words) {
    if (known == value) return word;
  }
  return "unknown";
}

template <typename Enum, std::size_t kSize>
std::optional<Enum> value_of(const Words<Enum, kSize>& words, std::string_view text) {
  for (const auto& [value, word] : words) {
    if (word == text) return value;
  }
  return std::nullopt;
}

constexpr Words<TrialState, 6> kTrialStateWords = {{{TrialState::waiting, "waiting"},
                                                    {TrialState::running, "running"},
                                                    {TrialState::completed, "completed"},
                                                    {TrialState::failed, "failed"},
                                                    {TrialState::pruned, "pruned"},
                                                    {TrialState::cancelled, "cancelled"}}};

constexpr Words<StopCause, 4> kStopCauseWords = {{{StopCause::pruned, "pruned"},
                                                  {StopCause::cancelled, "cancelled"},
                                                  {StopCause::interrupted, "interrupted"},
                                                  {StopCause::halted, "halted"}}};

constexpr Words<StopMode, 4> kStopModeWords = {{{StopMode::drain, "drain"},
                                                {StopMode::stop, "stop"},
                                                {StopMode::kill, "kill"},
                                                {StopMode::leave, "leave"}}};

constexpr Words<RequeueCause, 5> kRequeueCauseWords = {{{RequeueCause::retry, "retry"},
                                                        {RequeueCause::interrupted, "interrupted"},
                                                        {RequeueCause::lost, "lost"},
                                                        {RequeueCause::preempted, "preempted"},
                                                        {RequeueCause::unclaimed, "unclaimed"}}};

struct RecordWord {
  std::string_view operator()(const SpaceSet&) const { return "space_set"; }
  std::string_view operator()(const RunStarted&) const { return "run_started"; }
  std::string_view operator()(const RunStopping&) const { return "run_stopping"; }
  std::string_view operator()(const RunEnded&) const { return "run_ended"; }
  std::string_view operator()(const TrialProposed&) const { return "trial_proposed"; }
  std::string_view operator()(const TrialKept&) const { return "trial_kept"; }
  std::string_view operator()(const WalkMoved&) const { return "walk_moved"; }
  std::string_view operator()(const SpaceWalked&) const { return "space_walked"; }
  std::string_view operator()(const AttemptPlanned&) const { return "attempt_planned"; }
  std::string_view operator()(const AttemptStarted&) const { return "attempt_started"; }
  std::string_view operator()(const AttemptStopping&) const { return "attempt_stopping"; }
  std::string_view operator()(const AttemptEnded&) const { return "attempt_ended"; }
  std::string_view operator()(const AllocationReleased&) const { return "allocation_released"; }
  std::string_view operator()(const TrialRequeued&) const { return "trial_requeued"; }
  std::string_view operator()(const TrialFinished&) const { return "trial_finished"; }
  std::string_view operator()(const TrialReopened&) const { return "trial_reopened"; }
  std::string_view operator()(const MetricsReported&) const { return "metrics_reported"; }
  std::string_view operator()(const PauseSet&) const { return "pause_set"; }
  std::string_view operator()(const WidthSet&) const { return "width_set"; }
  std::string_view operator()(const ResourcesHeld&) const { return "resources_held"; }
  std::string_view operator()(const NoteAdded&) const { return "note_added"; }
};

bool same_number(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

}  // namespace

std::string_view trial_state_word(TrialState state) { return word_of(kTrialStateWords, state); }
std::optional<TrialState> trial_state_from_word(std::string_view word) {
  return value_of(kTrialStateWords, word);
}

std::string_view stop_cause_word(StopCause cause) { return word_of(kStopCauseWords, cause); }
std::optional<StopCause> stop_cause_from_word(std::string_view word) {
  return value_of(kStopCauseWords, word);
}

std::string_view stop_mode_word(StopMode mode) { return word_of(kStopModeWords, mode); }
std::optional<StopMode> stop_mode_from_word(std::string_view word) {
  return value_of(kStopModeWords, word);
}

std::string_view requeue_cause_word(RequeueCause cause) {
  return word_of(kRequeueCauseWords, cause);
}
std::optional<RequeueCause> requeue_cause_from_word(std::string_view word) {
  return value_of(kRequeueCauseWords, word);
}

std::string_view record_word(const Record& record) { return std::visit(RecordWord{}, record); }

bool MetricPoint::operator==(const MetricPoint& other) const {
  return name == other.name && same_number(step, other.step) && same_number(value, other.value) &&
         at == other.at;
}

}  // namespace seedbed
