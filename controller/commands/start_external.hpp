// The owner of an external operation reports that its work starts.
#pragma once

#include <string>
#include <string_view>

#include "controller/commands/context.hpp"

namespace quell::controller::commands {

struct start_external {
  using answer = outcome<operation_id>;
  static constexpr std::string_view name = "start_external";

  operation_id operation;
  caller by;
};

start_external::answer apply(const start_external& command, const context& with);
std::string describe(const start_external& command);

} // namespace quell::controller::commands
