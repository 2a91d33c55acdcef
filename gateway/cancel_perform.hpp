// Performs a cancel between its checks and its answer: ordered so that its outcome is never in doubt, and answered even
// if the store fails after it was performed.
#pragma once

#include "gateway/cancel_body.hpp"
#include "gateway/exchange.hpp"

namespace quell::controller::http {

/// Orders the cancel and always has an outcome: a problem thrown here means that nothing was cancelled.
awaitable<outcome<cancel_view>> order_cancel(gateway_context& gw, cancel_order order,
                                             service::may_target what = service::may_target::anything);

/// The answer to a performed cancel, once it has reached `requested.wait` or the time is over. Parts that cannot be
/// read from the store are left out, because the answer must show that the cancel is under way.
awaitable<response> answer_performed(exchange& x, cancel_request requested, cancel_view view);

} // namespace quell::controller::http
