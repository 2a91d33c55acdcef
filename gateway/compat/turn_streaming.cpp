// Follows a turn on the thread of the streams, for a client that reads it as it comes or for one that waits for its
// end.
#include "gateway/compat/turn_streaming.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include "gateway/event_stream.hpp"

namespace quell::controller::http {

namespace {

using translator_ref = std::shared_ptr<turn_translator>;

/// The events to read of one turn.
struct followed_turn {
  events_request events;
  std::uint64_t after = 0;
  operation_id turn;
  std::shared_ptr<owned_turn> owned;
};

followed_turn followed(exchange& x, const client_turn& begun) {
  followed_turn what;
  what.turn = *begun.decided.turn;
  what.events.who = x.share_key();
  what.events.filter.below = what.turn;
  what.after = begun.decided.is_duplicate ? 0 : begun.after;
  what.owned = begun.owned;
  return what;
}

/// Writes what `to` makes of the events until the turn has ended or the client has gone.
awaitable<> follow(thread_context& here, followed_turn what, translator_ref to, stream_writer& into) {
  ++here.event_streams;
  const std::shared_ptr<void> counted(nullptr, [&here](void*) { --here.event_streams; });
  auto watcher = here.hub.watch(what.events.filter, false);
  watcher->shows_live = true;
  stream_manner manner;
  manner.until_end = what.turn;
  manner.as_frame = [to](const rendered_event& event) { return to->frame(event); };
  event_stream events(here, what.events, {what.after}, std::move(watcher), into, std::move(manner));
  try {
    co_await events.run();
  } catch (...) {
    if (what.owned) what.owned->goes_on(owned_turn::broke_off);
    throw;
  }
  if (what.owned) settle(*what.owned, events, into);
}

/// The turn's end alone is wanted.
class end_reader final : public turn_translator {
 public:
  using turn_translator::turn_translator;

 private:
  std::string on_text(const std::string&) override { return {}; }
  std::string on_thinking(const std::string&) override { return {}; }
  std::string on_call(const shown_call&) override { return {}; }
  std::string on_result(const shown_call&) override { return {}; }
  std::string on_approval(event_type, const nlohmann::json&) override { return {}; }
  std::string on_end(const turn_end&) override { return {}; }
};

/// Writes nothing. Belongs to the thread of the streams.
class silent_writer final : public stream_writer {
 public:
  awaitable<bool> write(std::string) override { co_return !gone_; }
  awaitable<bool> write_file(thread_context&, file_range) override { co_return !gone_; }
  bool closed() const override { return gone_; }
  bool made_room() const override { return made_room_; }
  void wake_on_close(std::shared_ptr<signal> wake) override { wake_ = std::move(wake); }
  void end_with(std::string, std::string) override {}
  void client_gone(bool to_make_room) {
    gone_ = true;
    made_room_ = to_make_room;
    if (wake_) wake_->notify();
  }

 private:
  bool gone_ = false, made_room_ = false;
  std::shared_ptr<signal> wake_;
};

/// The turn goes on or not: this client learns no more of it. Never a status for which a client repeats its request.
turn_end unknown_end(error_code code, const std::string& why) {
  turn_end end;
  end.code = text_of(code);
  end.message = why;
  return end;
}

awaitable<> follow_to_end(thread_context& here, followed_turn what, std::shared_ptr<silent_writer> into,
                          std::function<void(turn_end)> done) {
  const auto reader = std::make_shared<end_reader>(what.turn);
  auto found = unknown_end(error_code::shutting_down, "quelld ends; the turn is in its ledger");
  try {
    co_await follow(here, std::move(what), reader, *into);
    if (reader->end()) found = *reader->end();
  } catch (const problem& p) {
    found = unknown_end(p.code, p.detail);
  } catch (const std::exception& e) {
    found = unknown_end(error_code::internal, e.what());
  }
  done(std::move(found));
}

} // namespace

response streamed_turn(exchange& x, const client_turn& begun, translator_ref to, std::string first,
                       std::shared_ptr<void> held) {
  response answer;
  if (begun.decided.is_duplicate) to->catch_up_to(begun.after);
  answer.content_type = "text/event-stream";
  answer.body = std::move(first);
  answer.owned = begun.owned;
  answer.stream = [what = followed(x, begun), to = std::move(to), held = std::move(held)](
                      thread_context& here, stream_writer& into) { return follow(here, what, to, into); };
  return answer;
}

awaitable<turn_end> whole_turn(exchange& x, const client_turn& begun) {
  auto& gw = x.gw;
  auto slot = std::make_shared<answer_slot<turn_end>>(gw.io);
  auto writer = std::make_shared<silent_writer>();
  auto work = follow_to_end(*gw.watching, followed(x, begun), writer, reply_to(slot));
  boost::asio::co_spawn(*gw.watching->io, std::move(work), boost::asio::detached);
  const std::shared_ptr<signal> wake(slot, &slot->arrived);
  while (!slot->value && !x.is_abandoned() && !gw.stopping)
    co_await x.wait(wake, std::chrono::steady_clock::now() + gw.options.comment_interval);
  // The one who follows settles what becomes of the turn, on its own thread.
  const bool to_make_room = x.req.client && x.req.client->made_room();
  if (!slot->value) post_to(*gw.watching->io, [writer, to_make_room] { writer->client_gone(to_make_room); });
  while (!slot->value) co_await slot->arrived.wait_until(std::chrono::steady_clock::now() + controller_timeout);
  co_return std::move(*slot->value);
}

} // namespace quell::controller::http
