#include "env/posix/study_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

#include "base/local_time.h"
#include "base/text.h"
#include "env/posix/identity.h"

// Format of seedbed.lock: lines `key=value`, the first `seedbed_lock=1`. Unknown keys are skipped.

namespace seedbed {
namespace {

constexpr std::size_t kTextLimit = 16384;

std::string lock_path(const std::string& study_dir) { return study_dir + "/seedbed.lock"; }

// A lock that belongs to the open file, not to the process: closing another descriptor of the same
// file elsewhere in the process does not drop it, as it would a plain POSIX lock.
int try_lock(int file, short type) {
  struct flock region {};
  region.l_type = type;
  region.l_whence = SEEK_SET;
  return ::fcntl(file, F_OFD_SETLK, &region) == 0 ? 0 : errno;
}

// Whether the file is locked now, without locking it.
bool is_locked(int file) {
  struct flock region {};
  region.l_type = F_WRLCK;
  region.l_whence = SEEK_SET;
  return ::fcntl(file, F_OFD_GETLK, &region) == 0 && region.l_type != F_UNLCK;
}

std::optional<LockHolder> read_holder(int file) {
  std::string text(kTextLimit, '\0');
  const ssize_t got = ::pread(file, text.data(), text.size(), 0);
  if (got <= 0) return std::nullopt;
  return decode_lock(std::string_view(text).substr(0, static_cast<std::size_t>(got)));
}

bool write_holder(int file, const LockHolder& holder) {
  const std::string text = encode_lock(holder);
  return ::ftruncate(file, 0) == 0 &&
         ::pwrite(file, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
}

tl::unexpected<Error> in_use(const std::string& study_dir,
                             const std::optional<LockHolder>& holder) {
  const std::string who =
      holder
          ? fmt::format("by PID {} on host {} since {} ({})", holder->pid, one_line(holder->host),
                        one_line(local_time_of(holder->since)), one_line(holder->command, 200))
          : std::string("by another controller that is just starting");
  return fail(ErrorCode::in_use,
              fmt::format("{}: in use {}; look in with `seedbed attach --study {}`, or add trials "
                          "with `seedbed add --study {} NAME=SPEC`",
                          study_dir, who, shell_quote(study_dir), shell_quote(study_dir)));
}

template <typename Number>
void read_number(std::string_view text, Number& number) {
  std::from_chars(text.data(), text.data() + text.size(), number);
}

}  // namespace

std::string encode_lock(const LockHolder& holder) {
  return fmt::format(
      "seedbed_lock=1\npid={}\nstart_ticks={}\nboot_id={}\nhost={}\nsince={}\ncommand={}\n",
      holder.pid, holder.start_ticks, holder.boot_id, one_line(holder.host), holder.since,
      one_line(holder.command));
}

std::optional<LockHolder> decode_lock(std::string_view text) {
  LockHolder holder;
  bool ours = false;
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view key = line.substr(0, equals);
    const std::string_view value = line.substr(equals + 1);
    if (key == "seedbed_lock") ours = true;
    if (key == "pid") read_number(value, holder.pid);
    if (key == "start_ticks") read_number(value, holder.start_ticks);
    if (key == "boot_id") holder.boot_id = value;
    if (key == "host") holder.host = value;
    if (key == "since") holder.since = value;
    if (key == "command") holder.command = value;
  }
  if (!ours || holder.pid <= 0) return std::nullopt;
  return holder;
}

Result<StudyLock> StudyLock::acquire(const std::string& study_dir, const Options& options) {
  const std::string path = lock_path(study_dir);
  StudyLock lock;
  lock.file_ = Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!lock.file_) return tl::unexpected(file_error(path, errno));
  const int failed = try_lock(lock.file_.get(), F_WRLCK);
  const std::optional<LockHolder> found = read_holder(lock.file_.get());
  if (failed == EAGAIN || failed == EACCES) {
    lock.file_.reset();  // not ours to release
    return in_use(study_dir, found);
  }
  if (failed != 0) {
    lock.file_.reset();
    return fail(ErrorCode::machine,
                fmt::format("{}: this file system has no working locks ({}), so two controllers "
                            "could harm the study; choose a folder on a local disk with --dir",
                            path, errno_words(failed)));
  }
  if (found && found->host != host_name() && !options.take_over) {
    lock.file_.reset();
    return fail(
        ErrorCode::in_use,
        fmt::format("{}: held by PID {} on host {} since {}, which cannot be checked from host {}; "
                    "if that controller is gone, use --take-over",
                    study_dir, found->pid, one_line(found->host),
                    one_line(local_time_of(found->since)), host_name()));
  }
  if (found && found->host == host_name() &&
      is_running(found->pid, found->start_ticks, found->boot_id) && found->pid != ::getpid()) {
    lock.file_.reset();  // alive, although its lock cannot be seen: a disk that drops locks
    return in_use(study_dir, found);
  }
  lock.previous_ = found;
  LockHolder self;
  self.pid = ::getpid();
  if (const auto stat = read_proc_stat(self.pid)) self.start_ticks = stat->start_ticks;
  self.boot_id = boot_id();
  self.host = host_name();
  self.since = format_timestamp(options.now);
  self.command = options.command;
  if (!write_holder(lock.file_.get(), self)) return tl::unexpected(file_error(path, errno));
  return lock;
}

StudyLock::~StudyLock() {
  if (file_ && ::ftruncate(file_.get(), 0) != 0) {
    // The text stays; the next one sees that its holder is dead.
  }
}

std::optional<LockHolder> StudyLock::holder(const std::string& study_dir) {
  const Descriptor file(::open(lock_path(study_dir).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::nullopt;
  std::optional<LockHolder> found = read_holder(file.get());
  if (!found) return std::nullopt;
  const bool here = found->host == host_name();
  if (here && !is_locked(file.get()) &&
      !is_running(found->pid, found->start_ticks, found->boot_id)) {
    return std::nullopt;
  }
  return found;
}

}  // namespace seedbed
