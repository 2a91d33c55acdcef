// An answer of the controller leaves only when everything ordered before it is durable, so any query serves for
// waiting.
#include "gateway/audited.hpp"

namespace quell::controller::http {

awaitable<> audited(exchange& x, std::string action, std::string target, caller by) {
  auto& gw = x.gw;
  gw.controller.audit(std::move(action), std::move(target), std::move(by), channel_of(x.req));
  using nothing = std::vector<std::optional<live_view>>;
  co_await gw.answer<nothing>([&gw](auto reply) { gw.controller.views({}, std::move(reply)); });
}

} // namespace quell::controller::http
