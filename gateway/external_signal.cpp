// GET /v1/operations/{id}/signal (long poll, or SSE) and GET /v1/signals?session=… (SSE): signals for owners.
//
// A stream first sends all open stops, then new ones: an owner that reconnects misses nothing and needs no number to
// resume from.
#include <unordered_map>

#include "gateway/cancel_body.hpp"
#include "gateway/external_json.hpp"
#include "gateway/query_reader.hpp"
#include "gateway/rights.hpp"

namespace quell::controller::http {

namespace {

constexpr std::size_t signal_write_bytes = 64 * 1024;
constexpr std::size_t max_remembered = 100'000;

using found_signal = outcome<std::optional<external_signal>>;

awaitable<found_signal> ask_signal(thread_context& gw, operation_id id, caller who) {
  auto call = [&gw, id, who](auto reply) { gw.controller.signal_of(id, who, std::move(reply)); };
  co_return co_await gw.answer<found_signal>(call);
}

/// One stream of one owner.
class signal_stream {
 public:
  signal_stream(thread_context& gw, caller who, std::shared_ptr<signal_watcher> watcher, stream_writer& to)
      : gw_(gw), who_(std::move(who)), watcher_(std::move(watcher)), to_(to) {
    if (watcher_->operation) end_ = gw_.hub.watch(*watcher_->operation, watcher_->arrived);
  }

  awaitable<> run() {
    to_.wake_on_close(watcher_->arrived);
    bool alive = co_await to_.write("retry: 1000\n: listening\n\n");
    if (alive) alive = co_await say_all();
    while (alive && !is_over_ && !to_.closed() && !gw_.stopping) {
      if (watcher_->lagging) {
        alive = co_await say_all();
        continue;
      }
      if (watcher_->queue.empty()) {
        const bool woken =
            co_await watcher_->arrived->wait_until(std::chrono::steady_clock::now() + gw_.options.comment_interval);
        if (!woken) alive = co_await to_.write(": still here\n\n");
        // A stream of one operation is also woken by its end.
        if (woken && watcher_->operation && watcher_->queue.empty()) alive = co_await say_all();
        continue;
      }
      std::string frames;
      while (!watcher_->queue.empty() && frames.size() < signal_write_bytes) {
        const auto s = std::move(watcher_->queue.front());
        watcher_->queue.pop_front();
        const bool wanted = co_await may_hear(s);
        if (wanted) append(frames, s);
      }
      if (!frames.empty()) alive = co_await to_.write(std::move(frames));
    }
  }

 private:
  /// Sends all open stops.
  awaitable<bool> say_all() {
    watcher_->lagging = false;
    watcher_->queue.clear();
    std::vector<external_signal> now;
    if (watcher_->operation) {
      auto one = co_await ask_signal(gw_, *watcher_->operation, who_);
      is_over_ = !one;
      if (one && *one) now.push_back(std::move(**one));
    } else {
      auto call = [this](auto reply) { gw_.controller.signals_of(watcher_->session, who_, std::move(reply)); };
      now = co_await gw_.answer<std::vector<external_signal>>(call);
    }
    std::string frames;
    for (const auto& s : now) {
      append(frames, s);
      if (frames.size() < signal_write_bytes) continue;
      const bool alive = co_await to_.write(std::move(frames));
      if (!alive) co_return false;
      frames.clear();
    }
    if (frames.empty()) co_return true;
    co_return co_await to_.write(std::move(frames));
  }

  void append(std::string& frames, const external_signal& s) {
    if (last_sent_.size() >= max_remembered) last_sent_.clear();
    const auto [at, fresh] = last_sent_.try_emplace(s.operation, s.kill_at);
    if (!fresh && at->second == s.kill_at) return;
    at->second = s.kill_at;
    frames += signal_frame(s);
  }

  awaitable<bool> may_hear(external_signal s) {
    if (watcher_->operation) co_return true; // checked when the stream began
    if (who_.prefix && !s.scope.is_at_or_below(*who_.prefix)) co_return false;
    if (!who_.task) co_return true;
    const auto id = s.operation, task = *who_.task;
    co_return co_await gw_.read<bool>([id, task](store_reader& q) { return q.is_below(id, task); });
  }

  thread_context& gw_;
  caller who_;
  std::shared_ptr<signal_watcher> watcher_;
  std::shared_ptr<void> end_; ///< wakes us at the end of the one operation
  stream_writer& to_;
  std::unordered_map<operation_id, wall_time> last_sent_;
  bool is_over_ = false;
};

/// `what`: the operation, or the session, whose stops are wanted.
template <class What>
awaitable<> stream_signals(thread_context& here, caller who, What what, stream_writer& to) {
  ++here.event_streams;
  const std::shared_ptr<void> counted(nullptr, [&here](void*) { --here.event_streams; });
  auto watcher = here.externals.watch(what); // before the controller is asked
  signal_stream stream(here, std::move(who), std::move(watcher), to);
  co_await stream.run();
}

template <class What>
response as_stream(const exchange& x, What what) {
  response answer;
  answer.content_type = "text/event-stream";
  answer.kind = stream_kind::signals;
  answer.stream = [who = x.who, what = std::move(what)](thread_context& here, stream_writer& to) {
    return stream_signals(here, who, what, to);
  };
  return answer;
}

} // namespace

awaitable<response> get_signal(exchange& x) {
  auto& gw = x.gw;
  need(x, right::create_external);
  const auto id = path_id<operation_id>(x);
  query_reader query(x.req);
  const auto wait_ms = query.number("wait_ms", 0, static_cast<std::uint64_t>(max_wait.count())).value_or(30'000);
  query.finish();
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(wait_ms);
  auto watcher = gw.externals.watch(id); // before the controller is asked
  const auto end = gw.hub.watch(id, watcher->arrived);
  x.begin_watching();
  while (true) {
    const auto found = co_await ask_signal(gw, id, x.who);
    if (!found) co_await explain_not_live(x, id);
    if (x.req.wants_event_stream()) co_return as_stream(x, id);
    if (*found) co_return json_answer(signal_json(**found));
    if (gw.stopping) co_return empty_answer(); // nothing yet
    const bool woken = co_await x.wait(watcher->arrived, until);
    if (!woken) co_return empty_answer(); // nothing yet
  }
}

awaitable<response> get_signals(exchange& x) {
  need(x, right::create_external);
  query_reader query(x.req);
  const auto session = query.one("session");
  if (!session)
    query.complain("session", "is missing: name the session that the operations were registered with");
  else if (session->empty() || session->size() > 512)
    query.complain("session", "must have 1 to 128 characters");
  query.finish();
  co_return as_stream(x, *session);
}

} // namespace quell::controller::http
