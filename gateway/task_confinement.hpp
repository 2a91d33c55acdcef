// A task starts others with its own token: below itself, and with no more than it has.
#pragma once

#include "gateway/exchange.hpp"

namespace quell::controller::http {

/// A task's token creates only below its task and cannot let its children outlive it. A parent that it names must lie
/// below it: external work that it registered can have its own children. Throws `forbidden`.
awaitable<> confine_to_task(exchange& x, create_order& order);

/// Gives a task of a task's token what the starting task has: its user, limits that are not higher, its workspace, and
/// the workers of the agent whose command it is. Throws `forbidden` for a create that asks for another one.
awaitable<> keep_confinement(exchange& x, create_order& order);

} // namespace quell::controller::http
