// One turn for each pass of the event loop.
#include "gateway/turnstile.hpp"

#include <limits>
#include <utility>

namespace quell::controller::http {

awaitable<> turnstile::pass(std::string who, std::size_t bytes) {
  if (!std::exchange(is_turning_, true)) {
    look_again();
    co_return;
  }
  const auto turn = std::make_shared<signal>(io_);
  const auto keeps_all = [](const ticket&) { return false; };
  queue_.put(who, ticket{turn, bytes}, std::numeric_limits<std::size_t>::max(), keeps_all, [](const ticket&) {});
  co_await turn->wait_until(wait_deadline::max());
}

/// Behind everything that is ready now.
void turnstile::look_again() {
  post_to(io_, [self = weak_from_this()] {
    if (const auto held = self.lock()) held->next();
  });
}

void turnstile::next() {
  const auto taken = queue_.take();
  if (!taken) {
    is_turning_ = false;
    return;
  }
  taken->second.turn->notify();
  queue_.done(taken->first, taken->second.bytes);
  look_again();
}

} // namespace quell::controller::http
