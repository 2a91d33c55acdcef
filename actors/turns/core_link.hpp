// The link between the turn scheduler's threads and the ledger.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "actors/turns/endings.hpp"
#include "controller/ledger.hpp"

namespace quell::controller::turns {

/// Any thread.
struct core_link {
  /// Runs `what` on the controller's thread. The closure that it returns runs there, too, once everything that was done
  /// and read is durable, and must only pass results on.
  std::function<void(std::function<std::function<void()>(ledger&, moment)> what)> ask;
  /// The same for an order that can accept a cancel, which is then fenced with it.
  struct cancel_result {
    std::optional<cancel_id> fences;
    std::function<void(bool durable)> then;
  };
  std::function<void(std::function<cancel_result(ledger&, moment)> what)> judge;
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
