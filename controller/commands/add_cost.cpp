// One row.
#include "controller/commands/add_cost.hpp"

#include "controller/commands/description.hpp"
#include "controller/ledger.hpp"

namespace quell::controller::commands {

add_cost::answer apply(const add_cost& command, const context& with) {
  with.operations.costs()->add_cost(command.what, with.now);
  return {};
}

std::string describe(const add_cost& command) {
  const auto& what = command.what;
  return description(add_cost::name)
      .shown("scope", what.scope.text())
      .shown("model", what.model)
      .count("input_tokens", what.usage.input_tokens)
      .count("output_tokens", what.usage.output_tokens)
      .done();
}

} // namespace quell::controller::commands
