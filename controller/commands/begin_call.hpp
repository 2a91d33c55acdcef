// A tool call begins: the last check before its work.
#pragma once

#include <string>
#include <string_view>

#include "controller/commands/context.hpp"

namespace quell::controller::commands {

struct begin_call {
  using answer = bool;
  static constexpr std::string_view name = "begin_call";

  operation_id call;
};

begin_call::answer apply(const begin_call& command, const context& with);
std::string describe(const begin_call& command);

} // namespace quell::controller::commands
