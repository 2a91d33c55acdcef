// Creates an operation that serves a turn or a conversation: a model call, a task, an exchange. Work that has begun
// goes on while the disk is almost full, so this is not refused for it.
#pragma once

#include <string>
#include <string_view>

#include "controller/commands/context.hpp"

namespace quell::controller::commands {

struct create_local {
  using answer = outcome<created>;
  static constexpr std::string_view name = "create_local";

  create_order order;
  operation_id id;
};

create_local::answer apply(const create_local& command, const context& with);
std::string describe(const create_local& command);

} // namespace quell::controller::commands
