// A human answers a running call's question.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "controller/commands/context.hpp"
#include "controller/local_operations.hpp"
#include "controller/open_questions.hpp"

namespace quell::controller::commands {

struct answer_question {
  using answer = outcome<operation_id>;
  static constexpr std::string_view name = "answer_question";

  operation_id call;
  human_answer given;
  std::optional<own_outcome> end = {}; ///< of a call whose result is the answer: both are one transaction
};

answer_question::answer apply(const answer_question& command, const context& with);
std::string describe(const answer_question& command);

} // namespace quell::controller::commands
