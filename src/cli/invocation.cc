#include "cli/invocation.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/text.h"
#include "env/posix/files.h"

namespace seedbed {
namespace fs = std::filesystem;

std::string Invocation::command_line() const { return "seedbed " + shell_quote(arguments); }

void add_study_options(CLI::App& command, Invocation& invocation, bool positional) {
  command.add_option("--dir", invocation.dir, "Folder of the studies")->capture_default_str();
  command.add_option("--study", invocation.study, "The study: a name or a folder");
  if (positional) {
    command.add_option("STUDY", invocation.study,
                       "The study: a name or a folder; default: the only or newest one");
  }
}

void add_output_option(CLI::App& command, Invocation& invocation,
                       std::vector<std::string> choices) {
  // Tables have the word of `export` too.
  const bool table = std::find(choices.begin(), choices.end(), "csv") != choices.end();
  command
      .add_option(table ? "--output,--format" : "--output", invocation.output, "Form of the output")
      ->check(CLI::IsMember(std::move(choices)))
      ->capture_default_str();
}

namespace {

struct Found {
  std::string name;
  std::string dir;
  fs::file_time_type used;
};

std::vector<Found> studies_under(const std::string& dir) {
  std::vector<Found> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(dir, error)) {
    const fs::path database = entry.path() / "study.db";
    std::error_code ignored;
    if (!fs::exists(database, ignored)) continue;
    fs::file_time_type used = fs::last_write_time(database, ignored);
    // A running study writes its write-ahead log first.
    const auto wal = fs::last_write_time(entry.path() / "study.db-wal", ignored);
    if (!ignored) used = std::max(used, wal);
    found.push_back({entry.path().filename().string(), entry.path().string(), used});
  }
  std::sort(found.begin(), found.end(),
            [](const Found& a, const Found& b) { return a.used > b.used; });
  return found;
}

}  // namespace

Result<std::string> find_study(const Invocation& invocation) {
  const std::string& wanted = invocation.study;
  const std::vector<Found> found = studies_under(invocation.dir);
  if (wanted.empty()) {
    if (found.empty()) {
      return fail(ErrorCode::usage,
                  fmt::format("no study under {}; name one with --study, or another folder of "
                              "studies with --dir",
                              invocation.dir));
    }
    return canonical_path(found.front().dir);
  }
  std::vector<std::string> candidates = {invocation.dir + "/" + wanted, wanted};
  // With a slash it is a path, whatever names there are.
  if (wanted.find('/') != std::string::npos) std::swap(candidates[0], candidates[1]);
  for (const std::string& candidate : candidates) {
    if (path_exists(candidate + "/study.db")) return canonical_path(candidate);
  }
  std::vector<std::string> names;
  for (const Found& one : found) names.push_back(one.name);
  std::string message = fmt::format("no study '{}' under {}", one_line(wanted, 80), invocation.dir);
  if (auto near = nearest(wanted, names)) message += fmt::format("; did you mean '{}'?", *near);
  if (!names.empty()) {
    std::sort(names.begin(), names.end());
    constexpr std::size_t kShown = 10;
    const std::size_t rest = names.size() > kShown ? names.size() - kShown : 0;
    names.resize(names.size() - rest);
    message += "; there are: " + join(names, ", ");
    if (rest > 0) message += fmt::format(" and {} more", rest);
  }
  return fail(ErrorCode::usage, message);
}

std::string study_word(const std::string& study_dir) {
  // The line holds no --dir, so only what is found without one will do; a word with a dash in front
  // would be taken for an option.
  const auto leads_there = [&study_dir](const std::string& word) {
    Invocation plain;
    plain.study = word;
    const auto found = find_study(plain);
    return !word.starts_with('-') && found && *found == study_dir;
  };
  const std::string name = study_name(study_dir);
  if (leads_there(name)) return name;
  std::error_code error;
  const fs::path here = fs::current_path(error);
  const std::string below = error ? "" : fs::path(study_dir).lexically_relative(here).string();
  if (!below.empty() && !below.starts_with("..") && leads_there(below)) return below;
  return study_dir;
}

std::string study_name(const std::string& study_dir) {
  return fs::path(study_dir).filename().string();
}

Result<std::vector<std::uint64_t>> read_trial_numbers(const std::vector<std::string>& words) {
  constexpr std::uint64_t kMost = 1'000'000;
  std::vector<std::uint64_t> numbers;
  const auto bad = [](std::string_view text) {
    return fail(
        ErrorCode::usage,
        fmt::format("'{}' is not a trial; write numbers: 3, 5-8 or 1,3,5-8", one_line(text, 60)));
  };
  const auto read = [](std::string_view text, std::uint64_t& number) {
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    return !text.empty() && parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() &&
           number > 0;
  };
  for (const std::string& word : words) {
    for (const std::string_view part : split(word, ',')) {
      const std::size_t dash = part.find('-');
      std::uint64_t first = 0;
      std::uint64_t last = 0;
      if (!read(part.substr(0, dash), first)) return bad(part);
      last = first;
      if (dash != std::string_view::npos && !read(part.substr(dash + 1), last)) return bad(part);
      if (last < first || last - first > kMost) return bad(part);
      for (std::uint64_t number = first; number <= last; ++number) numbers.push_back(number);
    }
  }
  return numbers;
}

}  // namespace seedbed
