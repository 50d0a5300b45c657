#include "reporters/output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

namespace seedbed {
namespace {

struct Pipe {
  Pipe() { EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0); }
  ~Pipe() {
    close_reader();
    if (ends[1] >= 0) ::close(ends[1]);
  }
  void close_reader() {
    if (ends[0] >= 0) ::close(ends[0]);
    ends[0] = -1;
  }
  std::string take(std::size_t most = 1 << 20) const {
    std::string bytes(most, '\0');
    const ssize_t n = ::read(ends[0], bytes.data(), most);
    bytes.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return bytes;
  }
  int ends[2] = {-1, -1};
};

TEST(DescriptorOutput, ABrokenPipeRaisesNoSignalAndIsSilentForEver) {
  // Default disposition: a SIGPIPE would end this test program.
  ASSERT_NE(::signal(SIGPIPE, SIG_DFL), SIG_ERR);
  Pipe pipe;
  const auto output = make_descriptor_output(pipe.ends[1], {});
  EXPECT_TRUE(output->write("one\n"));
  EXPECT_EQ(pipe.take(), "one\n");
  pipe.close_reader();
  EXPECT_FALSE(output->write("two\n"));
  EXPECT_FALSE(output->write("three\n"));
  EXPECT_FALSE(output->busy());
  sigset_t pending;
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0) << "the swallowed signal must not stay behind";
}

TEST(DescriptorOutput, ASlowReaderNeverBlocksAndLosesNothingWithinTheLimit) {
  Pipe pipe;
  const auto output = make_descriptor_output(pipe.ends[1], {});
  std::string sent;
  for (int i = 0; i < 3000; ++i) {
    const std::string line = "line " + std::to_string(i) + std::string(100, '.') + "\n";
    sent += line;
    ASSERT_TRUE(output->write(line));  // far beyond what the pipe holds, nobody reads
  }
  EXPECT_TRUE(output->busy());
  std::string got;
  while (got.size() < sent.size()) {
    got += pipe.take();
    ASSERT_TRUE(output->write({}));
  }
  EXPECT_EQ(got, sent);
  EXPECT_FALSE(output->busy());
  EXPECT_EQ(output->dropped(), 0U);
}

TEST(DescriptorOutput, AboveTheLimitWholeWritesAreDroppedAndCounted) {
  Pipe pipe;
  const auto output = make_descriptor_output(pipe.ends[1], {}, 10'000);
  const std::string line = std::string(999, 'x') + "\n";
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(output->write(line));
  EXPECT_GT(output->dropped(), 0U);
  std::string got;
  while (output->busy()) {
    got += pipe.take();
    output->write({});
  }
  got += pipe.take();
  EXPECT_EQ(got.size() % line.size(), 0U) << "no torn lines";
  EXPECT_EQ(got.size() / line.size() + output->dropped(), 200U);
}

TEST(DescriptorOutput, DrainGivesUpInTime) {
  Pipe pipe;
  const auto output = make_descriptor_output(pipe.ends[1], {});
  output->write(std::string(1 << 20, 'x'));
  output->drain(Milliseconds(20));
  EXPECT_TRUE(output->busy());
}

TEST(DescriptorOutput, AFullDiskDropsTheWriteAndTriesAgain) {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  if (full < 0) GTEST_SKIP() << "no /dev/full";
  const auto output = make_descriptor_output(full, {});
  EXPECT_TRUE(output->write("a\n"));
  EXPECT_TRUE(output->write("b\n"));
  EXPECT_EQ(output->dropped(), 2U);
  ::close(full);
}

TEST(DescriptorOutput, AClosedDescriptorIsSilence) {
  const auto output = make_descriptor_output(-1, {});
  EXPECT_FALSE(output->write("a"));
  EXPECT_FALSE(output->is_terminal());
  EXPECT_EQ(output->width(), 80U);
}

struct Terminal {
  Terminal() {
    winsize size{};
    size.ws_col = 57;
    size.ws_row = 13;
    EXPECT_EQ(::openpty(&master, &slave, nullptr, nullptr, &size), 0);
  }
  ~Terminal() {
    if (master >= 0) ::close(master);
    ::close(slave);
  }
  int master = -1, slave = -1;
};

TEST(DescriptorOutput, ATerminalHasItsSizeAlsoAfterAResize) {
  Terminal terminal;
  const auto output = make_descriptor_output(terminal.slave, {"xterm", ""});
  EXPECT_TRUE(output->is_terminal());
  EXPECT_TRUE(output->colour());
  EXPECT_EQ(output->width(), 57U);
  EXPECT_EQ(output->height(), 13U);
  winsize size{};
  size.ws_col = 20;
  size.ws_row = 5;
  ASSERT_EQ(::ioctl(terminal.master, TIOCSWINSZ, &size), 0);
  EXPECT_EQ(output->width(), 20U);
  EXPECT_EQ(output->height(), 5U);
}

TEST(DescriptorOutput, ColourAndCursorFollowTheEnvironment) {
  Terminal terminal;
  EXPECT_FALSE(make_descriptor_output(terminal.slave, {"xterm", "1"})->colour());
  EXPECT_TRUE(make_descriptor_output(terminal.slave, {"xterm", "1"})->is_terminal());
  EXPECT_FALSE(make_descriptor_output(terminal.slave, {"dumb", ""})->is_terminal());
  EXPECT_FALSE(make_descriptor_output(terminal.slave, {"", ""})->is_terminal());
  Pipe pipe;
  EXPECT_FALSE(make_descriptor_output(pipe.ends[1], {"xterm", ""})->colour());
}

TEST(DescriptorOutput, AClosedTerminalIsSilenceForEver) {
  Terminal terminal;
  const auto output = make_descriptor_output(terminal.slave, {"xterm", ""});
  ::close(terminal.master);
  terminal.master = -1;
  bool taken = true;
  for (int i = 0; i < 3; ++i) taken = output->write("x\n");
  EXPECT_FALSE(taken);
  EXPECT_FALSE(output->busy());
}

TEST(DescriptorOutput, AStoppedTerminalDoesNotBlock) {
  Terminal terminal;
  const auto output = make_descriptor_output(terminal.slave, {"xterm", ""});
  ASSERT_EQ(::ioctl(terminal.slave, TCXONC, TCOOFF), 0);  // as Ctrl-S does
  for (int i = 0; i < 500; ++i) EXPECT_TRUE(output->write(std::string(100, 'x') + "\n"));
  EXPECT_TRUE(output->busy());
  ::ioctl(terminal.slave, TCXONC, TCOON);
}

}  // namespace
}  // namespace seedbed
