// A running call no longer waits for the answer to its question.
#pragma once

#include <string>
#include <string_view>

#include "controller/commands/context.hpp"

namespace quell::controller::commands {

struct take_back_question {
  using answer = bool;
  static constexpr std::string_view name = "take_back_question";

  operation_id call;
  operation_id question;
};

take_back_question::answer apply(const take_back_question& command, const context& with);
std::string describe(const take_back_question& command);

} // namespace quell::controller::commands
