// The floor for starting programs: posix_spawn and waitid, one fresh output file each, no records.
//
//   spawn_floor JOBS SLOTS FOLDER PROGRAM [ARGUMENT…]
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

extern char** environ;

namespace {

bool start(const std::string& folder, int job, char** argv) {
  const std::string log = folder + "/" + std::to_string(job) + ".log";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0644);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, argv[0], &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  return error == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: spawn_floor JOBS SLOTS FOLDER PROGRAM [ARGUMENT...]\n");
    return 2;
  }
  const int jobs = std::atoi(argv[1]);
  const int slots = std::atoi(argv[2]);
  const std::string folder = argv[3];
  int started = 0;
  int running = 0;
  int ended = 0;
  while (ended < jobs) {
    while (running < slots && started < jobs) {
      if (!start(folder, started++, argv + 4)) return 1;
      ++running;
    }
    if (wait(nullptr) < 0) return 1;
    --running;
    ++ended;
  }
  return 0;
}
