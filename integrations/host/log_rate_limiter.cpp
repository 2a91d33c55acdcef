// Implements the limit with two buckets and a counter.
#include "integrations/host/log_rate_limiter.hpp"

#include <spdlog/spdlog.h>

#include <utility>

namespace quell {

std::optional<std::string> log_rate_limiter::due(const std::string& about, const std::string& text, boot_time now) {
  {
    const std::lock_guard lock(guard_);
    if (!of_one_.take(about, 1, now) || !of_all_.take(1, now)) {
      ++left_out_;
      return std::nullopt;
    }
  }
  return always(text);
}

std::string log_rate_limiter::always(const std::string& text) {
  const std::lock_guard lock(guard_);
  const auto left_out = std::exchange(left_out_, 0);
  if (left_out == 0) return text;
  return text + " (" + std::to_string(left_out) + " more lines of this kind were left out before this one)";
}

void log_rate_limiter::warn(const std::string& about, const std::string& text, boot_time now) {
  if (const auto line = due(about, text, now)) spdlog::warn("{}", *line);
}

} // namespace quell
