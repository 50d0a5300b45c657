#include "base/log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/rotating_file_sink.h>

#include "base/text.h"

namespace seedbed {
namespace {

class NullLog : public Log {
 public:
  void write(LogLevel, std::string_view, LogFields) override {}
};

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

class FileLog : public Log {
 public:
  explicit FileLog(std::shared_ptr<spdlog::logger> logger) : logger_(std::move(logger)) {}

  void write(LogLevel level, std::string_view event, LogFields fields) override {
    std::string line(event);
    for (const auto& [key, value] : fields) {
      line += ' ';
      line += key;
      line += '=';
      line += shell_quote(one_line(value, 2000));
    }
    logger_->log(spdlog_level(level), line);
  }

 private:
  std::shared_ptr<spdlog::logger> logger_;
};

}  // namespace

std::unique_ptr<Log> make_null_log() { return std::make_unique<NullLog>(); }

std::unique_ptr<Log> make_file_log(const std::string& path) {
  constexpr std::size_t kLargest = 10'000'000;
  constexpr std::size_t kKept = 3;
  try {
    auto sink = std::make_shared<spdlog::sinks::rotating_file_sink_st>(path, kLargest, kKept);
    auto logger = std::make_shared<spdlog::logger>("seedbed", std::move(sink));
    logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
    logger->set_level(spdlog::level::debug);
    logger->flush_on(spdlog::level::info);
    logger->set_error_handler([](const std::string&) {});  // a full disk must not speak or stop us
    return std::make_unique<FileLog>(std::move(logger));
  } catch (const spdlog::spdlog_ex&) {
    return make_null_log();
  }
}

}  // namespace seedbed
