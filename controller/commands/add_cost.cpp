// One row.
#include "controller/commands/add_cost.hpp"

#include "controller/commands/description.hpp"
#include "controller/ledger.hpp"

namespace quell::controller::commands {

add_cost::answer apply(const add_cost& command, const context& with) {
  return with.operations.costs()->add_cost(command.what, with.now);
}

std::string describe(const add_cost& command) {
  const auto& what = command.what.used;
  description text(add_cost::name);
  text.shown("scope", what.scope.text()).shown("model", what.model);
  if (command.what.turn) text.shown("turn", command.what.turn->text());
  return text.count("input_tokens", what.usage.input_tokens).count("output_tokens", what.usage.output_tokens).done();
}

} // namespace quell::controller::commands
