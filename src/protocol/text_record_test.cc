#include "protocol/text_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/exit_record_text.h"
#include "protocol/slot_file.h"

namespace seedbed {
namespace {

using ::testing::HasSubstr;

ExitRecord full_record() {
  ExitRecord record;
  record.attempt = {12, 3};
  record.outcome = {OutcomeKind::timed_out, 15, "silence"};
  record.process = {4711, 987654321, "0d7c-boot", "node-7"};
  record.started_ms = 1'800'000'000'001;
  record.ended_ms = 1'800'000'005'002;
  record.wall_ms = 5001;
  record.cpu_ms = 4999;
  record.peak_memory = std::uint64_t{5} << 30;
  record.log_bytes = 77;
  record.stop_asked = true;
  record.fingerprint = "00ff00ff00ff00ff";
  return record;
}

SlotFile full_slot() {
  SlotFile file;
  file.slot = 3;
  file.shim = {100, 200, "boot", "host"};
  file.socket = "/run/user/0/seedbed/0123456789abcdef/slot-3.sock";
  file.attempt = {7, 2};
  file.pid = 101;
  file.start_ticks = 202;
  return file;
}

// A text record around given lines, with a checksum that fits.
std::string with_checksum(const std::string& lines) {
  char check[32];
  std::snprintf(check, sizeof check, "check=%016llx\n",
                static_cast<unsigned long long>(text_checksum(lines)));
  return lines + check;
}

TEST(ExitRecordText, GivesBackEveryField) {
  const auto read = decode_exit_record(encode_exit_record(full_record()));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, full_record());
}

TEST(ExitRecordText, GivesBackEveryOutcomeAndOddDetails) {
  for (int kind = 0; kind <= static_cast<int>(OutcomeKind::out_of_memory); ++kind) {
    for (const std::string& detail :
         {std::string(), std::string("a=b\ncheck=0\r\\n"), std::string("\\"),
          std::string("\0\xff", 2), std::string(9999, 'x'),
          std::string("check=0123456789abcdef\n")}) {
      ExitRecord record = full_record();
      record.outcome = {static_cast<OutcomeKind>(kind), -1, detail};
      const auto read = decode_exit_record(encode_exit_record(record));
      ASSERT_TRUE(read) << read.error().message;
      EXPECT_EQ(*read, record);
    }
  }
}

TEST(ExitRecordText, CutAtEveryByteItIsRecognised) {
  const std::string whole = encode_exit_record(full_record());
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const auto read = decode_exit_record(whole.substr(0, length));
    ASSERT_FALSE(read) << length;
    EXPECT_EQ(read.error().code, ErrorCode::damaged);
  }
}

TEST(ExitRecordText, WithAnyOneByteChangedItIsRecognised) {
  const std::string whole = encode_exit_record(full_record());
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    const auto read = decode_exit_record(changed);
    EXPECT_FALSE(read) << at;
  }
}

TEST(ExitRecordText, ZerosAfterALossOfPowerAreNoRecord) {
  EXPECT_FALSE(decode_exit_record(std::string(400, '\0')));
  EXPECT_FALSE(decode_exit_record(encode_exit_record(full_record()) + std::string(10, '\0')));
}

TEST(ExitRecordText, ForeignTextsAreNoRecord) {
  for (const char* text :
       {"", "\n", "hello\n", "seedbed_exit", "seedbed_exit=1\n",
        "seedbed_exit=1\ncheck=0000000000000000\n", "check=0000000000000000\n"}) {
    EXPECT_FALSE(decode_exit_record(text)) << text;
  }
  const auto slot = decode_exit_record(*encode_slot_file(full_slot()));
  ASSERT_FALSE(slot);
  EXPECT_THAT(slot.error().message, HasSubstr("not a record of this kind"));
}

TEST(ExitRecordText, ANewerVersionIsRefusedByThatName) {
  const auto read = decode_exit_record(with_checksum("seedbed_exit=2\nattempt=1.1\n"));
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("newer seedbed"));
}

TEST(ExitRecordText, UnknownKeysAndMissingNumbersDoNoHarm) {
  const auto read = decode_exit_record(
      with_checksum("seedbed_exit=1\nattempt=1.2\noutcome=exited\nfuture=x\ncode=7z\n"));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->attempt, (AttemptId{1, 2}));
  EXPECT_EQ(read->outcome.code, 0);
  EXPECT_FALSE(decode_exit_record(with_checksum("seedbed_exit=1\nattempt=1.2\noutcome=odd\n")));
  EXPECT_FALSE(decode_exit_record(with_checksum("seedbed_exit=1\nattempt=0.2\noutcome=lost\n")));
  EXPECT_FALSE(decode_exit_record(with_checksum("seedbed_exit=1\nattempt 1.2\n")));
}

TEST(SlotFileText, HasOneSizeAndGivesBackEveryField) {
  const auto text = encode_slot_file(full_slot());
  ASSERT_TRUE(text);
  EXPECT_EQ(text->size(), kSlotFileBytes);
  const auto read = decode_slot_file(*text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, full_slot());
}

TEST(SlotFileText, RefusesWhatDoesNotFit) {
  SlotFile file = full_slot();
  file.socket = std::string(kSlotFileBytes, 's');
  EXPECT_FALSE(encode_slot_file(file));
}

TEST(SlotFileText, AHalfRenewedOneIsRecognised) {
  SlotFile next = full_slot();
  next.attempt = {1234567, 2};
  const std::string before = *encode_slot_file(full_slot());
  const std::string after = *encode_slot_file(next);
  for (std::size_t cut = 1; cut < 300; ++cut) {
    const std::string mixed = after.substr(0, cut) + before.substr(cut);
    const auto read = decode_slot_file(mixed);
    EXPECT_TRUE(!read || *read == full_slot() || *read == next) << cut;
  }
}

}  // namespace
}  // namespace seedbed
