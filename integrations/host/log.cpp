// spdlog with our two formats, both with times in UTC.
#include "integrations/host/log.hpp"

#include <chrono>

#include <spdlog/formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "integrations/host/log_line.hpp"

namespace quell::host {

namespace {

using line_of = std::string (*)(wall_time at, std::string_view level, std::string_view message);

class line_formatter final : public spdlog::formatter {
 public:
  explicit line_formatter(line_of format) : line_of_(format) {}
  void format(const spdlog::details::log_msg& msg, spdlog::memory_buf_t& to) override {
    const auto level = spdlog::level::to_string_view(msg.level);
    auto line = line_of_(std::chrono::floor<milliseconds>(msg.time), {level.data(), level.size()},
                         {msg.payload.data(), msg.payload.size()});
    line += '\n';
    to.append(line.data(), line.data() + line.size());
  }
  std::unique_ptr<spdlog::formatter> clone() const override { return std::make_unique<line_formatter>(line_of_); }

 private:
  line_of line_of_;
};

} // namespace

result<void> check_log(std::string_view level, std::string_view format) {
  if (level != "debug" && level != "info" && level != "warn" && level != "error")
    return failure(error_code::invalid_field,
                   "log.level '" + std::string(level) + "' is not a level: choose debug, info, warn or error");
  if (format != "text" && format != "json")
    return failure(error_code::invalid_field,
                   "log.format '" + std::string(format) + "' is not a format: choose text or json");
  return {};
}

void start_log(const std::string& program, const std::string& level, const std::string& format) {
  const auto log = spdlog::stderr_logger_mt(program);
  log->set_formatter(std::make_unique<line_formatter>(format == "json" ? json_log_line : text_log_line));
  log->set_level(spdlog::level::from_str(level));
  log->flush_on(spdlog::level::debug);
  spdlog::set_default_logger(log);
}

void set_log_level(const std::string& level) { spdlog::default_logger()->set_level(spdlog::level::from_str(level)); }

} // namespace quell::host
