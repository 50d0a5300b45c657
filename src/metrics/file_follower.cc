#include "metrics/file_follower.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/random.h"
#include "env/posix/files.h"
#include "metrics/state_text.h"

namespace seedbed {
namespace {

constexpr std::string_view kStateKind = "file1";
constexpr std::size_t kTailBytes = 256;
constexpr std::size_t kReadBytes = 256 * 1024;
constexpr std::size_t kLeastHole = 4096;  // holes begin and end at blocks

/// Reads at an offset until `size` bytes, the end or an error (errno in `error`).
std::size_t read_at(int fd, char* into, std::size_t size, std::uint64_t offset, int& error) {
  std::size_t done = 0;
  error = 0;
  while (done < size) {
    const ssize_t got = ::pread(fd, into + done, size - done, static_cast<off_t>(offset + done));
    if (got == 0) break;
    if (got < 0) {
      if (errno == EINTR) continue;
      error = errno;
      break;
    }
    done += static_cast<std::size_t>(got);
  }
  return done;
}

bool all_zero(std::string_view bytes) {
  return bytes.find_first_not_of('\0') == std::string_view::npos;
}

/// Whether as many zeros as a hole has follow: a reading step may end within them.
bool hole_at(int fd, std::uint64_t offset) {
  std::array<char, kLeastHole> bytes{};
  int error = 0;
  const std::size_t got = read_at(fd, bytes.data(), bytes.size(), offset, error);
  return got == bytes.size() && all_zero({bytes.data(), got});
}

/// Where a run of zeros begins that is a hole, or may be the beginning of one; else the end.
std::size_t find_hole(std::string_view bytes) {
  std::size_t begin = bytes.find('\0');
  while (begin != std::string_view::npos) {
    const std::size_t end = std::min(bytes.find_first_not_of('\0', begin), bytes.size());
    if (end - begin >= kLeastHole || end == bytes.size()) return begin;
    begin = bytes.find('\0', end);
  }
  return bytes.size();
}

}  // namespace

FileFollower::FileFollower(std::string path, std::unique_ptr<MetricParser> parser)
    : path_(std::move(path)), parser_(std::move(parser)) {}

FileFollower::Step FileFollower::step(std::vector<ParsedPoint>& points, std::size_t limit) {
  struct stat info {};
  if (::stat(path_.c_str(), &info) != 0) {
    // Not there yet, or for a moment not there while it is replaced: what is known stays.
    if (errno != ENOENT && errno != ENOTDIR) {
      notes_.add(fmt::format("cannot be read: {}", errno_words(errno)));
    }
    caught_up_ = false;
    return {};
  }
  const auto seen_of = [](const struct stat& s) {
    return Seen{static_cast<std::uint64_t>(s.st_dev), static_cast<std::uint64_t>(s.st_ino),
                static_cast<std::uint64_t>(s.st_size), s.st_mtim.tv_sec, s.st_mtim.tv_nsec};
  };
  if (caught_up_ && seen_of(info) == seen_) return {};
  if (!S_ISREG(info.st_mode)) {
    notes_.add("is no regular file: its metrics are not read");
    return {};
  }
  const Descriptor file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0 || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    if (errno != ENOENT) notes_.add(fmt::format("cannot be read: {}", errno_words(errno)));
    return {};
  }
  const Seen now = seen_of(info);
  if (now.size < offset_) {
    start_again("was cut short and is read again from its start; points read before are kept");
  } else if (offset_ > 0 && !same_tail(file.get())) {
    start_again("was replaced and is read again from its start; points read before are kept");
  }
  const bool complete = read_new(file.get(), now.size, limit, points);
  caught_up_ = complete && offset_ >= now.size;
  seen_ = now;
  return {complete && offset_ < now.size};
}

/// Feeds what lies between the offset and `size`; false on a read error.
bool FileFollower::read_new(int fd, std::uint64_t size, std::size_t limit,
                            std::vector<ParsedPoint>& points) {
  if (offset_ >= size) return true;
  // As large as what is there: a trial that prints little must not cost pages.
  std::string buffer(
      static_cast<std::size_t>(std::min<std::uint64_t>({kReadBytes, size - offset_, limit})), '\0');
  for (std::size_t used = 0; offset_ < size && used < limit;) {
    const std::size_t wanted = static_cast<std::size_t>(
        std::min<std::uint64_t>({buffer.size(), size - offset_, limit - used}));
    int error = 0;
    const std::size_t got = read_at(fd, buffer.data(), wanted, offset_, error);
    if (error != 0) notes_.add(fmt::format("cannot be read: {}", errno_words(error)));
    if (got == 0) return false;
    std::string_view bytes(buffer.data(), got);
    std::size_t hole = find_hole(bytes);
    if (hole == 0) {
      const std::size_t zeros = std::min(bytes.find_first_not_of('\0'), got);
      if (zeros >= kLeastHole || (zeros == got && hole_at(fd, offset_))) {
        offset_ += zeros;
        used += zeros;
        remember_tail(bytes.substr(0, zeros));
        skip_hole(fd, size, points);
        continue;
      }
      hole = zeros + find_hole(bytes.substr(zeros));  // a few zeros of the program's own
    }
    // What follows the beginning of a hole is read again from there.
    bytes = bytes.substr(0, hole);
    offset_ += hole;
    used += hole;
    remember_tail(bytes);
    feed(bytes, points);
  }
  return true;
}

/// The line whose beginning is not kept says nothing: it is left out.
void FileFollower::feed(std::string_view bytes, std::vector<ParsedPoint>& points) {
  if (behind_hole_) {
    const std::size_t end = bytes.find_first_of("\r\n");
    if (end == std::string_view::npos) return;
    bytes.remove_prefix(end);
    behind_hole_ = false;
  }
  parser_->feed(bytes, points);
}

/// The middle of a log that grew too long is punched out: goes on behind the hole. The line that it
/// cuts is void, ended by a character that no value ends with.
void FileFollower::skip_hole(int fd, std::uint64_t size, std::vector<ParsedPoint>& points) {
  if (!behind_hole_) parser_->feed("~\n", points);
  behind_hole_ = true;
  const off_t data = ::lseek(fd, static_cast<off_t>(offset_), SEEK_DATA);
  std::uint64_t next = offset_;
  if (data >= 0) next = std::min<std::uint64_t>(static_cast<std::uint64_t>(data), size);
  if (data < 0 && errno == ENXIO) next = size;
  if (next > offset_) {
    offset_ = next;
    tail_.assign(kTailBytes, '\0');
    remember_tail({});
  }
}

void FileFollower::start_again(const char* why) {
  notes_.add(why);
  parser_->restart();
  behind_hole_ = false;
  offset_ = 0;
  tail_.clear();
  tail_length_ = 0;
  tail_hash_ = 0;
}

void FileFollower::remember_tail(std::string_view bytes) {
  if (bytes.size() >= kTailBytes) {
    tail_.assign(bytes.substr(bytes.size() - kTailBytes));
  } else {
    tail_.append(bytes);
    if (tail_.size() > kTailBytes) tail_.erase(0, tail_.size() - kTailBytes);
  }
  tail_length_ = tail_.size();
  tail_hash_ = hash_text(tail_);
}

/// Whether the bytes before the offset are those that were read there, or a hole was punched since.
bool FileFollower::same_tail(int fd) {
  std::string bytes(std::min<std::uint64_t>(tail_length_, offset_), '\0');
  int error = 0;
  const std::size_t got = read_at(fd, bytes.data(), bytes.size(), offset_ - bytes.size(), error);
  if (error != 0) return true;  // reading on will say so
  bytes.resize(got);
  if (hash_text(bytes) != tail_hash_ && !(!bytes.empty() && all_zero(bytes))) return false;
  tail_ = std::move(bytes);
  remember_tail({});
  return true;
}

std::string FileFollower::state() const {
  StateWriter state;
  state.text(kStateKind);
  state.number(tail_length_);
  state.number(tail_hash_);
  state.rest(parser_->state());
  return state.take();
}

Status FileFollower::resume(std::uint64_t offset, std::string_view text, bool next_attempt) {
  StateReader state(text);
  const bool known = state.text() == kStateKind;
  const std::uint64_t tail_length = state.number();
  const std::uint64_t tail_hash = state.number();
  const std::string_view parser_state = state.rest();
  if (!known || !state.at_end() || tail_length > kTailBytes || tail_length > offset) {
    return fail(ErrorCode::damaged,
                fmt::format("the stored reading position of {} is not understood", path_));
  }
  if (Status restored = parser_->restore(parser_state); !restored) {
    return tl::unexpected(restored.error().with_context(path_));
  }
  if (next_attempt) parser_->next_attempt();
  offset_ = offset;
  tail_.clear();
  tail_length_ = tail_length;
  tail_hash_ = tail_hash;
  caught_up_ = false;
  return {};
}

std::vector<std::string> FileFollower::take_notes() {
  std::vector<std::string> list = notes_.take();
  for (std::string& note : parser_->take_notes()) list.push_back(std::move(note));
  return list;
}

}  // namespace seedbed
