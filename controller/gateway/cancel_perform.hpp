// A cancel between its checks and its answer: ordered so that nobody is left in doubt, and answered whatever the store
// says once it is performed.
#pragma once

#include "controller/gateway/cancel_body.hpp"
#include "controller/gateway/exchange.hpp"

namespace quell::controller::http {

/// Orders it, and answers for sure: a problem that this throws says that nothing was cancelled.
awaitable<outcome<cancel_view>> order_cancel(core& gw, cancel_order order,
                                             service::may_target what = service::may_target::anything);

/// The answer to a cancel that was performed, once it has reached `asked.wait` or the time is over. What cannot be read
/// from the store is left out: the cancel is under way, and nothing may hide that.
awaitable<response> answer_performed(exchange& x, cancel_request asked, cancel_view view);

} // namespace quell::controller::http
