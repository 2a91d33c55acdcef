// The waiting requests hold what they wait for, so that it may end before they look.
#include "gateway/token_making.hpp"

#include <utility>

namespace quell::controller::http {

awaitable<response> token_makings::make_once(io_context& io, token_id id, std::string fingerprint,
                                             awaitable<response> make) {
  const auto self = shared_from_this();
  for (auto at = all_.find(id); at != all_.end(); at = all_.find(id)) {
    const auto other = at->second;
    const auto over = std::make_shared<signal>(io);
    other->waiting.push_back(over);
    const bool is_over = co_await over->wait_until(std::chrono::steady_clock::now() + 2 * controller_timeout);
    if (!is_over) give_up_waiting();
    if (other->fingerprint != fingerprint) continue; // another request: it is judged by what there is now
    if (other->why) std::rethrow_exception(other->why);
    co_return *other->answer;
  }
  const auto mine = std::make_shared<making>(making{std::move(fingerprint)});
  all_.emplace(id, mine);
  const std::shared_ptr<void> until_its_end(nullptr, [self, id](void*) { self->all_.erase(id); });
  try {
    mine->answer = co_await std::move(make);
  } catch (...) {
    mine->why = std::current_exception();
  }
  for (const auto& one : mine->waiting) one->notify();
  if (mine->why) std::rethrow_exception(mine->why);
  co_return *mine->answer;
}

} // namespace quell::controller::http
