// An admin declares that an operation is dead (receipt declared, proof none), with an audit event.
#pragma once

#include <string>
#include <string_view>

#include "controller/commands/context.hpp"

namespace quell::controller::commands {

struct declare_dead {
  using answer = outcome<operation_id>;
  static constexpr std::string_view name = "declare_dead";

  operation_id operation;
  std::string reason;
  caller by;
};

declare_dead::answer apply(const declare_dead& command, const context& with);
std::string describe(const declare_dead& command);

} // namespace quell::controller::commands
