// A change of conversations takes the place of a turn in the queues of their scopes, so that no turn runs while it is
// made, and messages that come wait behind it. It leaves each queue by `leave_turn`. The queues are memory: after a
// crash the change has not happened, and the turn that waited behind it begins.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "controller/commands/context.hpp"

namespace quell::controller::commands {

struct begin_history_change {
  /// The ledger's newest seq at that instant. `turn_running`: a turn runs or waits in one of the scopes; none was
  /// entered.
  using answer = outcome<std::uint64_t>;
  static constexpr std::string_view name = "begin_history_change";

  operation_id change; ///< fresh
  std::vector<scope_path> scopes;
};

begin_history_change::answer apply(const begin_history_change& command, const context& with);
std::string describe(const begin_history_change& command);

} // namespace quell::controller::commands
