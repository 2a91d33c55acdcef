// A running call asks a human, and waits for the answer.
#pragma once

#include <string>
#include <string_view>

#include "controller/commands/context.hpp"
#include "controller/open_questions.hpp"

namespace quell::controller::commands {

struct ask_question {
  using answer = bool;
  static constexpr std::string_view name = "ask_question";

  operation_id call;
  paused_question question;
  records::event_record event; ///< that asks the human
};

ask_question::answer apply(const ask_question& command, const context& with);
std::string describe(const ask_question& command);

} // namespace quell::controller::commands
