#include "controller/run_study.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/text.h"
#include "base/version.h"
#include "controller/attempt_setup.h"
#include "controller/before_run.h"
#include "controller/control.h"
#include "controller/control_handler.h"
#include "controller/controller.h"
#include "controller/held_study.h"
#include "controller/lend_machine.h"
#include "controller/local_gate.h"
#include "controller/local_metric_feed.h"
#include "controller/proposal_source.h"
#include "env/posix/files.h"
#include "env/posix/identity.h"
#include "env/posix/posix.h"
#include "env/posix/runtime_dir.h"
#include "env/posix/signals.h"
#include "launchers/local_launcher.h"
#include "study/readers.h"

namespace seedbed {
namespace {

NoteAdded study_note(std::string kind, std::string text) {
  NoteAdded note;
  note.kind = std::move(kind);
  note.text = std::move(text);
  return note;
}

std::string run_details(const RunRequest& request, const std::string& working_dir,
                        const CodeVersion& code) {
  nlohmann::ordered_json details;
  details["command_line"] = request.command_line;
  details["cwd"] = working_dir;
  if (!code.git_commit.empty()) {
    details["git_commit"] = code.git_commit;
    details["git_dirty"] = code.git_dirty;
  }
  return details.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

/// How many trials there will be, as far as multiplication tells.
void set_total(const StudySpec& spec, ReportFacts& facts) {
  const PointCount count = spec.space.count();
  if (!count.infinite && !count.saturated) {
    facts.total = count.value;
    facts.total_is_bound = !count.exact;
  }
  if (spec.run_cap && (!facts.total || *facts.total > *spec.run_cap)) {
    facts.total = *spec.run_cap;
    facts.total_is_bound = !count.infinite && !count.exact;
  }
}

/// One run of a study: what must live as long as the loop does.
class StudyRun {
 public:
  explicit StudyRun(RunRequest request) : request_(std::move(request)) {}

  Result<int> run() {
    if (Status done = prepare_plan(); !done) return propagate(done);
    if (Status done = take_study(); !done) return propagate(done);
    if (Status done = make_parts(); !done) return propagate(done);
    begin();
    loop_->run();
    return finish();
  }

 private:
  /// Everything that can be refused without touching the disk.
  Status prepare_plan() {
    StudySpec& spec = request_.spec;
    auto sampler = make_sampler(spec);
    if (!sampler) return propagate(sampler);
    sampler_ = std::move(*sampler);
    auto lending = lend_machine(spec, request_.slots, request_.gpus, request_.surroundings);
    if (!lending) return propagate(lending);
    machine_text_ = lending->describe();
    auto config = engine_config(spec);
    if (!config) return propagate(config);
    config_ = std::move(*config);
    config_.request = lending->request;
    config_.sampler_uses_history = sampler_->uses_history();
    config_.inventory = lending->inventory;
    context_.devices = std::move(lending->devices);
    context_.pins = !config_.inventory.shared_cores && !config_.inventory.cores.empty();
    gpu_report_ = std::move(lending->report);
    warnings_ = std::move(lending->warnings);
    for (const std::string& warning : spec.warnings) warnings_.push_back(warning);
    for (std::string& warning : shared_capture_warnings(spec)) {
      warnings_.push_back(std::move(warning));
    }
    if (std::string nothing = where_keeps_nothing(spec, *sampler_); !nothing.empty()) {
      warnings_.push_back(std::move(nothing));
    }
    if (Status fits = Placement(config_.inventory).can_ever_fit(config_.request); !fits) {
      return fits;
    }
    context_.study_dir = request_.study_dir;
    context_.working_dir = request_.working_dir;
    context_.surroundings = request_.surroundings;
    context_.grace = request_.grace;
    context_.host = host_name();
    if (!spec.template_file.empty()) {
      auto text = read_file(spec.template_file);
      if (!text) return tl::unexpected(text.error().with_context("template"));
      context_.template_text = std::move(*text);
    }
    if (Status found = check_first_command(spec, *sampler_, *dry_setup(), context_); !found) {
      return found;
    }
    Status mpi = prepare_mpi(spec, *sampler_, *dry_setup(), *lending, true, context_);
    for (const std::string& warning : context_.mpi.warnings) warnings_.push_back(warning);
    return mpi;
  }

  /// One that makes nothing on the disk.
  [[nodiscard]] std::unique_ptr<AttemptSetup> dry_setup() const {
    SetupContext dry = context_;
    dry.write_files = false;
    return make_attempt_setup(request_.spec, std::move(dry));
  }

  Status take_study() {
    ignore_signal(SIGPIPE);
    ignore_signal(SIGXFSZ);  // `ulimit -f`: a write that fails is told, and waits
    clock_ = make_steady_clock();
    HoldOptions options;
    options.command_line = request_.command_line;
    options.create = true;
    options.take_over = request_.take_over;
    options.metric = request_.spec.objective.metric;
    options.now = clock_->wall();
    auto held = hold_study(request_.study_dir, options);
    if (!held) return propagate(held);
    held_.emplace(std::move(*held));
    const SpaceSet* latest = held_->latest_space();
    if (Status same =
            check_same_command(request_.spec, latest, request_.name, request_.new_command);
        !same) {
      return same;
    }
    if (latest != nullptr && !latest->metric.empty() && request_.spec.objective.metric.empty()) {
      dropped_metric_ =
          fmt::format("this run names no metric; the study had `{0}`: --metric {1}{2} keeps it",
                      one_line(latest->metric, 80), one_line(shell_quote(latest->metric), 80),
                      latest->goal == Goal::maximize ? " --goal maximize" : "");
    }
    new_space_ = changed_space(request_.spec, latest);
    run_number_ = held_->runs() + 1;
    if (new_space_) {
      Status written = write_file(request_.study_dir + "/sweep.yaml", new_space_->spec_yaml);
      if (!written) return written;
    }
    if (request_.spec.snapshot) {
      auto copy = take_snapshot(context_.working_dir, request_.study_dir + "/snapshot");
      if (!copy) return propagate(copy);
      context_.working_dir = std::move(*copy);
    }
    context_.code = code_version(request_.working_dir);
    warn_of_other_code();
    return {};
  }

  /// Against the attempt that ran last, not all of them: once said, it is in the record.
  void warn_of_other_code() {
    const std::string earlier = held_->latest_details();
    if (earlier.empty()) return;
    const auto first = prepare_first(request_.spec, *sampler_, *dry_setup());
    if (!first || !*first) return;
    if (auto difference = code_difference(earlier, (**first).details_json)) {
      code_changed_ = std::move(*difference);
    }
  }

  Status make_parts() {
    loop_ = make_posix_event_loop();
    log_ = make_file_log(request_.study_dir + "/seedbed.log");
    auto pruners = make_pruners(request_.spec);
    if (!pruners) return propagate(pruners);
    engine_ = std::make_unique<Engine>(config_, std::move(*pruners));
    if (Status folded = held_->fold(*engine_); !folded) return folded;
    tell_done_before();
    setup_ = make_attempt_setup(request_.spec, context_);
    auto feed = make_local_metric_feed(request_.spec, request_.study_dir, context_.working_dir);
    if (!feed) return propagate(feed);
    feed_ = std::move(*feed);
    proposals_ = make_proposal_source(*loop_, std::move(sampler_), request_.spec.sampler_seed);
    reporters_ = request_.make_reporters(report_facts());
    gate_ = make_local_gate(*loop_, config_.inventory, std::move(gpu_report_));
    Controller::Ports ports{*loop_, *clock_,     *held_->store, *setup_, *feed_,
                            *gate_, *proposals_, *log_,         {}};
    for (const auto& reporter : reporters_) ports.reporters.push_back(reporter.get());
    controller_ = std::make_unique<Controller>(std::move(ports), *engine_);
    auto launcher = make_local_launcher(*loop_, *controller_, *log_, request_.study_dir);
    if (!launcher) return propagate(launcher);
    launcher_ = std::move(*launcher);
    controller_->use_launcher(*launcher_);
    return listen();
  }

  /// A changed space is known trial by trial only once it has been walked; the start lines, which
  /// count what the records hold, would tell of nothing done before.
  void tell_done_before() {
    if (!new_space_ || engine_->state().trials().empty()) return;
    auto before = count_done_before(
        request_.spec, *sampler_, known_trials(engine_->state(), request_.spec.command.identity()));
    if (!before) return;
    if (request_.retry_failed) {
      before->left += before->failed;
      before->failed = 0;
    }
    done_before_ = before->text();
  }

  [[nodiscard]] ReportFacts report_facts() const {
    ReportFacts facts;
    facts.study = request_.name;
    facts.study_dir = request_.study_dir;
    facts.version = version();
    facts.grace = request_.grace;
    set_total(request_.spec, facts);
    return facts;
  }

  Status listen() {
    ignore_signal(SIGHUP);
    auto signals = SignalSource::make(*loop_, {SIGINT, SIGTERM}, [this](int signal) {
      controller_->submit(InterruptCame{signal, request_.drain_on_interrupt});
    });
    if (!signals) return propagate(signals);
    signals_ = std::move(*signals);
    auto path = control_socket_path(request_.study_dir);
    if (!path) return propagate(path);
    auto server = listen_for_control(*loop_, *path, make_control_handler(*controller_, *clock_));
    if (!server) return propagate(server);
    control_ = std::move(*server);
    return {};
  }

  void begin() {
    RunBegan began;
    began.started.run = run_number_;
    began.started.host = host_name();
    began.started.pid = getpid();
    began.started.version = version();
    began.started.slots = config_.inventory.slots;
    began.started.machine = machine_text_;
    began.started.details_json = run_details(request_, context_.working_dir, context_.code);
    began.space = new_space_;
    began.retry_failed = request_.retry_failed;
    for (std::string& text : held_->notes) {
      began.notes.push_back(study_note("recovered", std::move(text)));
    }
    if (!dropped_metric_.empty()) began.notes.push_back(study_note("info", dropped_metric_));
    if (!done_before_.empty()) began.notes.push_back(study_note("info", done_before_));
    for (std::string& text : warnings_) {
      began.notes.push_back(study_note("warning", std::move(text)));
    }
    if (!code_changed_.empty()) {
      began.notes.push_back(study_note("code_changed", std::move(code_changed_)));
    }
    log_->info("run_began", {{"run", std::to_string(run_number_)},
                             {"pid", std::to_string(getpid())},
                             {"slots", std::to_string(config_.inventory.slots)}});
    controller_->begin(std::move(began));
    if (request_.on_ready) request_.on_ready();
  }

  Result<int> finish() {
    const auto& failure = controller_->failure();
    log_->info("run_ended", {{"exit_code", std::to_string(controller_->exit_code())}});
    control_.reset();
    signals_.reset();
    const Status there = held_->store->in_place();
    Status closed = held_->store->close();
    // Of a folder that was taken away while it ran, more has been told already.
    const bool told = controller_->exit_code() == exit_code(ErrorCode::damaged);
    if (!there && !failure && !told) return tl::unexpected(there.error());
    if (!closed && !failure && !told) return propagate(closed);
    if (failure) return tl::unexpected(*failure);
    return controller_->exit_code();
  }

  RunRequest request_;
  std::unique_ptr<Sampler> sampler_;
  std::string machine_text_;
  EngineConfig config_;
  SetupContext context_;
  std::vector<std::string> warnings_;
  std::string code_changed_;  ///< since the study ran last; empty: not
  std::optional<HeldStudy> held_;
  std::optional<SpaceSet> new_space_;
  std::string done_before_;
  std::string dropped_metric_;  ///< what to say of it
  std::uint64_t run_number_ = 1;
  std::unique_ptr<Log> log_;
  std::unique_ptr<Clock> clock_;
  std::unique_ptr<EventLoop> loop_;  // what follows uses the loop and goes before it
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<AttemptSetup> setup_;
  std::unique_ptr<MetricFeed> feed_;
  std::optional<GpuReport> gpu_report_;
  std::unique_ptr<ResourceGate> gate_;
  std::unique_ptr<ProposalSource> proposals_;
  std::vector<std::unique_ptr<Reporter>> reporters_;
  std::unique_ptr<Controller> controller_;
  std::unique_ptr<Launcher> launcher_;
  std::unique_ptr<SignalSource> signals_;
  std::unique_ptr<ControlServer> control_;
};

}  // namespace

Result<int> run_study(RunRequest request) {
  StudyRun run(std::move(request));
  return run.run();
}

Result<std::string> control_socket_path(const std::string& study_dir) {
  auto folder = study_runtime_dir(study_dir);
  if (!folder) return propagate(folder);
  return *folder + "/control";
}

}  // namespace seedbed
