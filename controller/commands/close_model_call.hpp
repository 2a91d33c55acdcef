// A model call has ended: its cost is added to its turn and to the day. If that used up a budget, the turn is stopped.
#pragma once

#include <string>
#include <string_view>

#include "controller/commands/context.hpp"
#include "controller/model_costs.hpp"

namespace quell::controller::commands {

struct close_model_call {
  using answer = closed_model_call;
  static constexpr std::string_view name = "close_model_call";

  model_call_end what;
};

close_model_call::answer apply(const close_model_call& command, const context& with);
std::string describe(const close_model_call& command);

} // namespace quell::controller::commands
