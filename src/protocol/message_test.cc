#include "protocol/message.h"

#include <gtest/gtest.h>

#include <random>

namespace seedbed {
namespace {

StartOrder full_order() {
  StartOrder order;
  order.attempt = {5, 2};
  order.argv = {"python3", "train.py", "", "--lr=1e-3", std::string("n\0ul", 4)};
  order.environment = {"PATH=/usr/bin", "EMPTY="};
  order.working_dir = "/home/a b";
  order.trial_dir = "/home/a b/studies/s/trials/5";
  order.watched_files = {"out/progress.csv"};
  order.cores = {0, 3, 4095};
  order.time_limit_ms = 1;
  order.silence_limit_ms = 2;
  order.log_limit = 3;
  order.grace_ms = 4;
  order.prune_grace_ms = 5;
  order.stop_file = "/stop";
  order.fingerprint = "00ff00ff00ff00ff";
  order.locks = 3;
  order.nice = true;
  return order;
}

std::vector<Message> one_of_each() {
  ExitRecord record;
  record.attempt = {5, 2};
  record.outcome = {OutcomeKind::exited, 3, "why\n"};
  const ProcessIdentity process{77, 88, "boot", "host"};
  return {ControllerHello{},
          full_order(),
          StopOrder{{5, 2}, true},
          KillOrder{{5, 2}},
          LeaveWhenIdle{},
          EndAllAndLeave{},
          ShimHello{1, 3, process, ShimState::ending, {5, 2}},
          RunningNews{{5, 2}, process},
          DidNotStartNews{{5, 2}, "no execute permission"},
          ClaimRefusedNews{{5, 2}},
          EndedNews{record},
          TreeGoneNews{{5, 2}},
          NoteNews{{5, 2}, "the log could not be cut"},
          FreezeOrder{{5, 2}, true}};
}

std::string payload(const Message& message) { return encode_message(message).substr(4); }

TEST(Messages, EachComesBackAsItWasSent) {
  const std::vector<Message> all = one_of_each();
  ASSERT_EQ(all.size(), std::variant_size_v<Message>);
  for (const Message& message : all) {
    const auto read = decode_message(payload(message));
    ASSERT_TRUE(read) << message.index() << ": " << read.error().message;
    EXPECT_EQ(*read, message) << message.index();
  }
}

TEST(Messages, ACutPayloadNeverCrashesOrChangesItsKind) {
  for (const Message& message : one_of_each()) {
    const std::string whole = payload(message);
    for (std::size_t length = 0; length < whole.size(); ++length) {
      const auto read = decode_message(std::string_view(whole).substr(0, length));
      EXPECT_TRUE(!read || read->index() == message.index());
    }
  }
}

TEST(Messages, AnUnknownFieldIsSkippedAndAnUnknownTypeRefused) {
  std::string more = payload(StopOrder{{5, 2}, true});
  more += std::string("\xf0\x02\x00\x00\x00zz", 7);
  const auto read = decode_message(more);
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, Message(StopOrder{{5, 2}, true}));
  EXPECT_FALSE(decode_message("\x63"));
  EXPECT_FALSE(decode_message(""));
}

TEST(Messages, OrdersWithoutAnAttemptOrACommandAreRefused) {
  EXPECT_FALSE(decode_message("\x02"));
  StartOrder order = full_order();
  order.argv.clear();
  EXPECT_FALSE(decode_message(payload(order)));
}

TEST(Messages, LengthsThatPointBeyondTheEndAreRefused) {
  std::string bad = payload(StopOrder{{5, 2}, true});
  bad[2] = '\x7f';
  EXPECT_FALSE(decode_message(bad));
  bad[4] = '\xff';
  EXPECT_FALSE(decode_message(bad));
}

TEST(Messages, TooLargeAFrameIsNotMade) {
  StartOrder order = full_order();
  order.environment.assign(90, std::string(100'000, 'x'));
  EXPECT_EQ(encode_message(order), "");
}

TEST(Messages, RandomBytesAreAlwaysAnAnswerNeverACrash) {
  std::mt19937 random(7);
  for (int i = 0; i < 4'000; ++i) {
    std::string bytes(random() % 60, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random() % 16);
    const auto read = decode_message(bytes);
    EXPECT_TRUE(!read || decode_message(payload(*read)));
  }
}

TEST(Frames, HoweverTheStreamIsCutTheMessagesAreTheSame) {
  std::string stream;
  for (const Message& message : one_of_each()) stream += encode_message(message);
  for (const std::size_t piece : {1U, 2U, 3U, 7U, 64U, 1000U, 100'000U}) {
    FrameBuffer buffer;
    std::vector<Message> read;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      buffer.feed(std::string_view(stream).substr(at, piece));
      while (const auto frame = buffer.next()) read.push_back(*decode_message(*frame));
    }
    EXPECT_EQ(read, one_of_each()) << piece;
    EXPECT_FALSE(buffer.bad());
  }
}

TEST(Frames, AnImpossibleLengthEndsTheStreamAtOnce) {
  FrameBuffer buffer;
  buffer.feed(std::string("\xff\xff\xff\x7f", 4));
  EXPECT_FALSE(buffer.next());
  EXPECT_TRUE(buffer.bad());
  FrameBuffer empty;
  empty.feed(std::string(4, '\0'));
  EXPECT_FALSE(empty.next());
  EXPECT_TRUE(empty.bad());
}

}  // namespace
}  // namespace seedbed
