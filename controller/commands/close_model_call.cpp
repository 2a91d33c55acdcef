// The ledger knows the sums, and whether a stop came first.
#include "controller/commands/close_model_call.hpp"

#include "controller/commands/description.hpp"
#include "controller/ledger.hpp"

namespace quell::controller::commands {

close_model_call::answer apply(const close_model_call& command, const context& with) {
  return with.operations.costs()->close_model_call(command.what, with.now);
}

std::string describe(const close_model_call& command) {
  const auto& what = command.what;
  description text(close_model_call::name);
  text.shown("operation", what.call.text()).shown("turn", what.turn.text()).shown("model", what.used.model);
  text.count("input_tokens", what.used.usage.input_tokens).count("output_tokens", what.used.usage.output_tokens);
  if (what.end.error) text.shown("code", what.end.error->code).redacted("error", what.end.error->message);
  return text.flag("is_last", what.is_last).done();
}

} // namespace quell::controller::commands
