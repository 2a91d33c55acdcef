// The controller goes by another key, or will do so: its workers are told.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "controller/commands/context.hpp"

namespace quell::controller::commands {

struct announce_controller_key {
  using answer = nothing;
  static constexpr std::string_view name = "announce_controller_key";

  std::string next;                   ///< public key; "" = none
  std::optional<std::string> changed; ///< the public key by which it goes from now on, if that is new
};

announce_controller_key::answer apply(const announce_controller_key& command, const context& with);
std::string describe(const announce_controller_key& command);

} // namespace quell::controller::commands
