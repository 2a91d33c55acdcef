// Replaces how many slots single guilds may hold: the configuration was reloaded.
#pragma once

#include <string>
#include <string_view>

#include "controller/commands/context.hpp"
#include "controller/slot_limits.hpp"

namespace quell::controller::commands {

struct limit_slots {
  using answer = nothing;
  static constexpr std::string_view name = "limit_slots";

  slots_by_guild of_guilds;
};

limit_slots::answer apply(const limit_slots& command, const context& with);
std::string describe(const limit_slots& command);

} // namespace quell::controller::commands
