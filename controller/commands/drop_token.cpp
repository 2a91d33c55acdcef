// One row.
#include "controller/commands/drop_token.hpp"

#include "controller/commands/description.hpp"

namespace quell::controller::commands {

drop_token::answer apply(const drop_token& command, const context& with) {
  with.rows.emplace_back(records::drop_token{command.id});
  return {};
}

std::string describe(const drop_token& command) {
  return description(drop_token::name).shown("id", command.id.text()).done();
}

} // namespace quell::controller::commands
