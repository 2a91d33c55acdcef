// One row.
#include "controller/commands/put_token.hpp"

#include "controller/commands/description.hpp"

namespace quell::controller::commands {

put_token::answer apply(const put_token& command, const context& with) {
  with.rows.emplace_back(records::put_token{command.record});
  return {};
}

/// Without the hash: it lets anybody try secrets against it.
std::string describe(const put_token& command) {
  const auto& r = command.record;
  description text(put_token::name);
  text.shown("id", r.id.text()).shown("name", r.name).shown("role", name_of(r.role));
  if (r.scope) text.shown("scope", r.scope->text());
  return text.shown("owner", r.owner.id).done();
}

} // namespace quell::controller::commands
