#include "controller/code_version.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/random.h"
#include "base/text.h"
#include "env/posix/command.h"

namespace seedbed {
namespace fs = std::filesystem;
namespace {

constexpr Milliseconds kGitTimeout{1000};
constexpr Milliseconds kSnapshotTimeout{60'000};
constexpr std::uint64_t kLargestProgram = 64 << 20;

std::optional<std::string> git(const std::string& folder, std::vector<std::string> words,
                               Milliseconds timeout) {
  words.insert(words.begin(), {"git", "-C", folder});
  auto answer = run_command(words, folder, timeout);
  if (!answer || answer->exit_code != 0) return std::nullopt;
  return answer->output;
}

std::string hash_file(int descriptor) {
  std::uint64_t hash = 0;
  std::string buffer(1 << 16, '\0');
  for (;;) {
    const ssize_t count = read(descriptor, buffer.data(), buffer.size());
    if (count < 0) return {};
    if (count == 0) return fmt::format("{:016x}", hash);
    hash = hash_text(std::string_view(buffer).substr(0, static_cast<std::size_t>(count)), hash);
  }
}

}  // namespace

CodeVersion code_version(const std::string& folder) {
  CodeVersion version;
  auto commit = git(folder, {"rev-parse", "HEAD"}, kGitTimeout);
  if (!commit) return version;
  const auto changes = git(folder, {"status", "--porcelain", "--untracked-files=no"}, kGitTimeout);
  if (!changes) return version;  // whether the commit is what runs is not known
  version.git_commit = std::string(trim(*commit));
  version.git_dirty = !trim(*changes).empty();
  return version;
}

std::string FileHashes::hash(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return {};
  struct stat info {};
  std::string result;
  if (fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode) &&
      static_cast<std::uint64_t>(info.st_size) <= kLargestProgram) {
    const Known now{info.st_dev, info.st_ino, static_cast<std::uint64_t>(info.st_size),
                    info.st_mtim.tv_sec * 1'000'000'000LL + info.st_mtim.tv_nsec, ""};
    Known& known = known_[path];
    if (known.hash.empty() || known.device != now.device || known.inode != now.inode ||
        known.size != now.size || known.modified_ns != now.modified_ns) {
      known = now;
      known.hash = hash_file(descriptor);
    }
    result = known.hash;
  }
  close(descriptor);
  return result;
}

std::optional<std::string> code_difference(const std::string& earlier, const std::string& now) {
  struct Code {
    std::string folder, file, hash;
    std::string imports;  ///< ` or a module that it imports`
  };
  const auto read = [](const std::string& text) {
    const auto json = nlohmann::json::parse(text, nullptr, false);
    Code code;
    if (!json.is_object()) return code;
    code.folder = json.value("cwd", "");
    code.file = json.value("code_file", "");
    code.hash = json.value("code_hash", "");
    if (json.value("code_files", 1) > 1) code.imports = " or a module that it imports";
    return code;
  };
  const auto inside = [](const Code& code) {
    return code.file.starts_with(code.folder + "/") ? code.file.substr(code.folder.size() + 1)
                                                    : code.file;
  };
  const Code then = read(earlier);
  const Code here = read(now);
  constexpr const char* kRemedy =
      "results of both stand in this study now; another --name keeps them apart";
  if (!then.file.empty() && !here.file.empty()) {
    if (inside(then) != inside(here) || then.hash.empty() || here.hash.empty()) return std::nullopt;
    if (then.hash == here.hash) return std::nullopt;
    if (then.file == here.file) {
      return fmt::format("{}{} was changed since earlier trials ran (hash {}, before {}): {}",
                         here.file, here.imports, here.hash, then.hash, kRemedy);
    }
    return fmt::format("{} is not what earlier trials ran, {} (hash {}, before {}): {}", here.file,
                       then.file, here.hash, then.hash, kRemedy);
  }
  if (then.file.empty() && here.file.empty() && !then.folder.empty() && !here.folder.empty() &&
      then.folder != here.folder) {
    return fmt::format("earlier trials ran in {}, new ones run in {}: {}", then.folder, here.folder,
                       kRemedy);
  }
  return std::nullopt;
}

Result<std::string> take_snapshot(const std::string& folder, const std::string& target) {
  auto top_text = git(folder, {"rev-parse", "--show-toplevel"}, kGitTimeout);
  if (!top_text) {
    return fail(ErrorCode::usage, fmt::format("snapshot: {} is not in a git checkout; seedbed "
                                              "copies the tracked files, so it needs one",
                                              folder));
  }
  std::error_code error;
  const fs::path top = std::string(trim(*top_text));
  const fs::path inside = fs::relative(fs::canonical(folder, error), top, error);
  const fs::path result = inside == "." ? fs::path(target) : fs::path(target) / inside;
  if (fs::exists(target, error)) return result.string();

  auto names = git(top.string(), {"ls-files", "-z"}, kSnapshotTimeout);
  if (!names) return fail(ErrorCode::machine, "snapshot: git ls-files failed in " + top.string());
  // Made aside and renamed, so that a copy that exists is a complete one.
  const fs::path partial = target + ".partial";
  fs::remove_all(partial, error);
  fs::create_directories(partial / (inside == "." ? fs::path() : inside), error);
  for (const std::string_view name : split(*names, '\0')) {
    if (name.empty()) continue;
    const fs::path from = top / name;
    const fs::path to = partial / name;
    const fs::file_status status = fs::symlink_status(from, error);
    if (!fs::is_regular_file(status) && !fs::is_symlink(status)) continue;  // deleted, submodule
    fs::create_directories(to.parent_path(), error);
    fs::copy(from, to, fs::copy_options::copy_symlinks, error);
    if (error) {
      return fail(ErrorCode::machine,
                  fmt::format("snapshot: copying {}: {}", from.string(), error.message()));
    }
  }
  fs::rename(partial, target, error);
  if (error) return fail(ErrorCode::machine, "snapshot: " + target + ": " + error.message());
  return result.string();
}

}  // namespace seedbed
