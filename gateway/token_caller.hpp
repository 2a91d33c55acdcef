// The caller whom a bearer token stands for.
#pragma once

#include "controller/orders.hpp"

namespace quell::controller {

/// Of the bootstrap token: an admin of the whole cluster.
caller bootstrap_caller(records::person owner);
/// Of a stored token.
caller caller_of_token(const records::token_record& token);

} // namespace quell::controller
