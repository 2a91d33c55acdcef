// Every field of a caller comes from its token, and from nothing in the request.
#include "gateway/token_caller.hpp"

#include <utility>

namespace quell::controller {

caller bootstrap_caller(records::person owner) {
  return {.role = role::admin,
          .prefix = {},
          .task = {},
          .owner = std::move(owner),
          .token_name = "admin",
          .token_id = std::string(bootstrap_token_id)};
}

caller caller_of_token(const records::token_record& token) {
  return {.role = token.role,
          .prefix = token.scope,
          .task = {},
          .owner = token.owner,
          .token_name = token.name,
          .token_id = token.id.text()};
}

} // namespace quell::controller
