#include "controller/attempt_setup.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "base/text.h"
#include "controller/free_port.h"
#include "controller/program_files.h"
#include "env/posix/files.h"
#include "machine/doctor.h"

namespace seedbed {
namespace {

std::string base_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

/// Where a program is: as given when it has a slash or is not found, else along PATH.
std::string program_path(const std::string& program, const std::string& path) {
  if (program.find('/') != std::string::npos) return program;
  std::string found = find_program(program, path);
  return found.empty() ? program : found;
}

class RealAttemptSetup : public AttemptSetup {
 public:
  RealAttemptSetup(const StudySpec& spec, SetupContext context)
      : spec_(spec), context_(std::move(context)), base_(base_variables(context_.surroundings)) {
    python_ = program_path("python", search_path({})) != "python" ? "python" : "python3";
    command_hash_ = hash_text(spec_.command.identity());
  }

  Result<Prepared> prepare(const TrialStatus& trial, AttemptId attempt,
                           const Allocation& allocation) override {
    auto prepared = try_to_prepare(trial, attempt, allocation);
    if (!prepared && context_.write_files && prepared.error().code == ErrorCode::usage) {
      // Whoever looks for the reason looks into the log, as after every other failed start.
      static_cast<void>(
          write_new_file(fmt::format("{}/attempt-{}.log", trial_dir(trial), attempt.attempt),
                         "seedbed: cannot be started: " + prepared.error().message + "\n"));
    }
    return prepared;
  }

  [[nodiscard]] std::string trial_dir(const TrialStatus& trial) const override {
    return context_.study_dir + "/trials/" + trial.folder;
  }

  void released(AttemptId attempt) override { ports_.give_back(attempt); }

 private:
  Result<Prepared> try_to_prepare(const TrialStatus& trial, AttemptId attempt,
                                  const Allocation& allocation) {
    const std::string dir = trial_dir(trial);
    if (Status made = make_trial_files(trial, dir); !made) return propagate(made);

    CommandContext words = command_context(trial, attempt, allocation, dir);
    if (spec_.command.uses_config_file()) {
      auto filled = fill(context_.template_text, trial.point, words);
      if (!filled) return propagate(filled);
      if (context_.write_files) {
        if (Status written = write_file(words.config, *filled); !written) {
          return propagate(written);
        }
      }
    }
    auto argv = spec_.command.render(trial.point, words);
    if (!argv) return propagate(argv);

    Prepared prepared;
    LaunchOrder& order = prepared.order;
    order.attempt = attempt;
    order.allocation = allocation;
    order.trial_dir = dir;
    order.argv = std::move(*argv);
    order.working_dir = context_.working_dir;
    if (spec_.workdir == Workdir::trial) {
      order.working_dir = dir;
      anchor_paths(order.argv);
    }
    auto own = own_variables(trial, words, allocation, attempt);
    if (!own) return propagate(own);
    if (spec_.workdir == Workdir::trial && !module_file(order.argv).empty()) {
      // Python looks for the module where it stands, which is not where the user stood.
      add_python_path(*own);
    }
    order.environment = to_words(base_, *own);
    for (const CaptureSpec& capture : spec_.capture) {
      if (capture.file.empty()) continue;
      auto file = fill(capture.file, trial.point, words);
      if (!file) return propagate(file);
      order.watched_files.push_back(file->starts_with('/') ? *file
                                                           : order.working_dir + "/" + *file);
    }
    order.watched_files.push_back(own->at("SEEDBED_METRICS"));
    order.time_limit = spec_.limits.time;
    order.silence_limit = spec_.limits.silence;
    order.log_limit = spec_.limits.log_bytes;
    order.grace = context_.grace;
    order.prune_grace = std::max(order.prune_grace, order.grace);
    order.stop_file = own->at("SEEDBED_STOP");
    order.nice = allocation.cores.empty() && context_.pins;
    order.fingerprint = fmt::format("{:016x}", hash_text(trial.point.identity(), command_hash_));
    const std::vector<std::string> program = order.argv;
    if (context_.mpi.plan) {
      order.argv = context_.mpi.plan->words;
      order.argv.insert(order.argv.end(), program.begin(), program.end());
    }
    describe(prepared, program, *own, words, attempt, allocation);
    return prepared;
  }

  [[nodiscard]] Result<std::string> fill(std::string_view text, const Point& point,
                                         const CommandContext& words) const {
    return spec_.command.fill(text, point, words, &spec_.space);
  }

  Status make_trial_files(const TrialStatus& trial, const std::string& dir) const {
    if (!context_.write_files) return {};
    auto fresh = make_directory(dir);
    if (!fresh) {  // the first of all trials
      if (Status made = make_directories(context_.study_dir + "/trials"); !made) return made;
      fresh = make_directory(dir);
    }
    if (!fresh) return propagate(fresh);
    std::vector<std::pair<std::string, std::string>> files;
    files.emplace_back("/wandb-params.yaml", wandb_params_yaml(trial.point));
    if (spec_.command.uses_arguments_file()) {
      files.emplace_back("/args.json", CommandTemplate::arguments_json(trial.point));
    }
    files.emplace_back("/params.json", params_json(trial.point));
    for (const auto& [name, content] : files) {
      Status written =
          *fresh ? write_new_file(dir + name, content) : keep_file(dir + name, content);
      if (!written) return written;
    }
    return {};
  }

  /// In a folder that was there: an earlier attempt's file stays, one that is missing or was cut by
  /// the death of an earlier controller is written anew.
  static Status keep_file(const std::string& path, const std::string& content) {
    const auto there = read_file(path, content.size());
    return there && *there == content ? Status() : write_file(path, content);
  }

  CommandContext command_context(const TrialStatus& trial, AttemptId attempt,
                                 const Allocation& allocation, const std::string& dir) {
    CommandContext words;
    words.trial = std::to_string(trial.number);
    words.attempt = std::to_string(attempt.attempt);
    words.trial_dir = dir;
    words.study_dir = context_.study_dir;
    words.slot = std::to_string(allocation.slot);
    words.params_file = dir + (spec_.command.uses_arguments_file() ? "/args.json" : "/params.json");
    words.python = python_;
    words.environment = [this](const std::string& name) -> std::optional<std::string> {
      auto found = context_.surroundings.find(name);
      if (found == context_.surroundings.end()) return std::nullopt;
      return found->second;
    };
    words.port = std::to_string(ports_.lend(attempt));
    if (context_.devices) {
      const auto& lent = allocation.devices;
      words.gpu = device_text(*context_.devices, lent, DeviceForm::physical);
      words.gpu_uuid = device_text(*context_.devices, lent, DeviceForm::uuid);
      words.gpu_index = device_text(*context_.devices, lent, DeviceForm::local);
    }
    if (spec_.command.uses_config_file()) {
      words.config = dir + "/" + base_name(spec_.template_file);
    }
    return words;
  }

  /// With `workdir: trial`, words that name files where the user stood must still find them.
  void anchor_paths(std::vector<std::string>& argv) const {
    for (std::string& word : argv) {
      const bool in_template = word == spec_.program ||
                               std::find(spec_.command.words().begin(), spec_.command.words().end(),
                                         word) != spec_.command.words().end();
      if (!in_template || word.empty() || word.front() == '/' || word.front() == '-') continue;
      const std::string anchored = context_.working_dir + "/" + word;
      if (&word == argv.data() && word.find('/') == std::string::npos) continue;  // along PATH
      if (access(anchored.c_str(), F_OK) == 0) word = anchored;
    }
  }

  /// What an attempt has besides, or instead of, the base variables.
  Result<Variables> own_variables(const TrialStatus& trial, const CommandContext& words,
                                  const Allocation& allocation, AttemptId attempt) const {
    Variables own;
    for (const auto& [name, text] : spec_.env) {
      auto value = fill(text, trial.point, words);
      if (!value) return tl::unexpected(value.error().with_context("env: " + name));
      Status fits = CommandTemplate::check_variable(name, *value, trial.point);
      if (!fits) return propagate(fits);
      own[name] = std::move(*value);
    }
    const int ranks = context_.mpi.plan ? context_.mpi.plan->ranks : 1;
    add_default_variables(own, base_, threads_for(allocation, ranks), words.port);
    if (context_.mpi.unbind && context_.pins) add_unbinding_variables(own, base_);
    if (context_.devices) {
      for (auto& [name, value] :
           device_variables(*context_.devices, allocation.devices, context_.surroundings)) {
        own[name] = std::move(value);
      }
    }
    if (context_.mpi.plan) {
      const std::string cores = rank_cores(allocation.cores, *context_.mpi.plan);
      if (!cores.empty()) own["SEEDBED_RANK_CORES"] = cores;
    }
    own["SEEDBED_STUDY_DIR"] = context_.study_dir;
    own["SEEDBED_TRIAL"] = words.trial;
    own["SEEDBED_ATTEMPT"] = words.attempt;
    own["SEEDBED_TRIAL_DIR"] = words.trial_dir;
    own["SEEDBED_SLOT"] = words.slot;
    own["SEEDBED_PARAMS"] = words.trial_dir + "/params.json";
    own["SEEDBED_METRICS"] = words.trial_dir + "/metrics.jsonl";
    own["SEEDBED_STOP"] = words.trial_dir + "/attempt-" + std::to_string(attempt.attempt) + ".stop";
    own["WANDB_SWEEP_PARAM_PATH"] = words.trial_dir + "/wandb-params.yaml";
    return own;
  }

  /// Looked for once, not at every start, while trials have one program and one PATH.
  const std::string& where(const std::string& program, const std::string& path) {
    if (program != sought_.first || path != sought_.second || found_.empty()) {
      found_ = program_path(program, path);
      sought_ = {program, path};
    }
    return found_;
  }

  void add_python_path(Variables& own) const {
    std::string before;
    if (const auto set = own.find("PYTHONPATH"); set != own.end()) {
      before = set->second;
    } else if (const auto known = base_.find("PYTHONPATH"); known != base_.end()) {
      before = known->second;
    }
    own["PYTHONPATH"] = context_.working_dir + (before.empty() ? "" : ":" + before);
  }

  [[nodiscard]] const std::string& search_path(const Variables& own) const {
    static const std::string none;
    const auto changed = own.find("PATH");
    if (changed != own.end()) return changed->second;
    const auto path = base_.find("PATH");
    return path == base_.end() ? none : path->second;
  }

  /// `program`: the command without mpirun.
  void describe(Prepared& prepared, const std::vector<std::string>& program, const Variables& own,
                const CommandContext& words, AttemptId attempt, const Allocation& allocation) {
    using Json = nlohmann::ordered_json;
    Json details;
    details["argv"] = prepared.order.argv;
    details["program"] = where(program[0], search_path(own));
    if (context_.mpi.plan) {
      const RankPlan& plan = *context_.mpi.plan;
      details["mpi"] = {{"launcher", plan.launcher.resolved},
                        {"name", plan.launcher.name()},
                        {"ranks", plan.ranks}};
    }
    details["cwd"] = prepared.order.working_dir;
    details["env"] = Json::object();
    for (const auto& [name, value] : changes(context_.surroundings, base_, own)) {
      details["env"][name] = value ? Json(*value) : Json(nullptr);
    }
    details["port"] = words.port;
    if (context_.devices && !allocation.devices.empty()) {
      details["devices"] = Json::array();
      for (const DeviceShare& share : allocation.devices) {
        Json one{{"id", share.device}, {"share", share.share}};
        if (const Device* device = context_.devices->find(share.device)) {
          one["word"] = device->word;
          if (device->index >= 0) one["index"] = device->index;
          if (!device->uuid.empty()) one["uuid"] = device->uuid;
          if (!device->name.empty()) one["name"] = device->name;
        }
        details["devices"].push_back(std::move(one));
      }
    }
    if (!context_.code.git_commit.empty()) {
      details["git_commit"] = context_.code.git_commit;
      details["git_dirty"] = context_.code.git_dirty;
    }
    describe_code(prepared, program, details, attempt);
    prepared.details_json = details.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

  void describe_code(Prepared& prepared, const std::vector<std::string>& argv,
                     nlohmann::ordered_json& details, AttemptId attempt) {
    const auto [program, root] = code_file(argv);
    if (program.empty()) return;
    const auto files = program_files_.look(program, root);
    details["code_file"] = program;
    details["code_hash"] = ProgramFiles::together(files);
    details["code_files"] = files.size();
    for (const ProgramFiles::File& file : files) {
      const auto known = first_hash_.emplace(file.path, file.hash).first;
      if (known->second == file.hash) continue;
      if (details.contains("git_dirty")) details["git_dirty"] = true;
      if (!told_.insert(file.path + file.hash).second) continue;
      const std::string whose =
          file.path == program ? "" : fmt::format(", which {} imports,", base_name(program));
      prepared.notes.push_back(
          {attempt.trial, "code_changed",
           fmt::format("{}{} changed while trials waited: from trial {} on another version runs "
                       "(hash {}, before {}); snapshot: true would keep one version",
                       file.path, whose, attempt.trial, file.hash, known->second)});
    }
  }

  struct CodeFile {
    std::string path;
    std::string root;  ///< where a Python program looks for modules first
  };

  /// The file whose content decides what runs: the script or module after an interpreter, else the
  /// program when it was named with a folder.
  [[nodiscard]] CodeFile code_file(const std::vector<std::string>& argv) const {
    if (const std::string module = module_file(argv); !module.empty()) {
      return {module, context_.working_dir};
    }
    // `env -u A timeout -k 5 100 python3 -u train.py` is about as far in as it stands.
    for (std::size_t i = 0; i < argv.size() && i < 16; ++i) {
      const std::string& word = argv[i];
      if (word.empty() || word.front() == '-') continue;
      const bool script = i > 0 && (word.ends_with(".py") || word.ends_with(".sh") ||
                                    word.ends_with(".R") || word.ends_with(".jl"));
      if (!script && !(i == 0 && word.find('/') != std::string::npos && word[0] != '/')) continue;
      const std::string path = word.front() == '/' ? word : context_.working_dir + "/" + word;
      if (access(path.c_str(), R_OK) == 0) return {path, path.substr(0, path.find_last_of('/'))};
    }
    return {};
  }

  /// The file of `python3 -m package.module` where it lies in the working folder; empty: none.
  [[nodiscard]] std::string module_file(const std::vector<std::string>& argv) const {
    const auto python = std::find_if(argv.begin(), argv.end(), [](const std::string& word) {
      return base_name(word).starts_with("python");
    });
    for (auto at = python; at != argv.end() && std::next(at) != argv.end();) {
      const std::string& option = *++at;  // `-u -W ignore -m NAME`, `-um NAME`
      if (option.size() < 2 || option[0] != '-' || option[1] == '-') return {};
      if (option == "-W" || option == "-X") {
        if (++at == argv.end()) return {};
        continue;
      }
      if (option.back() != 'm' || std::next(at) == argv.end()) continue;
      std::string path = context_.working_dir + "/" + *std::next(at);
      std::replace(path.begin() + static_cast<std::ptrdiff_t>(context_.working_dir.size()),
                   path.end(), '.', '/');
      for (const char* ending : {".py", "/__main__.py"}) {
        if (access((path + ending).c_str(), R_OK) == 0) return path + ending;
      }
      return {};
    }
    return {};
  }

  const StudySpec& spec_;
  SetupContext context_;
  Variables base_;
  std::string python_;
  std::uint64_t command_hash_ = 0;
  FreePorts ports_;
  ProgramFiles program_files_;
  std::pair<std::string, std::string> sought_;  ///< program and PATH of the last start
  std::string found_;
  std::map<std::string, std::string> first_hash_;
  std::set<std::string> told_;
};

}  // namespace

std::unique_ptr<AttemptSetup> make_attempt_setup(const StudySpec& spec, SetupContext context) {
  return std::make_unique<RealAttemptSetup>(spec, std::move(context));
}

}  // namespace seedbed
