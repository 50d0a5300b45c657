#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "shim/rank.h"
#include "shim/slot_holder.h"

// seedbed-shim rank PROGRAM ARGUMENTS…: one rank of a trial, see rank.h.
// seedbed-shim STUDY slot N: holds one slot of a study. Started by seedbed itself, with the
// controller's socket as descriptor 3 and, in SEEDBED_SHIM_SOCKET, the path to listen on.

namespace {

constexpr int kControllerSocket = 3;

// Programs get our 0 as their standard input, and nothing may be opened as 0, 1 or 2 by chance.
void open_standard_files() {
  const int null = ::open("/dev/null", O_RDWR);
  for (int number = 0; number < 3; ++number) {
    if (null != number) ::dup2(null, number);
  }
  if (null > 2 && null != kControllerSocket) ::close(null);
}

// What the starter left open: anything above the controller's socket.
void close_the_rest() {
  if (::close_range(kControllerSocket + 1, ~0U, 0) == 0) return;
  DIR* open = ::opendir("/proc/self/fd");  // before Linux 5.9
  if (open == nullptr) return;
  std::vector<int> numbers;  // closed afterwards: closing changes what is listed
  while (const dirent* entry = ::readdir(open)) numbers.push_back(std::atoi(entry->d_name));
  ::closedir(open);
  for (const int number : numbers) {
    if (number > kControllerSocket) ::close(number);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2 && std::string(argv[1]) == seedbed::shim::kRankWord) {
    return seedbed::shim::run_rank(argv + 2);
  }
  if (argc != 4 || std::string(argv[2]) != "slot" || ::fcntl(kControllerSocket, F_GETFD) < 0) {
    std::fprintf(
        stderr, "seedbed-shim: started by seedbed for each slot of a study; not for use by hand\n");
    return 2;
  }
  ::setsid();
  open_standard_files();
  close_the_rest();
  seedbed::shim::HolderOptions options;
  options.study_dir = argv[1];
  options.slot = static_cast<seedbed::SlotNumber>(std::strtoul(argv[3], nullptr, 10));
  if (const char* socket = std::getenv("SEEDBED_SHIM_SOCKET")) options.socket = socket;
  options.controller = kControllerSocket;
  return seedbed::shim::SlotHolder(std::move(options)).run();
}
