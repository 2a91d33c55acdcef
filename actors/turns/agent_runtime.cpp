// In whose name the parts of the turn scheduler act, and the events that they announce.
#include "actors/turns/agent_runtime.hpp"

#include <utility>

namespace quell::controller::turns {

caller agent_runtime::acting_for(const records::person& owner) {
  caller by;
  by.role = role::admin;
  by.owner = owner;
  by.token_name = by.token_id = own_token_id;
  return by;
}

records::event_record agent_runtime::event_of(const agent_context& who, event_type type, std::string data) {
  records::event_record e;
  e.type = type;
  e.scope = who.scope;
  e.operation = who.operation;
  e.root = who.root;
  e.data = std::move(data);
  return e;
}

} // namespace quell::controller::turns
