#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace seedbed {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr,
               "seedbed: internal error: %s does not hold (%s:%d)\n"
               "This is a bug in seedbed; running trials go on, and the same command continues.\n",
               condition, file, line);
  std::fflush(stderr);
  std::_Exit(70);
}

}  // namespace seedbed
