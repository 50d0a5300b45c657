#include "reporters/log_tail.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace seedbed {
namespace {

using Lines = std::vector<std::string>;

TEST(LastLines, AreTheLastOnesWithoutEmptyOnesAtTheEnd) {
  EXPECT_EQ(last_lines("a\nb\nc\n", 2), (Lines{"b", "c"}));
  EXPECT_EQ(last_lines("a\nb\n\n\n  \n", 5), (Lines{"a", "b"}));
  EXPECT_EQ(last_lines("no end", 5), (Lines{"no end"}));
  EXPECT_EQ(last_lines("", 5), Lines{});
  EXPECT_EQ(last_lines("a\nb", 0), Lines{});
}

TEST(LastLines, CaseC2_OfAProgressBarOnlyTheLastState) {
  EXPECT_EQ(last_lines("start\n\r 1%\r 50%\r100%\rdone loss=0.1\n", 3),
            (Lines{"start", "done loss=0.1"}));
  EXPECT_EQ(last_lines("dos\r\nline\r\n", 3), (Lines{"dos", "line"}));
}

TEST(LastLines, OfRanksTheCauseAndNotWhatMpirunSaysBelow) {
  const std::string rule(74, '-'), doubled(83, '=');
  const std::string open_mpi =
      rule + "\nPrimary job  terminated normally, but 1 process returned\n" +
      "a non-zero exit code. Per user-direction, the job has been aborted.\n" + rule + "\n" + rule +
      "\nmpirun noticed that process rank 1 with PID 0 on node vm exited on "
      "signal 9 (Killed).\n" +
      rule + "\n";
  const std::string mpich =
      "\n" + doubled +
      "\n=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n"
      "=   EXIT CODE: 9\n" +
      doubled +
      "\nYOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)\n"
      "Please see the FAQ page for debugging suggestions\n";
  EXPECT_EQ(last_lines("[rank 1] ValueError: bad\n" + open_mpi, 3),
            (Lines{"[rank 1] ValueError: bad"}));
  EXPECT_EQ(last_lines("[rank 1] ValueError: bad\n" + mpich, 3),
            (Lines{"[rank 1] ValueError: bad"}));
  EXPECT_EQ(last_lines("a\n" + open_mpi + "loss=0\n", 3), (Lines{"a", "loss=0"}));
  EXPECT_EQ(last_lines(open_mpi, 1), (Lines{rule})) << "nothing else to show";
  EXPECT_EQ(last_lines(rule + "\n| a | 1 |\n" + rule + "\n", 2), (Lines{"| a | 1 |", rule}));
}

TEST(LogTail, ReadsTheEndOfABigLogAndNothingOfAMissingOne) {
  const std::string dir =
      std::filesystem::temp_directory_path() / ("seedbed-tail-" + std::to_string(::getpid()));
  std::filesystem::create_directories(dir + "/trials/00001");
  {
    std::ofstream log(dir + "/trials/00001/attempt-2.log", std::ios::binary);
    for (int i = 0; i < 100'000; ++i) log << "line " << i << '\n';
  }
  const LogTail tail = make_log_tail(dir);
  EXPECT_EQ(tail("00001", 2, 2), (Lines{"line 99998", "line 99999"}));
  const Lines all = tail("00001", 2, 1'000'000);
  EXPECT_LT(all.size(), 10'000U) << "bounded";
  EXPECT_EQ(all.front().rfind("line ", 0), 0U) << "no fragment in front";
  EXPECT_EQ(tail("00001", 1, 2), Lines{});
  EXPECT_EQ(tail("nosuch", 1, 2), Lines{});
  {
    std::ofstream log(dir + "/trials/00001/attempt-3.log", std::ios::binary);
    log << std::string(1 << 20, 'x');  // one endless line
  }
  EXPECT_EQ(tail("00001", 3, 2).size(), 1U);
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace seedbed
