// Performs a cancel between its checks and its answer: ordered so that its outcome is never in doubt, and answered even
// if the store fails after it was performed.
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "gateway/cancel_body.hpp"
#include "gateway/exchange.hpp"

namespace quell::controller::http {

/// Orders the cancel and always has an outcome: a problem thrown here means that nothing was cancelled.
awaitable<outcome<cancel_view>> order_cancel(gateway_context& gw, cancel_order order,
                                             service::may_target what = service::may_target::anything);

/// Notes in the log that the answer to a performed cancel lacks something. `what`: "cancel c1 is under way".
void note_unread(const std::string& what, const std::string& why);

/// Reads something for the answer to a performed cancel. nullopt if that fails in any way: the answer must leave no
/// doubt about the cancel. An error that is an answer by itself, and neither a problem nor a std::exception, passes
/// through. `what`: as of `note_unread`.
template <class T>
awaitable<std::optional<T>> read_after_cancel(std::string what, awaitable<T> reading) {
  try {
    co_return co_await std::move(reading);
  } catch (const problem& p) {
    note_unread(what, p.detail);
  } catch (const std::exception& e) {
    note_unread(what, e.what());
  }
  co_return std::nullopt;
}

/// The answer to a performed cancel, once it has reached `until.status` or the time is over. Parts that cannot be
/// read from the store are left out, because the answer must show that the cancel is under way.
awaitable<response> answer_performed(exchange& x, cancel_wait until, cancel_view view);

} // namespace quell::controller::http
