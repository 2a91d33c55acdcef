// Stops operations, and everything below them, for a cause other than a cancel: a timeout, a client that left, a
// successor.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/commands/context.hpp"
#include "controller/records/history.hpp"

namespace quell::controller::commands {

struct stop_local {
  using answer = nothing;
  static constexpr std::string_view name = "stop_local";

  std::vector<operation_id> all;
  stop_cause cause;
  std::optional<records::call_outcome> result = std::nullopt; ///< that a tool call gets instead of the usual one
};

stop_local::answer apply(const stop_local& command, const context& with);
std::string describe(const stop_local& command);

} // namespace quell::controller::commands
