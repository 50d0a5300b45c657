#include "store/record_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <variant>

#include "base/text.h"
#include "store/testing.h"

namespace seedbed {
namespace {

using ::testing::HasSubstr;

std::string kind_of(const Record& record) { return std::string(record_word(record)); }

TEST(RecordCodec, EveryKindComesBackAsItWas) {
  std::set<std::size_t> kinds;
  for (const Record& record : testing::records_of_every_kind()) {
    kinds.insert(record.index());
    const std::string body = encode_record(record);
    EXPECT_TRUE(is_valid_utf8(body)) << body;
    EXPECT_EQ(body.find('\n'), std::string::npos) << body;
    const auto back = decode_record(kind_of(record), body);
    ASSERT_TRUE(back) << back.error().message << "\n" << body;
    EXPECT_TRUE(*back == record) << body;
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<Record>) << "a kind has no sample";
}

TEST(RecordCodec, SpellingsComeBackAsTyped) {
  for (const char* spelling : {"1e-3", "1E-3", ".5", "5.", "1.10", "-0", "007", "0x10", "nan"}) {
    TrialProposed record = testing::sample_trial(1);
    record.point.parameters = {{"x", Value::from_plain(spelling)}};
    const auto back = decode_record("trial_proposed", encode_record(record));
    ASSERT_TRUE(back);
    const Value& value = std::get<TrialProposed>(*back).point.parameters.at(0).value;
    EXPECT_EQ(value.spelling(), spelling);
    EXPECT_EQ(value.kind(), Value::from_plain(spelling).kind());
  }
}

TEST(RecordCodec, KindOfANewerVersionIsRefusedWithWords) {
  const auto record = decode_record("trial_cloned", "{}");
  ASSERT_FALSE(record);
  EXPECT_EQ(record.error().code, ErrorCode::usage);
  EXPECT_THAT(record.error().message, HasSubstr("trial_cloned"));
  EXPECT_THAT(record.error().message, HasSubstr("newer"));
}

TEST(RecordCodec, FieldsOfANewerVersionArePassedOver) {
  const auto record = decode_record("pause_set", R"({"paused":true,"until":[1,{"x":null}]})");
  ASSERT_TRUE(record);
  EXPECT_TRUE(*record == Record(PauseSet{true}));
}

TEST(RecordCodec, AMissingFieldIsNamed) {
  const auto record = decode_record("trial_finished", R"({"trial":4,"state":"completed"})");
  ASSERT_FALSE(record);
  EXPECT_EQ(record.error().code, ErrorCode::damaged);
  EXPECT_THAT(record.error().message, HasSubstr("reason"));
}

TEST(RecordCodec, CaseI7_NoCutOrFlippedBodyIsTakenForAnotherRecordOfItsFields) {
  for (const Record& record : testing::records_of_every_kind()) {
    const std::string body = encode_record(record);
    for (std::size_t size = 0; size < body.size(); ++size) {
      EXPECT_FALSE(decode_record(kind_of(record), body.substr(0, size))) << body.substr(0, size);
    }
    for (std::size_t i = 0; i < body.size(); ++i) {
      for (const char byte : {'\0', '"', '9'}) {
        std::string changed = body;
        changed[i] = byte;
        static_cast<void>(decode_record(kind_of(record), changed));  // must only not abort
      }
    }
  }
}

TEST(RecordCodec, ValuesOutOfRangeAreRefused) {
  const std::pair<const char*, const char*> bad[] = {
      {"width_set", R"({"slots":4294967296})"},
      {"width_set", R"({"slots":-1})"},
      {"width_set", R"({"slots":1.5})"},
      {"width_set", R"({"slots":"2"})"},
      {"width_set", R"({"slots":99999999999999999999999})"},
      {"trial_reopened", R"({"trial":0,"why":""})"},
      {"trial_reopened", R"({"trial":-3,"why":""})"},
      {"trial_finished", R"({"trial":1,"state":"running","reason":"","metric_missing":false})"},
      {"trial_finished", R"({"trial":1,"state":"ended","reason":"","metric_missing":false})"},
      {"allocation_released", R"({"attempt":"1.0"})"},
      {"allocation_released", R"({"attempt":"1"})"},
      {"allocation_released", R"({"attempt":12})"},
      {"note_added", R"({"trial":0,"kind":{"hex":"6"},"text":""})"},
      {"note_added", R"({"trial":0,"kind":{"hex":"xx"},"text":""})"},
      {"note_added", R"({"trial":0,"kind":{"hex":"61","more":1},"text":""})"},
      {"pause_set", R"({"paused":1})"},
      {"pause_set", R"([true])"},
      {"pause_set", R"(null)"},
      {"pause_set", ""},
      {"attempt_planned", R"({"attempt":"1.1","slot":0,"cores":["a"],"cpus":1})"},
      {"attempt_planned", R"({"attempt":"1.1","slot":0,"cores":[],"cpus":"much"})"},
      {"attempt_planned", R"({"attempt":"1.1","slot":0,"cores":[],"cpus":1,"devices":[[1]]})"},
  };
  for (const auto& [kind, body] : bad) {
    const auto record = decode_record(kind, body);
    EXPECT_FALSE(record) << kind << " " << body;
  }
}

TEST(RecordCodec, AParameterThatCallsAWordANumberIsRefused) {
  TrialProposed record = testing::sample_trial(1);
  record.point.parameters = {{"x", Value::from_plain("0.5")}};
  std::string body = encode_record(record);
  body.replace(body.find("0.5"), 3, "0x5");
  EXPECT_FALSE(decode_record("trial_proposed", body));
}

TEST(RecordCodec, TheDeepestValueThatReadersTakeComesBack) {
  const std::string text = std::string(kMaxNesting, '[') + "\"a\"" + std::string(kMaxNesting, ']');
  TrialProposed record = testing::sample_trial(1);
  record.point.parameters = {{"x", Value::structure(text, text)}};
  record.identity = record.point.identity();
  const auto back = decode_record("trial_proposed", encode_record(record));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_TRUE(*back == Record(record));
}

TEST(RecordCodec, DeepNestingDoesNoHarm) {
  const std::string deep(50'000, '[');
  EXPECT_FALSE(decode_record("pause_set", deep));
  EXPECT_FALSE(decode_record("pause_set", "{\"x\":" + deep));
  const std::string closed = deep + std::string(50'000, ']');
  EXPECT_FALSE(decode_record("pause_set", "{\"x\":" + closed + "}"));
}

}  // namespace
}  // namespace seedbed
