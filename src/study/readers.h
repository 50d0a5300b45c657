#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "study/study_spec.h"

namespace seedbed {

/// Reads a file the sweep refers to (a CSV of trials, a config template), path as written.
/// Handed in by the caller: study/ touches no files.
using TextReader = std::function<Result<std::string>(const std::string& path)>;

/// Where the pieces of a study come from; each may be empty.
struct StudySources {
  std::string file_name;             ///< for messages
  std::string file_text;             ///< the sweep file, YAML
  std::vector<std::string> words;    ///< `NAME=SPEC` from the command line; replace the file's
  std::vector<std::string> command;  ///< after `--`; replaces the file's
  std::vector<std::string> where;    ///< `--where`, added to the file's
  // Options of the command line that replace keys of the file; empty = as the file says.
  std::string metric, goal, method, order, bool_style, seed_parameter;
  std::optional<std::uint64_t> limit, sampler_seed;
};

/// Merges file, words and options into one checked study. Errors carry file, line, column, the text
/// concerned and a remedy; of those in the file the first ten are reported. Without a reader, files
/// that `trials` names are refused, and a template is taken to pass on every parameter.
[[nodiscard]] Result<StudySpec> read_study(const StudySources& sources, const TextReader& reader);

/// One `NAME=SPEC` word (Hydra's sweep grammar and our short forms). `word_index` (from 1) and the
/// column go into errors.
[[nodiscard]] Result<Dimension> read_word(std::string_view word, int word_index);

/// Trials at once, at most: `slots` and `--slots`.
inline constexpr std::uint64_t kMostSlots = 1'000'000;

/// The study as one canonical YAML text, kept as STUDY/sweep.yaml: reading it gives the same study.
[[nodiscard]] std::string write_study(const StudySpec& spec);

/// Whether the name of a metric says that more is better: accuracies, rewards, returns, scores.
[[nodiscard]] bool more_is_better(std::string_view metric);

}  // namespace seedbed
