// Rows only: no operation changes.
#include "controller/commands/rewrite_history.hpp"

#include "controller/commands/description.hpp"
#include "controller/ledger.hpp"
#include "controller/local_operations.hpp"

namespace quell::controller::commands {

rewrite_history::answer apply(const rewrite_history& command, const context& with) {
  auto& local = *with.operations.actors();
  history_rewritten done;
  for (const auto& turn : command.discarded) with.rows.emplace_back(records::discard_message{turn});
  for (const auto& one : command.retracted) with.rows.emplace_back(one);
  for (const auto& one : command.added) {
    done.seq = local.add_message(one.message, with.now);
    if (one.message.role != records::message_role::assistant) continue;
    for (auto call : one.calls) {
      call.answer = done.seq;
      local.add_closed_call(std::move(call));
    }
  }
  return done;
}

std::string describe(const rewrite_history& command) {
  return description(rewrite_history::name)
      .count("discarded", command.discarded.size())
      .count("added", command.added.size())
      .count("retracted", command.retracted.size())
      .done();
}

} // namespace quell::controller::commands
