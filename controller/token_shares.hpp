// Which tokens have a limited share of what is scarce, and which of them name scopes as they like. Pure.
#pragma once

#include <string_view>

#include "controller/orders.hpp"

namespace quell::controller {

/// Whether a token has a limited share. The owner of the machine has no limit, nor has quell's own work, nor has work
/// whose row does not say the token.
inline bool has_share(std::string_view token) {
  return !token.empty() && token != bootstrap_token_id && token != own_token_id;
}

/// Whether the token's holder names scopes as he likes. Chat services and voice do not: theirs are those of guilds.
inline bool is_tenant(std::string_view token) { return has_share(token) && !token.starts_with("service:"); }

} // namespace quell::controller
