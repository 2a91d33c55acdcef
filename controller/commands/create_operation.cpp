// Creates through the ledger, unless the disk is almost full.
#include "controller/commands/create_operation.hpp"

#include "controller/commands/description.hpp"
#include "controller/ledger.hpp"

namespace quell::controller::commands {

refusal no_room_to_create(const std::string& why) {
  return {coded_fault{error_code::storage_unavailable,
                      "Nothing was done: the store cannot write (" + why + "). Free space, then repeat.",
                      {}},
          {},
          {}};
}

create_operation::answer apply(const create_operation& command, const context& with) {
  if (with.storage_low) return tl::unexpected(no_room_to_create("the state directory is almost full"));
  auto made = with.operations.create(command.order, command.fresh, with.now);
  if (made) look_again(*made, with);
  return made;
}

void look_again(created& made, const context& with) {
  if (!made.shown) return;
  auto view = with.operations.view(made.id, with.now);
  if (view)
    made.shown->view = std::move(*view);
  else
    made.shown.reset();
}

std::string describe(const create_operation& command) {
  return describe_create(create_operation::name, command.order, command.fresh);
}

std::string describe_create(std::string_view name, const create_order& o, const operation_id& fresh) {
  description text(name);
  text.shown("id", (o.id ? *o.id : fresh).text()).shown("kind", name_of(o.kind));
  if (o.scope) text.shown("scope", o.scope->text());
  if (o.parent) text.shown("parent", o.parent->text());
  text.shown("name", o.name).redacted("title", o.title).redacted("data", o.kind_data);
  if (!o.task.command.empty()) text.count("words", o.task.command.size());
  if (!o.task.env.empty()) text.count("environment", o.task.env.size());
  if (!o.task.secrets.empty()) text.count("secrets", o.task.secrets.size());
  return text.by(o.by).done();
}

} // namespace quell::controller::commands
