#include "store/mend.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/state.h"
#include "store/testing.h"

namespace seedbed {
namespace {

std::vector<Entry> whole_story() {
  std::vector<Entry> story = {{{0}, testing::sample_space()}, {{0}, testing::sample_run()}};
  for (TrialNumber trial = 1; trial <= 4; ++trial) {
    for (Entry& entry : testing::sample_life(trial, 1000 * static_cast<std::int64_t>(trial))) {
      story.push_back(std::move(entry));
    }
  }
  // Trial 5 fails, is tried again, and then found to have ended well after all.
  story.push_back({{9000}, testing::sample_trial(5)});
  story.push_back({{9001}, AttemptPlanned{{5, 1}, testing::sample_allocation(5)}});
  story.push_back({{9002}, AttemptEnded{{5, 1}, {OutcomeKind::lost, 0, ""}, {}}});
  story.push_back({{9003}, AllocationReleased{{5, 1}}});
  story.push_back({{9004}, TrialRequeued{5, RequeueCause::lost, {}}});
  story.push_back({{9005}, AttemptEnded{{5, 1}, {}, {}}});
  story.push_back({{9006}, TrialFinished{5, TrialState::completed, "", false}});
  story.push_back({{9007}, TrialReopened{5, "retry"}});
  story.push_back({{9008}, AttemptPlanned{{5, 2}, testing::sample_allocation(5)}});
  story.push_back({{9009}, testing::sample_start({5, 2})});
  story.push_back({{9010}, AttemptStopping{{5, 2}, StopCause::interrupted, "INT"}});
  story.push_back({{9011}, RunStopping{1, StopMode::stop, 130, "INT"}});
  story.push_back({{9012}, RunEnded{1, 130, "interrupted"}});
  return story;
}

TEST(Mender, ASequenceWithoutHolesStaysAsItIs) {
  Mender mender;
  std::vector<Entry> kept;
  for (const Entry& entry : whole_story()) {
    for (Entry& one : mender.take(entry)) kept.push_back(std::move(one));
  }
  EXPECT_TRUE(kept == whole_story());
  EXPECT_EQ(mender.left_out(), 0U);
  EXPECT_EQ(mender.added(), 0U);
}

// The state aborts on records that contradict each other, and so does lending a slot twice.
void fold(const std::vector<Entry>& story, std::size_t first, std::size_t count) {
  Mender mender;
  mender.know({{0}, testing::sample_space()});
  StudyState state;
  Placement placement([] {
    Inventory inventory;
    inventory.cores = {{0, 0, 0, 0}, {1, 1, 0, 0}};
    inventory.slots = 2;
    return inventory;
  }());
  std::map<AttemptId, Allocation> lent;
  for (std::size_t i = 0; i < story.size(); ++i) {
    if (i >= first && i < first + count) continue;
    for (const Entry& entry : mender.take(story[i])) {
      state.apply(entry);
      if (const auto* planned = std::get_if<AttemptPlanned>(&entry.record)) {
        placement.lend(planned->allocation);
        lent[planned->attempt] = planned->allocation;
      } else if (const auto* released = std::get_if<AllocationReleased>(&entry.record)) {
        placement.give_back(lent.at(released->attempt));
      }
    }
  }
  for (const Entry& entry : mender.finish({99'999})) state.apply(entry);
  ASSERT_TRUE(state.space());
  for (const auto& [number, trial] : state.trials()) {
    if (trial.state == TrialState::running) {
      EXPECT_NE(trial.attempts.back().phase, AttemptPhase::ended) << "nobody would ever decide";
    }
    if (number == 5 || trial.state != TrialState::completed) continue;
    EXPECT_FALSE(trial.attempts.empty()) << "a result without an attempt";
  }
}

TEST(Mender, CaseI7_AnyHoleLeavesASequenceThatFolds) {
  const std::vector<Entry> story = whole_story();
  for (std::size_t count = 1; count <= 12; ++count) {
    for (std::size_t first = 0; first < story.size(); ++first) {
      SCOPED_TRACE(std::to_string(first) + "+" + std::to_string(count));
      fold(story, first, count);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(Mender, ATrialWhoseFateIsMissingIsPutBackWithANote) {
  Mender mender;
  std::vector<Entry> kept;
  for (const Entry& entry : whole_story()) {
    const auto* finished = std::get_if<TrialFinished>(&entry.record);
    if (finished != nullptr && (finished->trial == 2 || finished->trial == 4)) continue;
    for (Entry& one : mender.take(entry)) kept.push_back(std::move(one));
  }
  for (Entry& one : mender.finish({99'999})) kept.push_back(std::move(one));
  EXPECT_EQ(mender.put_back(), (std::vector<TrialNumber>{2, 4}));
  EXPECT_EQ(mender.added(), 0U) << "no record proves what was put in";
  StudyState state;
  for (const Entry& entry : kept) state.apply(entry);
  for (const TrialNumber number : {2U, 4U}) {
    EXPECT_EQ(state.trial(number)->state, TrialState::waiting);
    EXPECT_TRUE(state.trial(number)->attempts.back().outcome.succeeded())
        << "how the attempt ended is known and stays";
  }
  EXPECT_EQ(state.trial(1)->state, TrialState::completed);
  ASSERT_EQ(state.notes().size(), 2U);
  EXPECT_EQ(std::get<NoteAdded>(state.notes()[1].record).trial, 4U);
  EXPECT_NE(std::get<NoteAdded>(state.notes()[1].record).text.find("run again"), std::string::npos);
}

TEST(Mender, AnAttemptWhoseEndIsMissingIsLeftForTheNextRunToAdopt) {
  Mender mender;
  StudyState state;
  for (const Entry& entry : whole_story()) {
    const auto* ended = std::get_if<AttemptEnded>(&entry.record);
    const auto* finished = std::get_if<TrialFinished>(&entry.record);
    if (ended != nullptr && ended->attempt.trial == 4) continue;
    if (finished != nullptr && finished->trial == 4) continue;
    for (const Entry& one : mender.take(entry)) state.apply(one);
  }
  EXPECT_TRUE(mender.finish({99'999}).empty());
  const std::vector<AttemptId> open = state.open_attempts();
  EXPECT_EQ(std::count(open.begin(), open.end(), AttemptId{4, 1}), 1);
}

}  // namespace
}  // namespace seedbed
