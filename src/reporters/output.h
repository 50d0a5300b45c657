#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/time.h"

namespace seedbed {

/// Where a reporter's bytes go. A port, so that every reporter can be tested without a terminal.
class Output {
 public:
  virtual ~Output() = default;

  /// Takes the bytes, all or none, without waiting for a slow reader. False: there is nobody left
  /// to read (terminal closed, pipe broken); the caller goes silent. No bytes: only tries to pass
  /// on what still waits.
  virtual bool write(std::string_view bytes) = 0;

  /// Something taken earlier has not been passed on yet: leave out what can be left out.
  [[nodiscard]] virtual bool busy() const = 0;

  /// Number of writes that were thrown away because the reader was too slow or the disk full.
  [[nodiscard]] virtual std::uint64_t dropped() const = 0;

  /// Waits until all is passed on, the reader is gone, or the time is over. For the last lines.
  virtual void drain(Milliseconds limit) = 0;

  [[nodiscard]] virtual std::size_t width() const = 0;   ///< columns
  [[nodiscard]] virtual std::size_t height() const = 0;  ///< lines
  /// A terminal whose cursor can be moved (TERM=dumb is not).
  [[nodiscard]] virtual bool is_terminal() const = 0;
  [[nodiscard]] virtual bool colour() const = 0;
};

/// What the environment says about colours and the terminal.
struct TerminalWords {
  std::string term;      ///< TERM
  std::string no_color;  ///< NO_COLOR: any text turns colours off
};
[[nodiscard]] TerminalWords terminal_words_of_environment();

/// Output to a descriptor, which stays the caller's. Raises no SIGPIPE. Never blocks the caller
/// beside `drain`: what the reader does not take at once waits here, up to `backlog_limit` bytes;
/// whole writes above that are dropped and counted. A closed terminal or pipe (EIO, EPIPE) makes it
/// silent for ever; a full disk drops the write and the next one is tried again.
[[nodiscard]] std::unique_ptr<Output> make_descriptor_output(
    int descriptor, const TerminalWords& words, std::size_t backlog_limit = 16U * 1024 * 1024);

}  // namespace seedbed
