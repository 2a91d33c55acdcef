// The right to decide about calls, and the approvals for good.
#pragma once

#include "gateway/exchange.hpp"

namespace quell::controller::http {

/// The person named by a chat bot's token does not count: the token itself must have the right to decide. Throws
/// `forbidden`.
void need_to_decide(const exchange& x);
/// Allows this exact call of its agent in its place for so long. Audited. Throws the problem; also if no rule asked
/// about the call, which `need_rule_of` tells before anything is decided.
awaitable<> allow_always(exchange& x, records::operation_record call, milliseconds how_long, records::person by);
awaitable<> need_rule_of(exchange& x, records::operation_record call);

awaitable<response> list_approval_rules(exchange& x);
awaitable<response> delete_approval_rule(exchange& x);

} // namespace quell::controller::http
