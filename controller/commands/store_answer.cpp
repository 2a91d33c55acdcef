// A call that was told to stop meanwhile never becomes an operation, but the conversation stays complete.
#include "controller/commands/store_answer.hpp"

#include "controller/commands/description.hpp"
#include "controller/ledger.hpp"
#include "controller/local_operations.hpp"

namespace quell::controller::commands {

store_answer::answer apply(const store_answer& command, const context& with) {
  auto& local = *with.operations.actors();
  const auto seq = local.add_message(command.message, with.now);
  store_answer::answer refused;
  for (const auto& one : command.calls) {
    auto order = one.order;
    order.call->answer = seq;
    if (with.operations.create(order, one.id, with.now)) continue;
    order.call->operation = one.id;
    local.add_closed_call(std::move(*order.call));
    refused.push_back(one.id);
  }
  if (command.calls.empty()) return refused;
  auto results = command.message;
  results.id = command.results;
  results.role = records::message_role::tool;
  results.text.clear();
  results.interrupted = false;
  results.usage = {};
  local.add_message(std::move(results), with.now);
  return refused;
}

std::string describe(const store_answer& command) {
  description text(store_answer::name);
  text.shown("message", command.message.id.text());
  if (command.message.turn) text.shown("turn", command.message.turn->text());
  return text.redacted("text", command.message.text).count("calls", command.calls.size()).done();
}

} // namespace quell::controller::commands
