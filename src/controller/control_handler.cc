#include "controller/control_handler.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "controller/request_text.h"
#include "controller/run_study.h"
#include "env/posix/identity.h"
#include "env/posix/study_lock.h"

namespace seedbed {
namespace {

using Json = nlohmann::json;

constexpr int kProtocol = 1;

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

ControlLine answer_line(bool ok, const std::string& text) {
  return dump(Json{{"protocol", kProtocol}, {"ok", ok}, {"text", text}});
}

Json request(const char* what) { return Json{{"protocol", kProtocol}, {"do", what}}; }

Json point_json(const Point& point) {
  Json parameters = Json::array();
  for (const Parameter& parameter : point.parameters) {
    parameters.push_back({{"name", parameter.name},
                          {"kind", static_cast<int>(parameter.value.kind())},
                          {"text", parameter.value.spelling()},
                          {"canonical", parameter.value.canonical()}});
  }
  return parameters;
}

/// Throws nlohmann's exceptions on a malformed request; the caller catches them.
Point point_of(const Json& json) {
  Point point;
  for (const Json& one : json) {
    const int kind = one.at("kind").get<int>();
    if (kind < 0 || kind > static_cast<int>(ValueKind::structure)) continue;
    const std::string text = one.at("text").get<std::string>();
    const std::string canonical = one.at("canonical").get<std::string>();
    point.parameters.push_back({one.at("name").get<std::string>(),
                                Value::restore(static_cast<ValueKind>(kind), text,
                                               // canonical is `s:` and the JSON for a structure
                                               canonical.size() > 2 ? canonical.substr(2) : "")});
  }
  return point;
}

class Handler {
 public:
  Handler(Controller& controller, Clock& clock) : controller_(controller), clock_(clock) {}

  void handle(const ControlLine& line, const std::function<void(ControlLine)>& answer) const {
    try {
      const Json json = Json::parse(line);
      if (json.at("protocol").get<int>() != kProtocol) {
        return answer(answer_line(false,
                                  "the controller speaks another version of seedbed's "
                                  "control protocol; use the seedbed that started it"));
      }
      carry_out(json.at("do").get<std::string>(), json, answer);
    } catch (const Json::exception& error) {
      answer(answer_line(false, std::string("malformed request: ") + error.what()));
    }
  }

 private:
  [[nodiscard]] std::string added_text(const std::vector<Point>& points) const {
    const StudyState& state = controller_.state();
    std::vector<Point> fresh;
    for (const Point& point : points) {
      const TrialStatus* known = state.by_identity(point.identity());
      if (known == nullptr || !state.in_space(*known)) fresh.push_back(point);
    }
    if (fresh.empty()) return "nothing to add: every point is there already";
    std::string text = fmt::format("{} point{} given to the running controller: {}", fresh.size(),
                                   fresh.size() == 1 ? "" : "s", first_points_text(fresh));
    if (fresh.size() < points.size()) {
      text += fmt::format("; {} there already", points.size() - fresh.size());
    }
    return text;
  }

  void carry_out(const std::string& what, const Json& json,
                 const std::function<void(ControlLine)>& answer) const {
    if (what == "ping") return answer(answer_line(true, "here"));
    if (what == "why") {
      const auto trial = json.at("trial").get<TrialNumber>();
      return answer(answer_line(true, controller_.engine().why_waiting(trial, clock_.wall())));
    }
    Input input;
    std::string text;
    if (what == "stop") {
      const bool drain = json.at("drain").get<bool>();
      input = StopAsked{drain};
      text =
          drain ? "no new trials start; running ones finish" : "running trials are asked to stop";
    } else if (what == "interrupt") {
      input = InterruptCame{json.at("signal").get<int>(), false};
      text = "interrupted";
    } else if (what == "pause") {
      const bool paused = json.at("paused").get<bool>();
      const bool freeze = json.value("freeze", false);
      input = PauseAsked{paused, freeze};
      text = !paused  ? "resumed"
             : freeze ? "paused: no new trials start, running ones are stopped where they are"
                      : "paused: no new trials start";
    } else if (what == "slots") {
      auto slots = json.at("slots").get<std::uint32_t>();
      if (slots == 0) slots = controller_.engine().fitting_slots();
      input = SlotsAsked{slots};
      text = fmt::format("{} trial{} at once from now on", slots, slots == 1 ? "" : "s");
      const std::string warning = controller_.engine().width_warning(slots);
      if (!warning.empty()) text += "; " + warning;
    } else if (what == "cancel") {
      input = CancelAsked{json.at("trials").get<std::vector<TrialNumber>>()};
    } else if (what == "retry") {
      input = RetryAsked{json.at("trials").get<std::vector<TrialNumber>>()};
    } else if (what == "add") {
      PointsAdded added;
      for (const Json& point : json.at("points")) added.points.push_back(point_of(point));
      text = added_text(added.points);
      input = std::move(added);
    } else {
      return answer(answer_line(false, "unknown request: " + what));
    }
    auto told = request_text(controller_.state(), input, clock_.wall());
    if (!told) return answer(answer_line(false, told.error().message));
    if (text.empty()) text = std::move(*told);
    controller_.submit(std::move(input), [answer, text] { answer(answer_line(true, text)); });
  }

  Controller& controller_;
  Clock& clock_;
};

}  // namespace

ControlServer::Handler make_control_handler(Controller& controller, Clock& clock) {
  return [handler = Handler(controller, clock)](const ControlLine& line,
                                                const std::function<void(ControlLine)>& answer) {
    handler.handle(line, answer);
  };
}

namespace control_request {

ControlLine ping() { return dump(request("ping")); }

ControlLine stop(bool drain) {
  Json json = request("stop");
  json["drain"] = drain;
  return dump(json);
}

ControlLine pause(bool paused, bool freeze) {
  Json json = request("pause");
  json["paused"] = paused;
  json["freeze"] = freeze;
  return dump(json);
}

ControlLine slots(std::uint32_t count) {
  Json json = request("slots");
  json["slots"] = count;
  return dump(json);
}

ControlLine cancel(const std::vector<TrialNumber>& trials) {
  Json json = request("cancel");
  json["trials"] = trials;
  return dump(json);
}

ControlLine retry(const std::vector<TrialNumber>& trials) {
  Json json = request("retry");
  json["trials"] = trials;
  return dump(json);
}

ControlLine add(const std::vector<Point>& points) {
  Json json = request("add");
  json["points"] = Json::array();
  for (const Point& point : points) json["points"].push_back(point_json(point));
  return dump(json);
}

ControlLine why(TrialNumber trial) {
  Json json = request("why");
  json["trial"] = trial;
  return dump(json);
}

ControlLine interrupt(int signal) {
  Json json = request("interrupt");
  json["signal"] = signal;
  return dump(json);
}

}  // namespace control_request

Result<ControlAnswer> read_answer(const ControlLine& line) {
  try {
    const Json json = Json::parse(line);
    return ControlAnswer{json.at("ok").get<bool>(), json.at("text").get<std::string>()};
  } catch (const Json::exception&) {
    return fail(ErrorCode::machine, "the controller's answer cannot be read: " + line);
  }
}

Result<std::string> ask_study(const std::string& study_dir, const ControlLine& request,
                              Milliseconds timeout) {
  const auto holder = StudyLock::holder(study_dir);
  if (holder && holder->host == host_name()) {
    const auto process = read_proc_stat(holder->pid);
    if (process && (process->state == 'T' || process->state == 't')) {
      return fail(ErrorCode::machine,
                  fmt::format("the controller (pid {0}) is stopped and was asked nothing; "
                              "`kill -CONT {0}` lets it go on",
                              holder->pid));
    }
  }
  const auto path = control_socket_path(study_dir);
  if (!path) return propagate(path);
  const auto line = ask_controller(*path, request, timeout);
  if (!line) return propagate(line);
  auto answer = read_answer(*line);
  if (!answer) return propagate(answer);
  if (!answer->ok) return fail(ErrorCode::usage, answer->text);
  return std::move(answer->text);
}

}  // namespace seedbed
