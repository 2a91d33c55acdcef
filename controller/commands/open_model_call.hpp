// Registers a model call, unless a budget of its turn or of the day is used up: then the turn is stopped instead.
#pragma once

#include <string>
#include <string_view>

#include "controller/commands/context.hpp"
#include "controller/costs/limits.hpp"

namespace quell::controller::commands {

struct open_model_call {
  using answer = outcome<created>;
  static constexpr std::string_view name = "open_model_call";

  create_order order;
  operation_id id;
  operation_id turn; ///< at the top of its tree
  costs::tree_limits limits;
};

open_model_call::answer apply(const open_model_call& command, const context& with);
std::string describe(const open_model_call& command);

} // namespace quell::controller::commands
