// Counts streams and long polls for each token, so that no token can take all connections.
#include <spdlog/spdlog.h>

#include "gateway/exchange.hpp"

namespace quell::controller::http {

std::shared_ptr<void> exchange::hold() {
  const auto key = share_key();
  const bool is_limited = (token || who.task) && gw.options.streams_per_token > 0;
  auto& held = gw.held[key];
  if (is_limited && held >= gw.options.streams_per_token) {
    ++gw.metrics.refused_for_rate;
    throw problem{.code = error_code::rate_limited,
                  .detail = "token '" + who.token_name + "' has " + std::to_string(held) +
                            " streams and long polls open (limits.streams_per_token); close some, or watch many "
                            "operations with one stream of their scope",
                  .headers = {{"Retry-After", "1"}}};
  }
  ++held;
  begin_watching();
  return {nullptr, [&gw = gw, key](void*) {
            const auto found = gw.held.find(key);
            if (found != gw.held.end() && --found->second == 0) gw.held.erase(found);
          }};
}

void exchange::charge(std::size_t requests) {
  const auto most = gw.options.requests_per_second;
  if (most <= 0 || (!token && !who.task) || requests == 0) return;
  if (gw.rates.take(share_key(), static_cast<double>(requests), req.received)) return;
  ++gw.metrics.refused_for_rate;
  throw problem{.code = error_code::rate_limited,
                .detail = "each item of a batch counts as a request, and token '" + who.token_name +
                          "' sends more than " + std::to_string(static_cast<std::uint64_t>(most)) +
                          " a second (limits.requests_per_second); wait a second, or send smaller batches",
                .headers = {{"Retry-After", "1"}}};
}

void exchange::begin_watching() {
  if (!req.client) return;
  req.client->watches_for(share_key());
  if (!abandoned) abandoned = req.client->watch();
}

awaitable<bool> exchange::wait(std::shared_ptr<signal> wake, wait_deadline until) {
  if (req.client) req.client->wake_on_close(wake);
  const bool woken = co_await wake->wait_until(until);
  co_return woken && !is_abandoned();
}

} // namespace quell::controller::http
