// An owner reports that its external operations are alive, and learns which of them must stop.
#pragma once

#include <string>
#include <string_view>

#include "controller/commands/context.hpp"
#include "controller/external_operations.hpp"

namespace quell::controller::commands {

struct heartbeat_externals {
  using answer = heartbeat_answer;
  static constexpr std::string_view name = "heartbeat_externals";

  heartbeat_order order;
};

heartbeat_externals::answer apply(const heartbeat_externals& command, const context& with);
std::string describe(const heartbeat_externals& command);

} // namespace quell::controller::commands
