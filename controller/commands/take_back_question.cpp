// A question that is not open stays as it is.
#include "controller/commands/take_back_question.hpp"

#include "controller/commands/description.hpp"
#include "controller/ledger.hpp"
#include "controller/open_questions.hpp"

namespace quell::controller::commands {

take_back_question::answer apply(const take_back_question& command, const context& with) {
  return questions_of(with.operations).take_back(command.call, command.question, with.now);
}

std::string describe(const take_back_question& command) {
  return description(take_back_question::name)
      .shown("call", command.call.text())
      .shown("question", command.question.text())
      .done();
}

} // namespace quell::controller::commands
