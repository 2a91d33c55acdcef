// Adds the cost of a model call without an operation, such as the words about a stop.
#pragma once

#include <string>
#include <string_view>

#include "controller/commands/context.hpp"
#include "controller/model_costs.hpp"

namespace quell::controller::commands {

struct add_cost {
  using answer = nothing;
  static constexpr std::string_view name = "add_cost";

  used_by_call what;
};

add_cost::answer apply(const add_cost& command, const context& with);
std::string describe(const add_cost& command);

} // namespace quell::controller::commands
