// The requests' thread knows the tokens: it checks those with streams once a second and whenever one was ended; for a
// task's token it asks the controller, once for all streams of that task. The streams, on their own threads, look at a
// flag before each write.
#include "gateway/guarded_stream.hpp"

#include "gateway/file_sending.hpp"
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <spdlog/spdlog.h>

#include <mutex>
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

/// State that the requests' thread and the thread of one stream share.
class stream_guard {
 public:
  bool has_ended() const { return ended_; }
  /// The thread of the stream: `wake` is notified there when the token ends. Once.
  void wake_on_end(io_context& here, const std::shared_ptr<signal>& wake) {
    {
      const std::lock_guard lock(mutex_);
      io_ = &here;
      wake_ = wake;
    }
    if (ended_) wake->notify();
  }
  /// The requests' thread: the token has ended.
  void end() {
    ended_ = true;
    const std::lock_guard lock(mutex_);
    if (!io_) return;
    post_to(*io_, [waiting = wake_] {
      if (const auto wake = waiting.lock()) wake->notify();
    });
  }

 private:
  std::atomic<bool> ended_ = false;
  std::mutex mutex_;
  io_context* io_ = nullptr; ///< lives as long as the gateway; under mutex_, like the next
  std::weak_ptr<signal> wake_;
};

/// Passes writes on until the token ends; from then on the client counts as disconnected.
class guarded_writer final : public stream_writer {
 public:
  guarded_writer(io_context& here, stream_guard& guard, stream_writer& to) : here_(here), guard_(guard), to_(to) {}
  awaitable<bool> write(std::string bytes) override {
    if (guard_.has_ended()) co_return false;
    const bool alive = co_await to_.write(std::move(bytes));
    co_return alive;
  }
  awaitable<bool> write_file(thread_context& here, file_range bytes) override {
    if (guard_.has_ended()) co_return false;
    const bool alive = co_await to_.write_file(here, std::move(bytes));
    co_return alive;
  }
  bool closed() const override { return guard_.has_ended() || to_.closed(); }
  bool made_room() const override { return to_.made_room(); }
  void wake_on_close(std::shared_ptr<signal> wake) override {
    guard_.wake_on_end(here_, wake);
    to_.wake_on_close(std::move(wake));
  }
  void end_with(std::string name, std::string value) override { to_.end_with(std::move(name), std::move(value)); }

 private:
  io_context& here_;
  stream_guard& guard_;
  stream_writer& to_;
};

} // namespace

/// All streams of one token. Belongs to the requests' thread.
struct token_watch {
  token_watch(io_context& io, holder w) : last_stream_over(io), who(std::move(w)) {}
  signal last_stream_over;
  holder who;
  std::set<stream_guard*> streams;
  bool token_ended = false;

  void end() {
    token_ended = true;
    for (auto* stream : streams) stream->end();
  }
};

namespace {

awaitable<> look_again_and_again(gateway_context& gw, std::shared_ptr<token_watch> watch) {
  try {
    while (!watch->streams.empty() && !gw.stopping && !watch->token_ended) {
      const bool ended = co_await has_ended_anywhere(gw, watch->who);
      if (ended) watch->end();
      if (!ended) co_await watch->last_stream_over.wait_until(std::chrono::steady_clock::now() + token_look_interval);
    }
  } catch (const problem& p) { // the controller did not answer, so the state of the token is unknown
    spdlog::warn("streams are ended, as their token could not be looked at: {}", p.detail);
    watch->end();
  }
  const auto found = gw.watched_tokens.find(watch->who.key());
  if (found != gw.watched_tokens.end() && found->second == watch) gw.watched_tokens.erase(found);
}

/// The stream counts among those of its token until the guard's last owner releases it, on the requests' thread.
std::shared_ptr<stream_guard> guard_for(gateway_context& gw, holder who) {
  const auto key = who.key();
  auto& known = gw.watched_tokens[key];
  const bool is_first = !known || known->token_ended;
  if (is_first) known = std::make_shared<token_watch>(*gw.io, std::move(who));
  const auto watch = known;
  std::shared_ptr<stream_guard> guard(new stream_guard, [watch](stream_guard* gone) {
    watch->streams.erase(gone);
    if (watch->streams.empty()) watch->last_stream_over.notify();
    delete gone;
  });
  watch->streams.insert(guard.get());
  if (is_first) boost::asio::co_spawn(*gw.io, look_again_and_again(gw, watch), boost::asio::detached);
  return guard;
}

} // namespace

void end_with_token(exchange& x, response& answer) {
  if (!answer.stream || (x.req.authorization.empty() && !x.signed_in)) return;
  auto guard = guard_for(x.gw, {x.token, x.who.task, x.gw.admin_hash, x.signed_in ? x.signed_in->id : ""});
  answer.stream = [guard = std::move(guard), inner = std::move(answer.stream)](thread_context& here,
                                                                               stream_writer& to) -> awaitable<> {
    guarded_writer writer(*here.io, *guard, to);
    co_await inner(here, writer);
    if (guard->has_ended()) throw problem{.code = error_code::unauthenticated, .detail = "its token has ended"};
  };
}

void end_streams_of_ended_tokens(gateway_context& gw) {
  for (const auto& [key, watch] : gw.watched_tokens) {
    if (!has_ended(gw, watch->who)) continue;
    watch->end();
    watch->last_stream_over.notify(); // its look ends, too
  }
}

} // namespace quell::controller::http
