#include "shim/log_keeper.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "shim/system.h"

namespace seedbed::shim {
namespace {

constexpr std::uint64_t kBlock = 4096;

}  // namespace

std::uint64_t LogKeeper::size() const {
  struct stat info {};
  return ::fstat(log_, &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
}

std::string LogKeeper::look() {
  if (!active()) return {};
  const std::uint64_t written = size();
  // A quarter of the limit at the head, at least a quarter at the tail; half is room to grow.
  const std::uint64_t head = (limit_ / 4 + kBlock - 1) / kBlock * kBlock;
  const std::uint64_t begin = std::max(head, hole_end_);
  if (written <= limit_ || written - begin <= limit_ / 2) return {};
  const std::uint64_t end = (written - limit_ / 4) / kBlock * kBlock;
  if (end <= begin) return {};
  const std::string limit = std::to_string(limit_) + " bytes";
  if (::fallocate(log_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(begin),
                  static_cast<off_t>(end - begin)) != 0) {
    given_up_ = true;
    return "the log is over its limit of " + limit + ", and this file system cannot cut it (" +
           error_words(errno) + "): it grows on";
  }
  const bool first = hole_end_ == 0;
  hole_end_ = end;
  return first ? "the log went over its limit of " + limit + ": its middle is not kept" : "";
}

}  // namespace seedbed::shim
