// A human answers a running call's question.
#pragma once

#include <string>
#include <string_view>

#include "controller/commands/context.hpp"
#include "controller/open_questions.hpp"

namespace quell::controller::commands {

struct answer_question {
  using answer = outcome<operation_id>;
  static constexpr std::string_view name = "answer_question";

  operation_id call;
  human_answer given;
};

answer_question::answer apply(const answer_question& command, const context& with);
std::string describe(const answer_question& command);

} // namespace quell::controller::commands
