// Whether an external operation must stop, for its owner. It settles the operation's part of a stop that is still being
// carried out, so it is more than a question.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "controller/commands/context.hpp"
#include "controller/external_operations.hpp"

namespace quell::controller::commands {

struct find_external_stop {
  using answer = outcome<std::optional<external_signal>>;
  static constexpr std::string_view name = "find_external_stop";

  operation_id id;
  caller by;
};

find_external_stop::answer apply(const find_external_stop& command, const context& with);
std::string describe(const find_external_stop& command);

} // namespace quell::controller::commands
