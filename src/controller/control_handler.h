#pragma once

#include "controller/control.h"
#include "controller/controller.h"

namespace seedbed {

/// Turns requests of the control socket into inputs of the controller, and answers when they have
/// taken effect.
[[nodiscard]] ControlServer::Handler make_control_handler(Controller& controller, Clock& clock);

/// Requests for `ask_controller`.
namespace control_request {
[[nodiscard]] ControlLine ping();
[[nodiscard]] ControlLine stop(bool drain);
[[nodiscard]] ControlLine pause(bool paused, bool freeze = false);
[[nodiscard]] ControlLine slots(std::uint32_t count);  ///< 0: as many as fit
[[nodiscard]] ControlLine cancel(const std::vector<TrialNumber>& trials);
[[nodiscard]] ControlLine retry(const std::vector<TrialNumber>& trials);
[[nodiscard]] ControlLine add(const std::vector<Point>& points);
[[nodiscard]] ControlLine why(TrialNumber trial);
[[nodiscard]] ControlLine interrupt(int signal);
}  // namespace control_request

struct ControlAnswer {
  bool ok = false;
  std::string text;
};
[[nodiscard]] Result<ControlAnswer> read_answer(const ControlLine& line);

/// Asks the running controller of a study and gives its words. Errors: it refuses (`usage`), nobody
/// listens, it is stopped (SIGSTOP, Ctrl-Z) or gives no answer within `timeout`. A request whose
/// asker has gone is not carried out any more.
[[nodiscard]] Result<std::string> ask_study(const std::string& study_dir,
                                            const ControlLine& request, Milliseconds timeout);

}  // namespace seedbed
