// Adds the cost of a model call without an operation, such as the words about a stop, or of an attempt that a call has
// given up: it counts at once, because the call can go on for long.
#pragma once

#include <string>
#include <string_view>

#include "controller/commands/context.hpp"
#include "controller/model_costs.hpp"

namespace quell::controller::commands {

struct add_cost {
  using answer = tree_cost; ///< of its turn
  static constexpr std::string_view name = "add_cost";

  early_use what;
};

add_cost::answer apply(const add_cost& command, const context& with);
std::string describe(const add_cost& command);

} // namespace quell::controller::commands
