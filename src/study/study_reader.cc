// The top level of a study: the table of the sweep file's keys, and read_study, which merges file,
// words and options.
#include <algorithm>
#include <array>
#include <limits>

#include "base/text.h"
#include "study/halt.h"
#include "study/reader_draft.h"

namespace seedbed {

namespace {

// Trials are numbered in the record by signed numbers of 64 bits.
constexpr std::uint64_t kMostTrials = std::numeric_limits<std::int64_t>::max();

const std::vector<std::string> kMethods = {"grid", "random", "sobol"};
const std::vector<std::string> kOrders = {"given", "shuffled", "longest-first"};
const std::vector<std::string> kBoolStyles = {"python", "true-false", "01"};

Status read_spec_text(ReadContext& context, const YamlNode& node, const char* key,
                      std::string& field) {
  Result<std::string> text = read_text(context, node, key);
  if (!text) return propagate(text);
  field = *text;
  return {};
}

Status read_description(ReadContext& context, const YamlNode& node, StudyDraft& draft) {
  return read_spec_text(context, node, "`description`", draft.spec.description);
}

Status read_project(ReadContext& context, const YamlNode& node, StudyDraft& draft) {
  return read_spec_text(context, node, "`project`", draft.spec.project);
}

Status read_entity(ReadContext& context, const YamlNode& node, StudyDraft& draft) {
  return read_spec_text(context, node, "`entity`", draft.spec.entity);
}

Status read_name(ReadContext& context, const YamlNode& node, StudyDraft& draft) {
  if (Status text = read_spec_text(context, node, "`name`", draft.spec.name); !text) return text;
  if (draft.spec.name.empty())
    return context.error(node, "the study's name is empty",
                         "leave the key out for the file's name");
  return {};
}

Status read_program(ReadContext& context, const YamlNode& node, StudyDraft& draft) {
  Result<std::string> text = read_text(context, node, "`program`");
  if (!text) return propagate(text);
  if (text->empty())
    return context.error(node, "`program` is empty", "name the script, or leave the key out");
  draft.program = *text;
  if (!draft.command_place) draft.command_place = SourcePlace{context.source, node.offset};
  return {};
}

Status read_command(ReadContext& context, const YamlNode& node, StudyDraft& draft) {
  draft.command_place = SourcePlace{context.source, node.offset};
  Result<std::vector<std::string>> words = read_texts(context, node, "`command`");
  if (!words) return propagate(words);
  if (words->empty() || words->front().empty())
    return context.error(node, "`command` is empty", "write its words, or leave the key out");
  draft.command = std::move(*words);
  return {};
}

// Whether `command` is one text is checked here, because `shell` may stand below it.
Status check_command_form(ReadContext& context, const YamlNode& root, const StudyDraft& draft) {
  const YamlNode* command = root.is_map() ? root.find("command") : nullptr;
  if (command == nullptr || !command->is_scalar() || draft.command_options.shell) return {};
  return context.error(*command, "`command` takes a list of words, not one text",
                       "write command: [python3, train.py, \"${args}\"], or add shell: true");
}

Status read_shell(ReadContext& context, const YamlNode& node, StudyDraft& draft) {
  Result<bool> shell = read_bool(context, node, "`shell`");
  if (!shell) return propagate(shell);
  draft.command_options.shell = *shell;
  return {};
}

Status read_params(ReadContext& context, const YamlNode& node, StudyDraft& draft) {
  Result<std::size_t> way = read_choice(context, node, "`params`", {"args", "file"});
  if (!way) return propagate(way);
  draft.command_options.params_by_file = *way == 1;
  return {};
}

BoolStyle bool_style(std::size_t index) {
  static constexpr std::array kStyles = {BoolStyle::python, BoolStyle::lower, BoolStyle::zero_one};
  return kStyles[index];
}

Status read_bool_style(ReadContext& context, const YamlNode& node, StudyDraft& draft) {
  Result<std::size_t> style = read_choice(context, node, "`bool_style`", kBoolStyles);
  if (!style) return propagate(style);
  draft.command_options.bool_style = bool_style(*style);
  return {};
}

Status read_method(ReadContext& context, const YamlNode& node, StudyDraft& draft) {
  if (draft.method_replaced && node.is_scalar()) return {};
  if (node.is_scalar() && (node.text == "bayes" || node.text == "custom")) {
    return context.error(node, "`method: " + node.text + "` is not available yet",
                         "known: " + join(kMethods, ", ") +
                             "; to search at random instead: --method random --limit 50");
  }
  Result<std::size_t> method = read_choice(context, node, "`method`", kMethods);
  if (!method) return propagate(method);
  draft.spec.method = static_cast<Method>(*method);
  draft.spec.method_stated = true;
  draft.method_place = SourcePlace{context.source, node.offset};
  return {};
}

Status read_order(ReadContext& context, const YamlNode& node, StudyDraft& draft) {
  Result<std::size_t> order = read_choice(context, node, "`order`", kOrders);
  if (!order) return propagate(order);
  draft.spec.order = static_cast<Order>(*order);
  return {};
}

Status read_launcher(ReadContext& context, const YamlNode& node, StudyDraft&) {
  if (node.is_scalar() && (node.text == "mpi" || node.text == "slurm")) {
    return context.error(node, "`launcher: " + node.text + "` is not available yet",
                         "known: local");
  }
  Result<std::size_t> launcher = read_choice(context, node, "`launcher`", {"local"});
  if (!launcher) return propagate(launcher);
  return {};
}

Status read_seed_parameter(ReadContext& context, const YamlNode& node, StudyDraft& draft) {
  Result<std::string> name = read_text(context, node, "`seed_parameter`");
  if (!name) return propagate(name);
  if (const auto problem = name_problem(*name)) return context.error(node, *problem);
  draft.spec.seed_parameter = *name == "none" ? "" : *name;
  draft.seed_parameter_place = SourcePlace{context.source, node.offset};
  return {};
}

Status read_sampler_seed(ReadContext& context, const YamlNode& node, StudyDraft& draft) {
  Result<std::uint64_t> seed = read_count(context, node, "`sampler_seed`");
  if (!seed) return propagate(seed);
  draft.spec.sampler_seed = *seed;
  return {};
}

Status read_run_cap(ReadContext& context, const YamlNode& node, StudyDraft& draft) {
  Result<std::uint64_t> cap = read_count(context, node, "`run_cap`", 1, kMostTrials);
  if (!cap) return propagate(cap);
  draft.spec.run_cap = *cap;
  return {};
}

Status read_slots(ReadContext& context, const YamlNode& node, StudyDraft& draft) {
  if (node.is_scalar() && node.text == "auto") return {};
  Result<std::uint64_t> slots = read_count(context, node, "`slots`", 1, kMostSlots);
  if (!slots) {
    return context.error(
        node, "`slots` takes `auto` or a whole number from 1 to " + std::to_string(kMostSlots));
  }
  draft.spec.slots = static_cast<std::uint32_t>(*slots);
  return {};
}

Status read_repeat(ReadContext& context, const YamlNode& node, StudyDraft& draft) {
  Result<std::uint64_t> repeat = read_count(context, node, "`repeat`", 1, std::uint64_t{1} << 53U);
  if (!repeat) return propagate(repeat);
  draft.repeat = *repeat;
  draft.repeat_place = {context.source, node.offset};
  return {};
}

Status read_workdir(ReadContext& context, const YamlNode& node, StudyDraft& draft) {
  Result<std::size_t> where = read_choice(context, node, "`workdir`", {"here", "trial"});
  if (!where) return propagate(where);
  draft.spec.workdir = *where == 1 ? Workdir::trial : Workdir::here;
  return {};
}

Status read_template(ReadContext& context, const YamlNode& node, StudyDraft& draft) {
  Result<std::string> file = read_text(context, node, "`template`");
  if (!file) return propagate(file);
  if (file->empty()) return context.error(node, "`template` names no file");
  draft.spec.template_file = *file;
  draft.template_place = SourcePlace{context.source, node.offset};
  return {};
}

Status read_snapshot(ReadContext& context, const YamlNode& node, StudyDraft& draft) {
  Result<bool> snapshot = read_bool(context, node, "`snapshot`");
  if (!snapshot) return propagate(snapshot);
  draft.spec.snapshot = *snapshot;
  return {};
}

Status read_halt(ReadContext& context, const YamlNode& node, StudyDraft& draft) {
  Result<std::string> halt = read_text(context, node, "`halt`");
  if (!halt) return propagate(halt);
  auto rule = HaltSpec::parse(*halt);
  if (!rule) return context.error(node, "`halt`: " + rule.error().message);
  draft.spec.halt = rule->kind == HaltSpec::Kind::never ? "" : *halt;
  return {};
}

Status read_common_parameters(ReadContext& context, const YamlNode& node, StudyDraft& draft) {
  return read_parameters_key(context, node, draft, draft.common);
}
Status read_common_zip(ReadContext& context, const YamlNode& node, StudyDraft& draft) {
  return read_zip(context, node, draft.common);
}
Status read_common_trials(ReadContext& context, const YamlNode& node, StudyDraft& draft) {
  return read_trials(context, node, *draft.text_reader, draft.common);
}
Status read_common_where(ReadContext& context, const YamlNode& node, StudyDraft& draft) {
  return read_where(context, node, draft.common);
}
Status accept(ReadContext&, const YamlNode&, StudyDraft&) { return {}; }
Status ignore_controller(ReadContext& context, const YamlNode&, StudyDraft&) {
  context.unsupported.emplace_back("controller (has no effect)");
  return {};
}

constexpr Key<StudyDraft> kStudyKeys[] = {
    {"name", "the study's name; else the file's", read_name},
    {"description", "a text for people", read_description},
    {"project", "W&B's, recorded", read_project},
    {"entity", "W&B's, recorded", read_entity},
    {"program", "what `${program}` stands for", read_program},
    {"command", "the argument vector", read_command},
    {"shell", "`true`: `command` is one line for bash, with pipefail", read_shell},
    {"params", "`file`: the program reads `$SEEDBED_PARAMS`; `args`", read_params},
    {"bool_style", "how true and false reach the program: python, true-false, 01; python",
     read_bool_style},
    {"metric", "what to look at: a name, or a map", read_metric},
    {"method", "grid, random or sobol; grid, or random when a range is continuous", read_method},
    {"parameters", "the parameters and their values", read_common_parameters},
    {"zip", "groups of parameters that vary together", read_common_zip},
    {"union", "list of branches: several spaces in one study", read_union},
    {"trials", "explicit points: a list of maps, or a CSV file", read_common_trials},
    {"where", "keep only the points where this holds; a text or a list", read_common_where},
    {"repeat", "adds the seed parameter with 0 … n−1", read_repeat},
    {"seed_parameter", "the replicate axis; `none` for none; seed", read_seed_parameter},
    {"sampler_seed", "seed of random and Sobol search and of shuffling; 0", read_sampler_seed},
    {"order", "given, shuffled or longest-first; given", read_order},
    {"run_cap", "the first n points only", read_run_cap},
    {"slots", "trials at once: `auto` or a number; auto", read_slots},
    {"resources", "what one trial needs", read_resources},
    {"limits", "time, silence, study, log", read_limits},
    {"retries", "a number, or a map", read_retries},
    {"halt",
     "start nothing more after failures: first, a number, or a share such as 20%, which counts "
     "once "
     "10 trials have ended; running trials finish",
     read_halt},
    {"early_terminate", "one rule that stops trials early, or a list", read_early_terminate},
    {"env", "variables for the program; placeholders allowed", read_env},
    {"workdir", "`here` or `trial`: the trial's own folder; here", read_workdir},
    {"capture", "files and patterns to read metrics from", read_capture},
    {"template", "a config file filled per trial, passed as `{config}`", read_template},
    {"snapshot", "`true`: run from a copy of the tracked files", read_snapshot},
    {"launcher", "local", read_launcher},
    {"preload", "starting trials from one prepared interpreter is to come", nullptr},
    {"kind", "W&B's, accepted without effect", accept},
    {"apiVersion", "W&B's, accepted without effect", accept},
    {"controller", "W&B's, accepted without effect", ignore_controller},
    {"metrics", "several objectives are to come", nullptr},
    {"scheduler", "only W&B's own service has it", nullptr},
    {"job", "only W&B's own service has it; write `program` or `command`", nullptr},
    {"image_uri", "only W&B's own service has it; write `program` or `command`", nullptr},
};

const std::set<std::string, std::less<>> kWandbKeys = {
    "name",   "description", "project",         "entity",  "program", "command",    "metric",
    "method", "parameters",  "early_terminate", "run_cap", "kind",    "apiVersion", "controller"};

// Where seedbed reads a W&B sweep file in its own way, it says so.
void note_wandb(ReadContext& context, const YamlNode& root, const StudyDraft& draft) {
  if (!root.is_map() || root.find("method") == nullptr) return;
  for (const YamlEntry& entry : root.entries) {
    if (!kWandbKeys.contains(entry.key)) return;
  }
  std::vector<std::string> names;
  for (const PlacedDimension& placed : draft.common.dimensions) {
    names.push_back(placed.dimension.name);
  }
  if (draft.spec.method == Method::grid && !std::is_sorted(names.begin(), names.end())) {
    context.warnings.push_back(context.source->name() +
                               ": trials run in the order in which parameters are written, the "
                               "last varies fastest; W&B sorts them by name");
  }
  if (draft.nested) {
    context.warnings.push_back(context.source->name() +
                               ": nested parameters reach the program under dotted names "
                               "(--opt.lr=…), where W&B passes one dict; ${args_json} passes them "
                               "nested");
  }
}

Result<std::size_t> option_choice(const std::string& option, const std::string& word,
                                  const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == word) return i;
  }
  return fail(ErrorCode::usage,
              option + " cannot be " + in_ticks(word) + "; " + suggest(word, words));
}

Status apply_objective_options(const StudySources& sources, StudyDraft& draft) {
  Objective& objective = draft.spec.objective;
  if (!sources.metric.empty() && sources.metric != objective.metric) {
    objective = Objective{};  // the file's goal was for the file's metric
    objective.metric = sources.metric;
  }
  if (sources.goal.empty()) return {};
  Result<std::size_t> goal = option_choice("--goal", sources.goal, {"minimize", "maximize"});
  if (!goal) return propagate(goal);
  if (objective.metric.empty()) {
    return fail(ErrorCode::usage, "--goal without a metric; name it with --metric");
  }
  objective.goal = *goal == 0 ? Goal::minimize : Goal::maximize;
  objective.goal_stated = true;
  return {};
}

Status apply_options(const StudySources& sources, StudyDraft& draft) {
  if (Status fine = apply_objective_options(sources, draft); !fine) return fine;
  StudySpec& spec = draft.spec;
  if (!sources.method.empty()) {
    Result<std::size_t> method = option_choice("--method", sources.method, kMethods);
    if (!method) return propagate(method);
    spec.method = static_cast<Method>(*method);
    spec.method_stated = true;
    draft.method_place.reset();
  }
  if (!sources.order.empty()) {
    Result<std::size_t> order = option_choice("--order", sources.order, kOrders);
    if (!order) return propagate(order);
    spec.order = static_cast<Order>(*order);
  }
  if (!sources.bool_style.empty()) {
    Result<std::size_t> style = option_choice("--bool-style", sources.bool_style, kBoolStyles);
    if (!style) return propagate(style);
    draft.command_options.bool_style = bool_style(*style);
  }
  if (!sources.seed_parameter.empty()) {
    spec.seed_parameter = sources.seed_parameter == "none" ? "" : sources.seed_parameter;
    draft.seed_parameter_place.reset();
  }
  if (sources.limit) {
    if (*sources.limit == 0 || *sources.limit > kMostTrials) {
      return fail(ErrorCode::usage, "--limit takes a whole number from 1 to " +
                                        std::to_string(kMostTrials) + ", not " +
                                        std::to_string(*sources.limit));
    }
    spec.run_cap = sources.limit;
  }
  if (sources.sampler_seed) spec.sampler_seed = *sources.sampler_seed;
  for (const std::string& text : sources.where) {
    Result<Expression> where = Expression::parse(text);
    if (!where) return tl::unexpected(where.error().with_context("--where"));
    draft.common.where.push_back({std::move(*where), "--where"});
  }
  return {};
}

// Words keep their texts alive in `texts`, for messages of the assembly.
std::vector<PlacedDimension> read_words(ReadContext& context, const StudySources& sources,
                                        std::deque<SourceText>& texts) {
  std::vector<PlacedDimension> words;
  for (std::size_t i = 0; i < sources.words.size(); ++i) {
    const int index = static_cast<int>(i) + 1;
    Result<Dimension> dimension = read_word(sources.words[i], index);
    if (!dimension) {
      context.keep(dimension.error());
      continue;
    }
    texts.push_back(SourceText::word(index, sources.words[i]));
    const SourcePlace place{&texts.back(), 0};
    for (const PlacedDimension& earlier : words) {
      if (earlier.dimension.name != dimension->name) continue;
      context.keep(place.error("parameter " + in_ticks(dimension->name) +
                               " is given twice, first in " + earlier.place.source->name()));
    }
    for (const Value& value : dimension->values) {
      if (value.kind() != ValueKind::null) continue;
      context.warnings.push_back(place.text() + ": `" + dimension->name +
                                 "` has a null value, which reaches the program as None; write "
                                 "absent() to leave the option out, '' for an empty text");
      break;
    }
    words.push_back({std::move(*dimension), place});
  }
  return words;
}

Status all_errors(const ReadContext& context) {
  constexpr std::size_t kShown = 10;
  if (context.errors.empty()) return {};
  std::vector<std::string> messages;
  for (const Error& error : context.errors) {
    if (messages.size() == kShown) {
      messages.push_back("… and " + std::to_string(context.errors.size() - kShown) + " more");
      break;
    }
    messages.push_back(error.message);
  }
  return tl::unexpected(Error{context.errors.front().code, join(messages, "\n")});
}

Status settle_method(ReadContext& context, StudyDraft& draft) {
  StudySpec& spec = draft.spec;
  if (!spec.method_stated) spec.method = spec.space.finite() ? Method::grid : Method::random;
  if (spec.method != Method::grid) return {};
  for (const SpaceBranch& branch : spec.space.branches()) {
    for (const Dimension& dimension : branch.dimensions) {
      if (!dimension.probabilities.empty()) {
        context.warnings.push_back("`" + dimension.name +
                                   "`: probabilities have no effect in a grid");
      }
      if (dimension.finite()) continue;
      const std::string message =
          "a grid cannot go through the continuous range of " + in_ticks(dimension.name);
      const std::string remedy = "list values (linspace, geomspace), or choose method random";
      if (draft.method_place) return tl::unexpected(draft.method_place->error(message, remedy));
      return fail(ErrorCode::usage, "--method: " + message + "; " + remedy);
    }
  }
  return {};
}

Status read_file(ReadContext& context, StudyDraft& draft, YamlPointer& root) {
  Result<YamlPointer> tree = parse_yaml(*context.source);
  if (!tree) return propagate(tree);
  root = *tree;
  if (root->kind == YamlNode::Kind::null) {
    return fail(ErrorCode::usage, context.source->name() +
                                      ": the sweep file is empty; it needs at least `program` "
                                      "or `command`, and `parameters`");
  }
  read_keys<StudyDraft>(context, *root, "the sweep file", kStudyKeys, draft);
  if (Status form = check_command_form(context, *root, draft); !form) context.keep(form.error());
  return {};
}

Status check_objective(ReadContext& context, const StudySources& sources, StudyDraft& draft) {
  const bool in_file = sources.metric.empty() && draft.metric_place.source != nullptr;
  const std::string place = in_file ? draft.metric_place.text() : "--metric";
  if (Status fine = check_goal(context, draft.spec.objective, place); !fine) return fine;
  if (!draft.spec.objective.metric.empty()) return {};
  for (const PrunerSpec& rule : draft.spec.pruners) {
    if (rule.type != "median") continue;
    return fail(
        ErrorCode::usage,
        context.source->name() +
            ": early_terminate: the rule median needs a metric; write metric: {name: loss}");
  }
  return {};
}

Status check_seed_option(const StudySources& sources, const StudySpec& spec) {
  const std::vector<std::string>& names = spec.space.names();
  if (sources.seed_parameter.empty() || spec.seed_parameter.empty() ||
      std::find(names.begin(), names.end(), spec.seed_parameter) != names.end()) {
    return {};
  }
  return fail(ErrorCode::usage, "--seed-parameter names the unknown parameter " +
                                    in_ticks(spec.seed_parameter) + "; " +
                                    suggest(spec.seed_parameter, names));
}

// Adds the parameters that a text of the user's passes on.
Status note_placeholders(const std::string& text, const Space& space,
                         std::vector<std::string>& passed) {
  Result<std::vector<std::string>> names = CommandTemplate::parameters_in(text, space);
  if (!names) return propagate(names);
  passed.insert(passed.end(), names->begin(), names->end());
  return {};
}

Status read_template_text(StudyDraft& draft, const TextReader& reader) {
  if (draft.spec.template_file.empty()) return {};
  std::vector<std::string>& passed = draft.command_options.passed_elsewhere;
  if (!reader) {
    const std::vector<std::string>& all = draft.spec.space.names();
    passed.insert(passed.end(), all.begin(), all.end());
    return {};
  }
  Result<std::string> text = reader(draft.spec.template_file);
  if (!text) {
    return tl::unexpected(
        draft.template_place->error("`template`: " + text.error().message, "check the path"));
  }
  Status noted = note_placeholders(*text, draft.spec.space, passed);
  if (noted) return {};
  return tl::unexpected(noted.error().with_context(draft.template_place->text() + ": `" +
                                                   draft.spec.template_file + "`"));
}

Status build_command(const StudySources& sources, StudyDraft& draft, const TextReader& reader) {
  StudySpec& spec = draft.spec;
  std::vector<std::string> words = sources.command;
  std::string place = "after `--`";
  if (words.empty()) {
    words = draft.command;
    if (words.empty() && draft.program.empty()) {
      const std::string file = sources.file_name.empty() ? "" : sources.file_name + ": ";
      return fail(ErrorCode::usage, file +
                                        "no command to run; write `command` or `program` in the "
                                        "sweep file, or the command after `--`");
    }
    place = draft.command_place->text();
  } else {
    draft.command_options.shell = false;  // a vector of words, whatever the file's command was
  }
  for (const auto& [name, text] : spec.env) {
    Status noted = note_placeholders(text, spec.space, draft.command_options.passed_elsewhere);
    if (!noted) return tl::unexpected(noted.error().with_context("`env`: " + name));
  }
  if (Status read = read_template_text(draft, reader); !read) return read;
  Result<CommandTemplate> command =
      CommandTemplate::build(std::move(words), draft.program, draft.command_options, spec.space);
  if (!command) return tl::unexpected(command.error().with_context(place));
  spec.command = std::move(*command);
  spec.program = draft.program;
  if (!spec.template_file.empty() && !spec.command.uses_config_file()) {
    return tl::unexpected(
        draft.template_place->error("`template` is filled, but the command passes no {config}",
                                    "put {config} where the program expects the path"));
  }
  return {};
}

}  // namespace

std::vector<KeyDoc> sweep_file_keys() {
  std::vector<KeyDoc> docs = key_docs<StudyDraft>("", kStudyKeys);
  for (const auto& more : {parameter_key_docs(), settings_key_docs(), branch_key_docs()}) {
    docs.insert(docs.end(), more.begin(), more.end());
  }
  return docs;
}

Result<StudySpec> read_study(const StudySources& sources, const TextReader& reader) {
  const SourceText file(sources.file_name.empty() ? "sweep file" : sources.file_name,
                        with_whole_characters(sources.file_text));
  const bool has_file = !sources.file_name.empty() || !sources.file_text.empty();
  ReadContext context;
  context.source = &file;
  StudyDraft draft;
  draft.text_reader = &reader;
  draft.method_replaced = !sources.method.empty();
  YamlPointer root;
  if (has_file) {
    if (Status read = read_file(context, draft, root); !read) return propagate(read);
  }
  std::deque<SourceText> texts;
  const std::vector<PlacedDimension> words = read_words(context, sources, texts);
  if (Status options = apply_options(sources, draft); !options) context.keep(options.error());
  if (Status fine = all_errors(context); !fine) return propagate(fine);
  if (has_file && sources.method.empty()) note_wandb(context, *root, draft);

  Result<Space> space = assemble_space(context, draft, words);
  if (!space) return propagate(space);
  draft.spec.space = std::move(*space);
  if (Status fine = settle_method(context, draft); !fine) return propagate(fine);
  if (Status fine = build_command(sources, draft, reader); !fine) return propagate(fine);
  if (Status fine = check_objective(context, sources, draft); !fine) return propagate(fine);
  if (Status fine = check_seed_option(sources, draft.spec); !fine) return propagate(fine);
  draft.spec.warnings = std::move(context.warnings);
  draft.spec.unsupported = std::move(context.unsupported);
  return std::move(draft.spec);
}

}  // namespace seedbed
