// Signals on Asio's timers, and posting to a thread.
#include "gateway/awaiting.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace quell::controller::http {

struct signal::timer {
  explicit timer(io_context& io) : clock(io) {}
  boost::asio::steady_timer clock;
};

signal::signal(io_context& io) : timer_(std::make_unique<timer>(io)) {}
signal::~signal() = default;

void signal::notify() {
  notified_ = true;
  timer_->clock.cancel();
}

awaitable<bool> signal::wait_until(wait_deadline until) {
  while (!notified_ && std::chrono::steady_clock::now() < until) {
    timer_->clock.expires_at(until);
    boost::system::error_code cancelled;
    co_await timer_->clock.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, cancelled));
  }
  co_return std::exchange(notified_, false);
}

void post_to(io_context& io, std::function<void()> work) { boost::asio::post(io, std::move(work)); }

void give_up_waiting() {
  throw problem{.code = error_code::internal,
                .detail =
                    "the controller did not answer within 30 s, so it is not known whether this was done; look, or "
                    "repeat the request with the same id"};
}

void say_withdrawn() {
  throw problem{.code = error_code::storage_unavailable,
                .detail = "the controller did not begin with this within 30 s, so it was withdrawn: nothing was done; "
                          "repeat the request",
                .headers = {{"Retry-After", "1"}}};
}

} // namespace quell::controller::http
