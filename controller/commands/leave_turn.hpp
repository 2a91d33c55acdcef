// A turn leaves the queue of its scope, because its own work is over: the next one may begin.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "controller/commands/context.hpp"
#include "controller/conversations.hpp"

namespace quell::controller::commands {

struct leave_turn {
  using answer = std::optional<turns::queued_turn>; ///< the turn that may begin now
  static constexpr std::string_view name = "leave_turn";

  operation_id turn;
  scope_path scope;
};

leave_turn::answer apply(const leave_turn& command, const context& with);
std::string describe(const leave_turn& command);

} // namespace quell::controller::commands
