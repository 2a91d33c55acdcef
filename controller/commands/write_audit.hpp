// Writes an audit event about an action that happened outside of the core.
#pragma once

#include <string>
#include <string_view>

#include "controller/commands/context.hpp"

namespace quell::controller::commands {

struct write_audit {
  using answer = nothing;
  static constexpr std::string_view name = "write_audit";

  std::string action;
  std::string target;
  caller by;
  std::string via; ///< the channel, such as `api`
};

write_audit::answer apply(const write_audit& command, const context& with);
std::string describe(const write_audit& command);

} // namespace quell::controller::commands
