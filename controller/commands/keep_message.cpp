// One row.
#include "controller/commands/keep_message.hpp"

#include "controller/commands/description.hpp"
#include "controller/ledger.hpp"
#include "controller/local_operations.hpp"

namespace quell::controller::commands {

keep_message::answer apply(const keep_message& command, const context& with) {
  with.operations.actors()->add_message(command.message, with.now);
  return {};
}

std::string describe(const keep_message& command) {
  return description(keep_message::name)
      .shown("id", command.message.id.text())
      .shown("role", name_of(command.message.role))
      .redacted("text", command.message.text)
      .done();
}

} // namespace quell::controller::commands
