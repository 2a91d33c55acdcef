// A command on its way from the service to the controller actor.
#pragma once

#include <memory>
#include <utility>

#include "actors/handoff_for_tsan.hpp"
#include "actors/messages.hpp"
#include "controller/commands/command_request.hpp"
#include "controller/order_claim.hpp"

namespace quell::actors {

struct posted_command {
  posted_command(controller::command_request what, std::shared_ptr<controller::order_claim> unless_withdrawn)
      : request(std::move(what)), claim(std::move(unless_withdrawn)) {
    mark.sent();
  }

  controller::command_request request;
  /// Null, or taken before the command begins: whoever has taken it earlier has withdrawn the command, and nobody waits
  /// for its answer.
  std::shared_ptr<controller::order_claim> claim;
  handoff_mark mark;
};

/// The message with which the controller actor gets a command.
inline execute_command posted(controller::command_request what,
                              std::shared_ptr<controller::order_claim> unless_withdrawn = nullptr) {
  return {std::make_shared<posted_command>(std::move(what), std::move(unless_withdrawn))};
}

} // namespace quell::actors
