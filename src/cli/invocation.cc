#include "cli/invocation.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/folder_walk.h"
#include "cli/option_checks.h"
#include "env/posix/files.h"
#include "results/study_reader.h"

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
  one_of(command.add_option(table ? "--output,--format" : "--output", invocation.output,
                            "Form of the output"),
         std::move(choices))
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
  each_entry<fs::directory_iterator>(dir, [&found](const fs::directory_entry& entry) {
    const fs::path database = entry.path() / "study.db";
    std::error_code ignored;
    if (!fs::exists(database, ignored)) return;
    fs::file_time_type used = fs::last_write_time(database, ignored);
    // A running study writes its write-ahead log first.
    const auto wal = fs::last_write_time(entry.path() / "study.db-wal", ignored);
    if (!ignored) used = std::max(used, wal);
    found.push_back({entry.path().filename().string(), entry.path().string(), used});
  });
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
  for (const std::string& candidate : candidates) {  // of a study whose record was removed
    std::error_code error;
    const bool trials =
        fs::directory_iterator(candidate + "/trials", error) != fs::directory_iterator();
    if (trials && path_exists(candidate + "/sweep.yaml")) return canonical_path(candidate);
  }
  for (const std::string& candidate : candidates) {
    std::error_code error;
    if (!fs::is_regular_file(candidate, error)) continue;
    return fail(ErrorCode::usage,
                fmt::format("{} is a file, and a study is a folder", one_line(candidate, 200)));
  }
  std::vector<std::string> names;
  for (const Found& one : found) names.push_back(one.name);
  std::string message = fmt::format("no study '{}' under {}", one_line(wanted, 80), invocation.dir);
  const auto near = nearest(wanted, names);
  if (!names.empty()) {
    std::sort(names.begin(), names.end());
    constexpr std::size_t kShown = 10;
    const std::size_t rest = names.size() > kShown ? names.size() - kShown : 0;
    names.resize(names.size() - rest);
    message += "; there are: " + join(names, ", ");
    if (rest > 0) message += fmt::format(" and {} more", rest);
  }
  if (near) message += fmt::format("; did you mean '{}'?", *near);
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

std::string run_again_line(const std::string& study_dir) {
  const std::string plain = "seedbed run --study " + shell_quote(study_word(study_dir));
  auto reader = StudyReader::open(study_dir);
  if (!reader) return plain;
  const auto status = reader->status();
  if (!status || !status->last_run) return plain;
  using Json = nlohmann::json;
  const Json details = Json::parse(status->last_run->details_json, nullptr, false);
  const Json found = details.is_object() ? details.value("cwd", Json()) : Json();
  if (!found.is_string()) return plain;
  const std::string folder = found.get<std::string>();
  std::error_code error;
  const std::string here = fs::current_path(error).string();
  // A snapshot is a copy within the study: nobody stands there.
  if (error || canonical_path(folder) == canonical_path(here) ||
      folder.starts_with(study_dir + "/") || !fs::is_directory(folder, error)) {
    return plain;
  }
  const std::string name = study_name(study_dir);
  const bool by_name =
      !name.starts_with('-') && canonical_path(folder + "/studies/" + name) == study_dir;
  return fmt::format("cd {} && seedbed run --study {}", shell_quote(folder),
                     shell_quote(by_name ? name : study_dir));
}

std::string study_name(const std::string& study_dir) {
  return fs::path(study_dir).filename().string();
}

namespace {

tl::unexpected<Error> no_trial(std::string_view text) {
  return fail(ErrorCode::usage,
              fmt::format("'{}' is not a trial; write numbers: 3, 5-8 or 1,3,5-8 (a study is named "
                          "with --study)",
                          one_line(text, 60)));
}

bool read_number(std::string_view text, std::uint64_t& number) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  return !text.empty() && parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() &&
         number > 0;
}

/// `3`, `5-8`; nothing when it is neither.
Status read_range(std::string_view text, std::vector<std::uint64_t>& numbers) {
  constexpr std::uint64_t kMost = 1'000'000;
  const std::size_t dash = text.find('-');
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  if (!read_number(text.substr(0, dash), first)) return no_trial(text);
  last = first;
  if (dash != std::string_view::npos && !read_number(text.substr(dash + 1), last)) {
    return no_trial(text);
  }
  if (last < first || last - first > kMost) return no_trial(text);
  for (std::uint64_t number = first; number <= last; ++number) numbers.push_back(number);
  return {};
}

/// The number in front of a folder's name, when that folder is the trial's.
Result<std::uint64_t> trial_of_folder(const std::string& study_dir, std::string_view word) {
  std::uint64_t number = 0;
  const std::size_t digits = word.find_first_not_of("0123456789");
  constexpr std::size_t kLeastDigits = 5;
  if (digits == std::string_view::npos || digits < kLeastDigits ||
      !read_number(word.substr(0, digits), number)) {
    return no_trial(word);
  }
  auto reader = StudyReader::open(study_dir);
  if (!reader) return propagate(reader);
  auto details = reader->trial(number);
  if (!details) return propagate(details);
  if (details->row.folder == word) return number;
  return fail(ErrorCode::usage, fmt::format("'{}' is not a trial of {}; trial {} is {}",
                                            one_line(word, 80), one_line(study_name(study_dir), 60),
                                            number, one_line(details->row.folder, 80)));
}

bool is_range_text(std::string_view text) {
  return text.find_first_not_of("0123456789-") == std::string_view::npos;
}

}  // namespace

Result<std::vector<std::uint64_t>> read_trials(const std::string& study_dir,
                                               const std::vector<std::string>& words) {
  std::vector<std::uint64_t> numbers;
  for (std::string_view word : words) {
    while (word.ends_with('/')) word.remove_suffix(1);  // as a shell completes a folder's name
    for (const std::string_view part : split(word, ',')) {
      if (is_range_text(part)) {
        if (Status read = read_range(part, numbers); !read) return propagate(read);
        continue;
      }
      auto number = trial_of_folder(study_dir, part);
      if (!number) return propagate(number);
      numbers.push_back(*number);
    }
  }
  return numbers;
}

std::vector<std::string> with_study_option(std::vector<std::string> words) {
  constexpr std::string_view kCommands[] = {"show", "logs", "add", "slots", "cancel", "retry"};
  if (words.size() < 2 ||
      std::find(std::begin(kCommands), std::end(kCommands), words[0]) == std::end(kCommands)) {
    return words;
  }
  const std::string& word = words[1];
  if (word.empty() || word[0] == '-' || word.find('=') != std::string::npos ||
      word.find_first_not_of("0123456789-,") == std::string::npos) {
    return words;
  }
  Invocation invocation;
  invocation.study = word;
  for (std::size_t i = 2; i < words.size(); ++i) {
    if (words[i] == "--dir" && i + 1 < words.size()) invocation.dir = words[i + 1];
    if (words[i].starts_with("--dir=")) invocation.dir = words[i].substr(6);
    if (words[i] == "--study" || words[i].starts_with("--study=")) return words;
  }
  if (find_study(invocation)) words.insert(words.begin() + 1, "--study");
  return words;
}

}  // namespace seedbed
