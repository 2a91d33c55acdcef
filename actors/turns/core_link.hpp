// The link between the turn scheduler's threads and the ledger.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/turns/endings.hpp"
#include "controller/ledger.hpp"
#include "controller/order_claim.hpp"

namespace quell::controller {
class command_request;
class fleet;
} // namespace quell::controller

namespace quell::controller::turns {

/// Any thread.
struct core_link {
  /// Gives the core a command (controller/commands/command.hpp). Its answer arrives on the controller's thread and must
  /// only be passed on.
  std::function<void(command_request&& what)> execute;
  /// The same, unless the claim has been taken when the command's turn comes. Null: it cannot be withdrawn.
  std::function<void(command_request&& what, std::shared_ptr<order_claim> claim)> execute_unless_withdrawn;
  /// Runs a question on the controller's thread. The closure that it returns runs there, too, once everything that was
  /// read is durable, and must only pass results on.
  std::function<void(std::function<std::function<void()>(const ledger&, moment)> what)> ask;
  /// The same with the fleet.
  std::function<void(std::function<std::function<void()>(const ledger&, const fleet&, moment)> what)> ask_fleet;
  /// How these operations stand that are live, or whose end is perhaps not on disk yet. Of the others the rows are the
  /// whole truth by the time of the answer.
  std::function<void(std::vector<operation_id> ids, std::function<void(known_ends)> answer)> beyond_disk;
  /// Whether such a worker is enrolled.
  std::function<void(std::string worker, std::function<void(bool)> answer)> knows_worker;
  /// The disk is almost full: no new work begins.
  std::function<bool()> is_low;
  std::function<moment()> now;
};

} // namespace quell::controller::turns
