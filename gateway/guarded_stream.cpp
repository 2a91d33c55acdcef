// Checks a stored token and the bootstrap token before each write, and all tokens once a second while they have
// streams: for a task's token it asks the controller, once for all streams of that task.
#include "gateway/guarded_stream.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <spdlog/spdlog.h>

#include <set>

namespace quell::controller::http {

namespace {

constexpr std::chrono::seconds token_look_interval{1};

/// The opener of a stream: a stored token, a task's, or the bootstrap token with this hash.
struct holder {
  std::optional<token_id> token;
  std::optional<operation_id> task;
  std::string admin_hash;
  std::string signed_in; ///< the sign-in of a browser; "" = the token itself was sent

  std::string key() const {
    return (token ? token->text() : task ? task->text() : "admin " + admin_hash) + ' ' + signed_in;
  }
};

bool has_ended(const gateway_context& gw, const holder& who) {
  const auto now = std::chrono::floor<milliseconds>(std::chrono::system_clock::now());
  if (!who.signed_in.empty() && !gw.sign_ins.is_open(who.signed_in, now)) return true;
  if (who.token) return !gw.tokens.is_good(*who.token, now);
  return !who.task && gw.admin_hash != who.admin_hash;
}

awaitable<bool> has_ended_anywhere(gateway_context& gw, holder who) {
  if (!who.task) co_return has_ended(gw, who);
  auto call = [&gw, task = *who.task](auto reply) { gw.controller.views({task}, std::move(reply)); };
  const auto views = co_await gw.answer<std::vector<std::optional<live_view>>>(call);
  co_return views.empty() || !views.front().has_value();
}

} // namespace

/// All streams of one token.
struct token_watch {
  class writer;
  explicit token_watch(io_context& io) : last_stream_over(io) {}
  signal last_stream_over;
  std::set<writer*> streams;
  bool token_ended = false;
};

/// Passes writes on until the token ends; from then on the client counts as disconnected.
class token_watch::writer final : public stream_writer {
 public:
  writer(const gateway_context& gw, holder who, stream_writer& to, std::shared_ptr<token_watch> watch)
      : gw_(gw), who_(std::move(who)), to_(to), watch_(std::move(watch)) {
    watch_->streams.insert(this);
  }
  ~writer() override {
    watch_->streams.erase(this);
    if (watch_->streams.empty()) watch_->last_stream_over.notify();
  }
  awaitable<bool> write(std::string bytes) override {
    if (broken_off()) co_return false;
    const bool alive = co_await to_.write(std::move(bytes));
    co_return alive;
  }
  bool closed() const override { return watch_->token_ended || to_.closed(); }
  void wake_on_close(std::shared_ptr<signal> wake) override {
    wake_ = wake;
    to_.wake_on_close(std::move(wake));
  }
  void end_with(std::string name, std::string value) override { to_.end_with(std::move(name), std::move(value)); }

  bool broken_off() const { return watch_->token_ended || has_ended(gw_, who_); }
  void wake() {
    if (wake_) wake_->notify();
  }

 private:
  const gateway_context& gw_;
  holder who_;
  stream_writer& to_;
  std::shared_ptr<token_watch> watch_;
  std::shared_ptr<signal> wake_; ///< for the waits of the stream itself
};

namespace {

awaitable<> look_again_and_again(gateway_context& gw, holder who, std::shared_ptr<token_watch> watch) {
  try {
    while (!watch->streams.empty() && !gw.stopping && !watch->token_ended) {
      const bool ended = co_await has_ended_anywhere(gw, who);
      if (ended) watch->token_ended = true;
      if (!ended) co_await watch->last_stream_over.wait_until(std::chrono::steady_clock::now() + token_look_interval);
    }
  } catch (const problem& p) { // the controller did not answer, so the state of the token is unknown
    spdlog::warn("streams are ended, as their token could not be looked at: {}", p.detail);
    watch->token_ended = true;
  }
  gw.watched_tokens.erase(who.key());
  if (watch->token_ended)
    for (auto* stream : watch->streams) stream->wake();
}

/// The watch for this token's streams.
std::shared_ptr<token_watch> watch_of(gateway_context& gw, const holder& who) {
  auto& watch = gw.watched_tokens[who.key()];
  if (!watch) watch = std::make_shared<token_watch>(*gw.io);
  return watch;
}

} // namespace

void end_with_token(exchange& x, response& answer) {
  if (!answer.stream || (x.req.authorization.empty() && !x.signed_in)) return;
  answer.stream = [&gw = x.gw, who = holder{x.token, x.who.task, x.gw.admin_hash, x.signed_in ? x.signed_in->id : ""},
                   inner = std::move(answer.stream)](stream_writer& to) -> awaitable<> {
    const bool is_first = !gw.watched_tokens.contains(who.key());
    token_watch::writer writer(gw, who, to, watch_of(gw, who));
    if (is_first)
      boost::asio::co_spawn(*gw.io, look_again_and_again(gw, who, gw.watched_tokens.at(who.key())),
                            boost::asio::detached);
    co_await inner(writer);
    if (writer.broken_off()) throw problem{.code = "unauthenticated", .detail = "its token has ended"};
  };
}

} // namespace quell::controller::http
