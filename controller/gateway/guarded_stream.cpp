// The token is looked at once a second, beside the stream: a stored one in memory, a task's by asking the controller.
#include "controller/gateway/guarded_stream.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <spdlog/spdlog.h>

namespace quell::controller::http {

namespace {

constexpr std::chrono::seconds look_interval{1};

struct watch_state {
  explicit watch_state(io_context& io) : stream_over(io) {}
  signal stream_over;
  std::shared_ptr<signal> wake; ///< of the stream's own waiting
  bool token_ended = false, has_finished = false;
};

/// Passes on until the token ends; from then on the client counts as gone.
class guarded_writer final : public stream_writer {
 public:
  guarded_writer(stream_writer& to, std::shared_ptr<watch_state> watch) : to_(to), watch_(std::move(watch)) {}
  awaitable<bool> write(std::string bytes) override {
    if (watch_->token_ended) co_return false;
    const bool alive = co_await to_.write(std::move(bytes));
    co_return alive;
  }
  bool closed() const override { return watch_->token_ended || to_.closed(); }
  void wake_on_close(std::shared_ptr<signal> wake) override {
    watch_->wake = wake;
    to_.wake_on_close(std::move(wake));
  }
  void end_with(std::string name, std::string value) override { to_.end_with(std::move(name), std::move(value)); }

 private:
  stream_writer& to_;
  std::shared_ptr<watch_state> watch_;
};

/// Who opened the stream: a stored token, a task's, or the bootstrap token with this hash.
struct holder {
  std::optional<token_id> token;
  std::optional<operation_id> task;
  std::string admin_hash;
};

awaitable<bool> is_good(core& gw, holder who) {
  if (who.token) {
    const bool good = gw.tokens.is_good(*who.token, std::chrono::floor<milliseconds>(std::chrono::system_clock::now()));
    co_return good;
  }
  if (!who.task) co_return gw.admin_hash == who.admin_hash;
  auto call = [&gw, task = *who.task](auto reply) { gw.controller.views({task}, std::move(reply)); };
  const auto views = co_await gw.answer<std::vector<std::optional<live_view>>>(call);
  co_return !views.empty() && views.front().has_value();
}

awaitable<> watch_token(core& gw, holder who, std::shared_ptr<watch_state> watch) {
  try {
    while (!watch->has_finished && !gw.stopping) {
      const bool good = co_await is_good(gw, who);
      if (!good) {
        watch->token_ended = true;
        if (watch->wake) watch->wake->notify();
        co_return;
      }
      co_await watch->stream_over.wait_until(std::chrono::steady_clock::now() + look_interval);
    }
  } catch (const problem& p) { // the controller did not answer: then nobody knows whether the token is good
    spdlog::warn("a stream is ended, as its token could not be looked at: {}", p.detail);
    watch->token_ended = true;
    if (watch->wake) watch->wake->notify();
  }
}

} // namespace

void end_with_token(exchange& x, response& answer) {
  if (!answer.stream || x.req.authorization.empty()) return;
  answer.stream = [&gw = x.gw, who = holder{x.token, x.who.task, x.gw.admin_hash},
                   inner = std::move(answer.stream)](stream_writer& to) -> awaitable<> {
    const auto watch = std::make_shared<watch_state>(*gw.io);
    const std::shared_ptr<void> finished(nullptr, [watch](void*) {
      watch->has_finished = true;
      watch->stream_over.notify();
    });
    boost::asio::co_spawn(*gw.io, watch_token(gw, who, watch), boost::asio::detached);
    guarded_writer writer(to, watch);
    co_await inner(writer);
    if (watch->token_ended) throw problem{.code = "unauthenticated", .detail = "its token has ended"};
  };
}

} // namespace quell::controller::http
