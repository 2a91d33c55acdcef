// The first answer counts.
#include "controller/commands/answer_question.hpp"

#include "controller/commands/description.hpp"
#include "controller/ledger.hpp"

namespace quell::controller::commands {

answer_question::answer apply(const answer_question& command, const context& with) {
  auto answered = questions_of(with.operations).answer(command.call, command.given, with.now);
  if (answered && command.end) with.operations.actors()->finish_local(command.call, *command.end, with.now);
  return answered;
}

std::string describe(const answer_question& command) {
  return description(answer_question::name)
      .shown("call", command.call.text())
      .shown("question", command.given.question.text())
      .flag("accepts", command.given.accepts)
      .redacted("values", command.given.values)
      .redacted("reason", command.given.reason)
      .shown("by", command.given.by.id)
      .done();
}

} // namespace quell::controller::commands
