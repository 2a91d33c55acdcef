// A waiting turn that was stopped, or has begun, keeps its message.
#include "controller/commands/open_steered_call.hpp"

#include "controller/commands/description.hpp"
#include "controller/ledger.hpp"

namespace quell::controller::commands {

open_steered_call::answer apply(const open_steered_call& command, const context& with) {
  open_steered_call::answer answer{apply(command.call, with), {}};
  if (!answer.call) return answer;
  auto& local = *with.operations.actors();
  for (const auto& one : command.all) {
    const auto waiting = with.operations.view(one.turn, with.now);
    if (!waiting || waiting->hot.now != status::pending) continue;
    if (!local.finish_local(one.turn, one.end, with.now)) continue;
    with.rows.emplace_back(records::discard_message{one.turn}); // its copy takes its place in the conversation
    local.add_message(one.message, with.now);
    with.operations.add_event(one.event, with.now);
    answer.delivered.push_back(one.turn);
  }
  return answer;
}

std::string describe(const open_steered_call& command) {
  return description(open_steered_call::name)
      .shown("id", command.call.id.text())
      .shown("turn", command.call.turn.text())
      .count("messages", command.all.size())
      .done();
}

} // namespace quell::controller::commands
