// The keys that are maps of settings: metric, resources, limits, retries, env, capture,
// early_terminate.
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "base/text.h"
#include "study/reader_draft.h"

namespace seedbed {

namespace {

constexpr const char* kText = "give it a text";  // of a key that must be there

Status read_metric_name(ReadContext& context, const YamlNode& node, StudyDraft& draft) {
  Result<std::string> name = read_text(context, node, "`name` of `metric`", kText);
  if (!name) return propagate(name);
  if (name->empty()) return context.error(node, "the metric's name is empty");
  draft.spec.objective.metric = *name;
  return {};
}

Status read_metric_goal(ReadContext& context, const YamlNode& node, StudyDraft& draft) {
  Result<std::size_t> goal =
      read_choice(context, node, "`goal` of `metric`", {"minimize", "maximize"});
  if (!goal) return propagate(goal);
  draft.spec.objective.goal = *goal == 0 ? Goal::minimize : Goal::maximize;
  draft.spec.objective.goal_stated = true;
  return {};
}

Status ignore_impute(ReadContext& context, const YamlNode&, StudyDraft&) {
  context.unsupported.emplace_back("metric: impute (has no effect)");
  return {};
}

constexpr Key<StudyDraft> kMetricKeys[] = {
    {"name", "the metric's name, as the program reports it", read_metric_name},
    {"goal", "`minimize` or `maximize`", read_metric_goal},
    {"impute", "W&B's, accepted without effect", ignore_impute},
    {"impute_while_running", "W&B's, accepted without effect", ignore_impute},
    {"target", "ending a study at a value of its metric is to come", nullptr},
};

Status read_cpus(ReadContext& context, const YamlNode& node, ResourceSpec& resources) {
  Result<double> number = read_number(context, node, "`cpus`");
  if (!number) return propagate(number);
  constexpr double kMostCpus = 1e6;  // as --cpus
  if (*number <= 0 || *number > kMostCpus) {
    return context.error(node, "`cpus` is above zero, and at most a million",
                         "write 1, or 0.5 for half");
  }
  resources.cpus = *number;
  return {};
}

Status read_gpu_memory(ReadContext& context, const YamlNode& node, ResourceSpec& resources) {
  Result<std::uint64_t> bytes = read_size(context, node, "`memory` of `gpus`");
  if (!bytes) return propagate(bytes);
  resources.gpu_memory = *bytes;
  return {};
}

constexpr Key<ResourceSpec> kGpuKeys[] = {
    {"memory", "bytes of one device: `8GiB`", read_gpu_memory},
};

Status read_gpus(ReadContext& context, const YamlNode& node, ResourceSpec& resources) {
  if (node.is_map()) {
    read_keys<ResourceSpec>(context, node, "`gpus`", kGpuKeys, resources);
    return {};
  }
  Result<double> number = read_number(context, node, "`gpus`");
  if (!number) return propagate(number);
  const bool whole = *number == std::floor(*number);
  if (*number < 0 || *number > 1024 || (*number > 1 && !whole)) {
    return context.error(node, "`gpus` is neither a number of devices nor a share below 1",
                         "write 1, 2, 0.25 or {memory: 8GiB}");
  }
  resources.gpus = *number;
  return {};
}

Status read_memory(ReadContext& context, const YamlNode& node, ResourceSpec& resources) {
  Result<std::uint64_t> bytes = read_size(context, node, "`memory`");
  if (!bytes) return propagate(bytes);
  resources.memory = *bytes;
  return {};
}

Status read_ranks(ReadContext& context, const YamlNode& node, ResourceSpec& resources) {
  Result<std::uint64_t> ranks = read_count(context, node, "`ranks`", 1, 1'000'000);
  if (!ranks) return propagate(ranks);
  resources.ranks = static_cast<int>(*ranks);
  return {};
}

Status read_mpi(ReadContext& context, const YamlNode& node, ResourceSpec& resources) {
  Result<std::string> mpi = read_text(context, node, "`mpi`", "write mpi: mpirun.mpich");
  if (!mpi) return propagate(mpi);
  if (mpi->empty()) return context.error(node, "`mpi` is empty", "write mpi: mpirun.mpich");
  resources.mpi = *mpi;
  return {};
}

constexpr Key<ResourceSpec> kResourceKeys[] = {
    {"cpus", "cores of one trial, with `ranks` of each rank; fractions share a core; 1", read_cpus},
    {"gpus", "devices of one trial: 1, a share of one (0.2), or {memory: 8GiB}", read_gpus},
    {"memory", "memory of one trial: `4GiB`", read_memory},
    {"ranks", "MPI ranks of one trial: it is started with mpirun; 1", read_ranks},
    {"mpi", "the mpirun for `ranks`, as a name or a path; the one that fits the program", read_mpi},
};

// Any other key is a resource of that name, unless it looks like a slip.
Status read_named_resource(ReadContext& context, const YamlEntry& entry, ResourceSpec& resources) {
  static const std::map<std::string, std::string, std::less<>> kSlips = {
      {"cpu", "cpus"},   {"cores", "cpus"}, {"core", "cpus"}, {"gpu", "gpus"},
      {"mem", "memory"}, {"ram", "memory"}, {"rank", "ranks"}};
  std::optional<std::string> meant = nearest(entry.key, key_names<ResourceSpec>(kResourceKeys));
  const auto slip = kSlips.find(entry.key);
  if (slip != kSlips.end()) meant = slip->second;
  if (meant) {
    return context.error_at(entry.key_offset,
                            "unknown key " + in_ticks(entry.key) + " in `resources`",
                            "did you mean `" + *meant + "`?");
  }
  if (const auto problem = name_problem(entry.key)) {
    return context.error_at(entry.key_offset, *problem);
  }
  Result<double> number = read_number(context, *entry.value, "the resource " + in_ticks(entry.key));
  if (!number) return propagate(number);
  if (*number < 0) return context.error(*entry.value, "a resource below zero");
  resources.named[entry.key] = *number;
  return {};
}

template <std::optional<Milliseconds> LimitSpec::*Field>
Status read_time_limit(ReadContext& context, const YamlNode& node, LimitSpec& limits) {
  Result<Milliseconds> limit = read_duration(context, node, "the limit");
  if (!limit) return propagate(limit);
  limits.*Field = *limit;
  return {};
}

Status read_log_limit(ReadContext& context, const YamlNode& node, LimitSpec& limits) {
  Result<std::uint64_t> bytes = read_size(context, node, "the limit of the log");
  if (!bytes) return propagate(bytes);
  limits.log_bytes = *bytes;
  return {};
}

constexpr Key<LimitSpec> kLimitKeys[] = {
    {"time", "wall time of one attempt", read_time_limit<&LimitSpec::time>},
    {"silence", "time without output or a growing captured file",
     read_time_limit<&LimitSpec::silence>},
    {"study", "time of the whole run", read_time_limit<&LimitSpec::study>},
    {"log", "size of one attempt's log; head and tail stay", read_log_limit},
};

Status read_retry_count(ReadContext& context, const YamlNode& node, RetrySpec& retries) {
  Result<std::uint64_t> count = read_count(context, node, "the number of retries", 0, 1000);
  if (!count) return propagate(count);
  retries.count = static_cast<int>(*count);
  return {};
}

Status read_retry_causes(ReadContext& context, const YamlNode& node, RetrySpec& retries) {
  // Interrupted, lost and preempted attempts always run again, at no retry; pruned ones never do.
  static const std::vector<std::string> kCauses = {"exited", "signalled", "timed_out",
                                                   "start_failed", "out_of_memory"};
  Result<std::vector<std::string>> words = read_texts(context, node, "`on`");
  if (!words) return propagate(words);
  if (words->empty()) return context.error(node, "`on` is empty", suggest({}, kCauses));
  retries.on.clear();
  for (std::size_t i = 0; i < words->size(); ++i) {
    const YamlNode& place = node.is_sequence() ? *node.items[i] : node;
    const std::string& word = (*words)[i];
    const std::optional<OutcomeKind> kind = outcome_from_word(word);
    if (!kind || std::find(kCauses.begin(), kCauses.end(), word) == kCauses.end()) {
      return context.error(place, "`on` cannot hold " + in_ticks(word), suggest(word, kCauses));
    }
    retries.on.insert(*kind);
  }
  return {};
}

Status read_retry_wait(ReadContext& context, const YamlNode& node, RetrySpec& retries) {
  if (node.is_scalar() && node.text == "0") return {};
  Result<Milliseconds> wait = read_duration(context, node, "`wait`");
  if (!wait) return propagate(wait);
  retries.wait = *wait;
  return {};
}

constexpr Key<RetrySpec> kRetryKeys[] = {
    {"count", "how often a failed trial is run again; 0", read_retry_count},
    {"on",
     "after which ends: exited, signalled, timed_out, start_failed, out_of_memory; all of them",
     read_retry_causes},
    {"wait", "time before the next attempt; 0", read_retry_wait},
};

Status read_capture_file(ReadContext& context, const YamlNode& node, CaptureSpec& capture) {
  Result<std::string> file = read_text(context, node, "`file`", kText);
  if (!file) return propagate(file);
  if (file->empty()) return context.error(node, "`file` is empty");
  capture.file = *file;
  return {};
}

// What metrics/ will do with it, so that a slip is told where it stands.
Status check_pattern(ReadContext& context, const YamlNode& node, const std::string& pattern) {
  RE2::Options options;
  options.set_log_errors(false);
  const RE2 regex(re2::StringPiece(pattern), options);
  if (regex.ok()) return {};
  return context.error(node, "the pattern is not understood: " + one_line(regex.error(), 200),
                       "RE2 syntax has no look-around and no back-references; a bracket that is "
                       "meant as such is written \\( or \\[");
}

Status read_capture_pattern(ReadContext& context, const YamlNode& node, CaptureSpec& capture) {
  Result<std::string> pattern = read_text(context, node, "`pattern`", kText);
  if (!pattern) return propagate(pattern);
  if (pattern->find("(?P<") == std::string::npos) {
    return context.error(node, "`pattern` has no named group",
                         "the group's name is the metric's: 'acc=(?P<val_acc>\\S+)'");
  }
  if (Status fine = check_pattern(context, node, *pattern); !fine) return fine;
  capture.pattern = *pattern;
  return {};
}

Status read_capture_failure(ReadContext& context, const YamlNode& node, CaptureSpec& capture) {
  Result<std::string> pattern = read_text(context, node, "`failure`", kText);
  if (!pattern) return propagate(pattern);
  if (pattern->empty()) return context.error(node, "`failure` is empty, it would match every line");
  if (Status fine = check_pattern(context, node, *pattern); !fine) return fine;
  capture.failure = *pattern;
  return {};
}

constexpr Key<CaptureSpec> kCaptureKeys[] = {
    {"file", "a file that the program writes: CSV, TSV or JSON lines", read_capture_file},
    {"pattern", "a pattern (RE2) for output lines; named groups are metrics", read_capture_pattern},
    {"failure", "a pattern (RE2): an output line with it makes exit code 0 a failure",
     read_capture_failure},
};

Status read_capture_entry(ReadContext& context, const YamlNode& node, StudyDraft& draft) {
  CaptureSpec capture;
  const std::size_t errors = context.errors.size();
  read_keys<CaptureSpec>(context, node, "`capture`", kCaptureKeys, capture);
  if (context.errors.size() > errors) return {};
  if (!capture.file.empty() + !capture.pattern.empty() + !capture.failure.empty() != 1) {
    return context.error(node, "an entry of `capture` has one of `file`, `pattern` and `failure`");
  }
  for (const CaptureSpec& earlier : draft.spec.capture) {
    if (capture.file.empty() || earlier.file != capture.file) continue;
    return context.error(node, "the file " + in_ticks(capture.file) + " is captured twice",
                         "keep one of the two");
  }
  draft.spec.capture.push_back(std::move(capture));
  return {};
}

// One rule of early_terminate. Rules that are not there are told, and trials run to the end.
Status read_rule(ReadContext& context, const YamlNode& node, StudyDraft& draft) {
  const YamlNode* type = node.is_map() ? node.find("type") : nullptr;
  if (type == nullptr) {
    return context.error(node, "a rule of `early_terminate` is a map with a `type`",
                         "write early_terminate: {type: median, min_iter: 1, min_trials: 5}");
  }
  Result<std::string> word = read_text(context, *type, "`type`", kText);
  if (!word) return propagate(word);
  if (*word != "nan" && *word != "median") {
    if (const auto near = nearest(*word, {"nan", "median"})) {
      return context.error(*type, "unknown rule " + in_ticks(*word),
                           "did you mean `" + *near + "`?");
    }
    context.warn(type->offset, "early_terminate: the rule " + in_ticks(*word) +
                                   " is not available yet; trials run to the end");
    context.unsupported.push_back("early_terminate: " + *word);
    ValueNotes unused;
    Result<Value> rule = read_value(context, node, unused);
    if (!rule) return propagate(rule);
    draft.spec.rules_to_come.emplace_back(rule->canonical_json());
    return {};
  }
  static const std::vector<std::string> kMedian = {"min_iter", "min_trials"};
  const std::vector<std::string> options = *word == "median" ? kMedian : std::vector<std::string>{};
  PrunerSpec rule{*word, {}};
  for (const YamlEntry& entry : node.entries) {
    if (entry.key == "type") continue;
    if (std::find(options.begin(), options.end(), entry.key) == options.end()) {
      return context.error_at(entry.key_offset,
                              "the rule `" + *word + "` has no option " + in_ticks(entry.key),
                              suggest(entry.key, options));
    }
    Result<std::uint64_t> number =
        read_count(context, *entry.value, "`" + entry.key + "`", 1, 1'000'000'000);
    if (!number) return propagate(number);
    rule.options[entry.key] = static_cast<double>(*number);
  }
  draft.spec.pruners.push_back(std::move(rule));
  return {};
}

}  // namespace

Status read_metric(ReadContext& context, const YamlNode& node, StudyDraft& draft) {
  draft.metric_place = {context.source, node.offset};
  if (node.is_scalar()) return read_metric_name(context, node, draft);
  const std::size_t errors = context.errors.size();
  read_keys<StudyDraft>(context, node, "`metric`", kMetricKeys, draft);
  if (context.errors.size() == errors && draft.spec.objective.metric.empty()) {
    return context.error(node, "`metric` has no `name`", "write metric: {name: loss}");
  }
  return {};
}

Status read_resources(ReadContext& context, const YamlNode& node, StudyDraft& draft) {
  if (node.is_sequence() && node.items.size() == 1) {
    return read_resources(context, *node.items[0], draft);
  }
  if (node.is_sequence()) {
    return context.error(node, "a list of `resources` to choose from is not available yet",
                         "write one map");
  }
  if (!node.is_map()) {
    return context.error(node, "`resources` takes a map", "write resources: {cpus: 1}");
  }
  for (const YamlEntry& entry : node.entries) {
    const Key<ResourceSpec>* found = nullptr;
    for (const Key<ResourceSpec>& key : kResourceKeys) {
      if (key.name == entry.key) found = &key;
    }
    Status read = found != nullptr ? found->read(context, *entry.value, draft.spec.resources)
                                   : read_named_resource(context, entry, draft.spec.resources);
    if (!read) context.keep(read.error());
  }
  return {};
}

Status read_limits(ReadContext& context, const YamlNode& node, StudyDraft& draft) {
  read_keys<LimitSpec>(context, node, "`limits`", kLimitKeys, draft.spec.limits);
  return {};
}

Status read_retries(ReadContext& context, const YamlNode& node, StudyDraft& draft) {
  if (node.is_scalar()) return read_retry_count(context, node, draft.spec.retries);
  read_keys<RetrySpec>(context, node, "`retries`", kRetryKeys, draft.spec.retries);
  return {};
}

Status read_env(ReadContext& context, const YamlNode& node, StudyDraft& draft) {
  if (!node.is_map()) {
    return context.error(node, "`env` takes a map of names and texts", "write env: {NAME: value}");
  }
  for (const YamlEntry& entry : node.entries) {
    if (entry.key.empty() || entry.key.find('=') != std::string::npos) {
      return context.error_at(entry.key_offset, in_ticks(entry.key) + " cannot name a variable");
    }
    if (entry.key.starts_with("SEEDBED_")) {
      return context.error_at(entry.key_offset, "variables named SEEDBED_… are set by seedbed");
    }
    Result<std::string> text =
        read_text(context, *entry.value, in_ticks(entry.key), "write \"\" for an empty text");
    if (!text) return propagate(text);
    draft.spec.env[entry.key] = *text;
  }
  return {};
}

Status read_capture(ReadContext& context, const YamlNode& node, StudyDraft& draft) {
  if (!node.is_sequence()) return read_capture_entry(context, node, draft);
  for (const YamlPointer& item : node.items) {
    Status read = read_capture_entry(context, *item, draft);
    if (!read) context.keep(read.error());
  }
  return {};
}

Status read_early_terminate(ReadContext& context, const YamlNode& node, StudyDraft& draft) {
  if (!node.is_sequence()) return read_rule(context, node, draft);
  for (const YamlPointer& item : node.items) {
    Status read = read_rule(context, *item, draft);
    if (!read) context.keep(read.error());
  }
  return {};
}

std::vector<KeyDoc> settings_key_docs() {
  std::vector<KeyDoc> docs = key_docs<StudyDraft>("metric", kMetricKeys);
  for (const auto& more :
       {key_docs<ResourceSpec>("resources", kResourceKeys),
        key_docs<LimitSpec>("limits", kLimitKeys), key_docs<RetrySpec>("retries", kRetryKeys),
        key_docs<CaptureSpec>("capture", kCaptureKeys)}) {
    docs.insert(docs.end(), more.begin(), more.end());
  }
  return docs;
}

}  // namespace seedbed
