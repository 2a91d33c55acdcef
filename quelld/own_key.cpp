// Reads two small files about once a second.
#include "quelld/own_key.hpp"

#include <spdlog/spdlog.h>

#include "controller/commands/announce_controller_key.hpp"
#include "controller/commands/command_request.hpp"
#include "quelld/secrets.hpp"

namespace quell::controller {

own_key::own_key(std::string directory, std::string present, server_socket& control, server_socket& bulk,
                 order to_controller)
    : directory_(std::move(directory)), present_(std::move(present)), control_(control), bulk_(bulk),
      controller_handle_(std::move(to_controller)) {}

std::optional<std::string> own_key::look() {
  std::optional<std::string> changed;
  if (const auto now = controller_key(directory_); now && now->public_key != present_) {
    changed = present_ = now->public_key;
    const auto failed = [](const std::string& why) {
      spdlog::error("workers cannot connect: their socket does not listen under the new key yet: {}", why);
    };
    control_.change_keys(*now, failed);
    bulk_.change_keys(*now, failed);
    spdlog::info("quelld goes by the key {} from now on; workers connect anew", present_);
  }
  const auto pair = next_controller_key(directory_);
  auto next = pair ? pair->public_key : std::string();
  if (!changed && next_ == next) return changed;
  if (!next.empty() && next_ != next) spdlog::info("quelld will go by the key {}; workers are told", next);
  next_ = next;
  announce(std::move(next), changed);
  return changed;
}

void own_key::announce(std::string next, const std::optional<std::string>& changed) const {
  controller_handle_({commands::announce_controller_key{std::move(next), changed}, {}});
}

} // namespace quell::controller
