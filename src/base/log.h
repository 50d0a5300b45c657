#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace seedbed {

/// The third voice: diagnosis for us, never read by the program (records are the truth, the
/// reporter speaks to the user). A line is an event name and key=value pairs.
enum class LogLevel { debug, info, warning, error };

using LogFields = std::initializer_list<std::pair<std::string_view, std::string>>;

class Log {
 public:
  virtual ~Log() = default;
  virtual void write(LogLevel level, std::string_view event, LogFields fields) = 0;

  void info(std::string_view event, LogFields fields = {}) { write(LogLevel::info, event, fields); }
  void warning(std::string_view event, LogFields fields = {}) {
    write(LogLevel::warning, event, fields);
  }
  void error(std::string_view event, LogFields fields = {}) {
    write(LogLevel::error, event, fields);
  }
};

/// Writes nothing.
[[nodiscard]] std::unique_ptr<Log> make_null_log();

/// Appends to a file, rotated at 10 MB, three kept. A log that cannot be written is given up
/// silently: it must never harm a run.
[[nodiscard]] std::unique_ptr<Log> make_file_log(const std::string& path);

}  // namespace seedbed
