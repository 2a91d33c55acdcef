// The call pauses with its event, unless it is being stopped. Asked again after a restart, it pauses no second time.
#include "controller/commands/ask_question.hpp"

#include "controller/commands/description.hpp"
#include "controller/ledger.hpp"

namespace quell::controller::commands {

ask_question::answer apply(const ask_question& command, const context& with) {
  // It waits for this answer since an earlier life of the process.
  const auto call = with.operations.view(command.call, with.now);
  if (call && waits_for_answer(call->hot, command.question.id)) return true;
  if (!questions_of(with.operations).ask(command.call, command.question, with.now)) return false;
  with.operations.add_event(command.event, with.now);
  return true;
}

std::string describe(const ask_question& command) {
  return description(ask_question::name)
      .shown("call", command.call.text())
      .shown("question", command.question.id.text())
      .redacted("text", command.question.question_json)
      .done();
}

} // namespace quell::controller::commands
