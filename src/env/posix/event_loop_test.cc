#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "env/posix/files.h"
#include "env/posix/posix.h"
#include "env/posix/signals.h"

namespace seedbed {
namespace {

using std::chrono::milliseconds;

// Stops the loop, and fails, if the test forgets to end.
class LoopTest : public ::testing::Test {
 protected:
  void run() {
    const auto watchdog = loop->call_after(milliseconds(20'000), [this] {
      ADD_FAILURE() << "the loop did not end by itself";
      loop->stop();
    });
    loop->run();
    loop->cancel(watchdog);
  }
  std::unique_ptr<EventLoop> loop = make_posix_event_loop();
};

TEST_F(LoopTest, PostedCallbacksRunInOrderAndNeverInsideTheCall) {
  std::string order;
  loop->post([&] {
    order += "a";
    loop->post([&] {
      order += "c";
      loop->stop();
    });
    order += "b";
  });
  run();
  EXPECT_EQ(order, "abc");
}

TEST_F(LoopTest, PostFromAnotherThreadWakesASleepingLoop) {
  std::thread other([&] { loop->post([&] { loop->stop(); }); });
  run();
  other.join();
}

TEST_F(LoopTest, TimersFireInOrderOfTimeAndACancelledOneNever) {
  std::string order;
  loop->call_after(milliseconds(20), [&] {
    order += "2";
    loop->stop();
  });
  const auto cancelled = loop->call_after(milliseconds(10), [&] { order += "x"; });
  loop->call_after(milliseconds(1), [&] {
    order += "1";
    loop->cancel(cancelled);
  });
  run();
  EXPECT_EQ(order, "12");
}

TEST_F(LoopTest, ATimerCancelledWhenItHasAlreadyExpiredDoesNotFire) {
  EventLoop::TimerId second = 0;
  loop->call_after(milliseconds(0), [&] {
    std::this_thread::sleep_for(milliseconds(3));  // both have expired now
    loop->cancel(second);
    loop->post([&] { loop->post([&] { loop->stop(); }); });
  });
  second = loop->call_after(milliseconds(1), [&] { ADD_FAILURE() << "fired after cancel"; });
  run();
}

TEST_F(LoopTest, ACallbackIsCalledAgainWhileTheDescriptorStaysReadable) {
  const Descriptor event(::eventfd(3, EFD_NONBLOCK | EFD_SEMAPHORE | EFD_CLOEXEC));
  int calls = 0;
  loop->watch_readable(event.get(), [&] {
    std::uint64_t one = 0;
    if (::read(event.get(), &one, sizeof one) == sizeof one) ++calls;
    if (calls == 3) {
      loop->unwatch(event.get());
      loop->stop();
    }
  });
  run();
  EXPECT_EQ(calls, 3);
}

TEST_F(LoopTest, ADescriptorNumberUsedAgainGetsNoEventsOfTheOldOne) {
  int old_calls = 0;
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  loop->watch_readable(pair[0], [&] { ++old_calls; });
  ASSERT_EQ(::write(pair[1], "x", 1), 1);
  loop->unwatch(pair[0]);
  ::close(pair[0]);
  ::close(pair[1]);
  int again[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, again), 0);
  ASSERT_EQ(again[0], pair[0]);
  loop->watch_readable(again[0], [&] { ADD_FAILURE() << "nothing was written to the new one"; });
  loop->call_after(milliseconds(10), [&] { loop->stop(); });
  run();
  EXPECT_EQ(old_calls, 0);
  loop->unwatch(again[0]);
  ::close(again[0]);
  ::close(again[1]);
}

TEST_F(LoopTest, APidfdBecomesReadableWhenItsProcessEnds) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(7);
  const Descriptor pidfd(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  ASSERT_TRUE(pidfd);
  int status = 0;
  loop->watch_readable(pidfd.get(), [&] {
    EXPECT_EQ(::waitpid(child, &status, WNOHANG), child);
    loop->unwatch(pidfd.get());
    loop->stop();
  });
  run();
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST_F(LoopTest, BackgroundWorkRunsElsewhereAndItsEndOnTheLoop) {
  const auto here = std::this_thread::get_id();
  std::thread::id worker, ender;
  loop->run_in_background([&] { worker = std::this_thread::get_id(); },
                          [&] {
                            ender = std::this_thread::get_id();
                            loop->stop();
                          });
  run();
  EXPECT_NE(worker, here);
  EXPECT_EQ(ender, here);
}

TEST_F(LoopTest, ASlowBackgroundTaskDoesNotHoldUpAnother) {
  std::atomic<bool> release{false};
  loop->run_in_background(
      [&] {
        while (!release) std::this_thread::yield();
      },
      [&] { loop->stop(); });
  loop->run_in_background([] {}, [&] { release = true; });
  run();
  EXPECT_TRUE(release);
}

TEST_F(LoopTest, ALoopCanRunAgainAfterStop) {
  int runs = 0;
  for (int i = 0; i < 2; ++i) {
    loop->post([&] {
      ++runs;
      loop->stop();
    });
    run();
  }
  EXPECT_EQ(runs, 2);
}

TEST_F(LoopTest, SignalsArriveOnTheLoopAndTheMaskIsGivenBack) {
  std::vector<int> seen;
  {
    auto source = SignalSource::make(*loop, {SIGUSR1, SIGUSR2}, [&](int signal) {
      seen.push_back(signal);
      if (seen.size() == 2) loop->stop();
    });
    ASSERT_TRUE(source);
    ::raise(SIGUSR1);
    ::raise(SIGUSR2);
    run();
  }
  EXPECT_EQ(seen, (std::vector<int>{SIGUSR1, SIGUSR2}));
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  EXPECT_FALSE(sigismember(&mask, SIGUSR1));
}

TEST(PosixClock, MonotonicNeverGoesBackAndWallIsAfter2025) {
  const auto clock = make_posix_clock();
  const Milliseconds first = clock->monotonic();
  EXPECT_GE(clock->monotonic(), first);
  EXPECT_GT(clock->wall().ms, 1'735'000'000'000);
}

TEST(SteadyClock, BeginsWithTheTimeOfDayAndGoesOnEvenly) {
  const auto day = make_posix_clock();
  const Timestamp before = day->wall();
  const auto clock = make_steady_clock();
  const Timestamp first = clock->wall();
  EXPECT_GE(first.ms, before.ms);
  EXPECT_LE(first.ms, day->wall().ms + 1);
  const Milliseconds even = clock->monotonic();
  EXPECT_GE(clock->wall(), first);
  EXPECT_GE(clock->monotonic(), even);
}

TEST(HeldSignals, ArriveOnceTheyAreReleased) {
  static volatile std::sig_atomic_t came = 0;
  const auto before = std::signal(SIGUSR2, [](int) { came = came + 1; });
  {
    HeldSignals held({SIGUSR2});
    std::raise(SIGUSR2);
    EXPECT_EQ(came, 0);
    held.release();
    EXPECT_EQ(came, 1);
    std::raise(SIGUSR2);
    EXPECT_EQ(came, 2) << "nothing is held any more";
  }
  std::signal(SIGUSR2, before);
}

}  // namespace
}  // namespace seedbed
