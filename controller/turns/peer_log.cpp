// What is logged about programs of other people that misbehave.
#include "controller/turns/peer_log.hpp"

#include <spdlog/spdlog.h>

#include <utility>

namespace quell::controller::turns {

namespace {

std::string with_count(const std::string& text, std::uint64_t left_out) {
  if (left_out == 0) return text;
  return text + " (" + std::to_string(left_out) + " more lines about it were left out before this one)";
}

} // namespace

std::optional<std::string> peer_log::due(const std::string& about, const std::string& text, boot_time now) {
  const std::lock_guard lock(guard_);
  peer& p = peers_[about];
  if (!p.lines.take(1, now)) {
    ++p.left_out;
    return std::nullopt;
  }
  return with_count(text, std::exchange(p.left_out, 0));
}

std::string peer_log::always(const std::string& about, const std::string& text) {
  const std::lock_guard lock(guard_);
  return with_count(text, std::exchange(peers_[about].left_out, 0));
}

void peer_log::warn(const std::string& about, const std::string& text, boot_time now) {
  if (const auto line = due(about, text, now)) spdlog::warn("{} {}", about, *line);
}

} // namespace quell::controller::turns
