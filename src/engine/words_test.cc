#include <gtest/gtest.h>

#include "engine/engine.h"

namespace seedbed {
namespace {

TEST(HaltRule, ReadsItsThreeFormsAndRefusesTheRest) {
  EXPECT_EQ(HaltRule::parse("")->kind, HaltRule::Kind::never);
  EXPECT_EQ(HaltRule::parse("never")->kind, HaltRule::Kind::never);
  EXPECT_EQ(HaltRule::parse("First")->kind, HaltRule::Kind::first);
  EXPECT_EQ(HaltRule::parse("12")->threshold, 12);
  EXPECT_EQ(HaltRule::parse("2.5%")->threshold, 2.5);
  EXPECT_EQ(HaltRule::parse("100%")->kind, HaltRule::Kind::percent);
  for (const char* wrong : {"0", "-1", "1.5", "0%", "101%", "%", "ten", "3 %%", "nan", "inf", "1e3",
                            "nan%", "99999999999999999999"}) {
    const auto rule = HaltRule::parse(wrong);
    ASSERT_FALSE(rule) << wrong;
    EXPECT_EQ(rule.error().code, ErrorCode::usage);
    EXPECT_NE(rule.error().message.find(wrong), std::string::npos);
  }
}

TEST(Words, EveryValueHasAWordThatReadsBack) {
  for (int i = 0; i < 6; ++i) {
    const auto state = static_cast<TrialState>(i);
    EXPECT_EQ(trial_state_from_word(trial_state_word(state)), state);
  }
  for (int i = 0; i < 4; ++i) {
    const auto cause = static_cast<StopCause>(i);
    EXPECT_EQ(stop_cause_from_word(stop_cause_word(cause)), cause);
    const auto mode = static_cast<StopMode>(i);
    EXPECT_EQ(stop_mode_from_word(stop_mode_word(mode)), mode);
  }
  for (int i = 0; i < 5; ++i) {
    const auto cause = static_cast<RequeueCause>(i);
    EXPECT_EQ(requeue_cause_from_word(requeue_cause_word(cause)), cause);
  }
  EXPECT_FALSE(trial_state_from_word("done"));
  EXPECT_EQ(record_word(Record{TrialProposed{}}), "trial_proposed");
}

}  // namespace
}  // namespace seedbed
