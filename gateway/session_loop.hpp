// The loop of one connection over any stream; instantiated once for plain and once for TLS. For session_plain.cpp and
// session_tls.cpp only.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <sys/socket.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <spdlog/spdlog.h>

#include "gateway/chunk_writer.hpp"
#include "gateway/client_link.hpp"
#include "gateway/hangup.hpp"
#include "gateway/head_check.hpp"
#include "gateway/head_fields.hpp"
#include "gateway/movable_stream.hpp"
#include "gateway/reply_text.hpp"
#include "gateway/router.hpp"
#include "gateway/session.hpp"
#include "gateway/upload_gate.hpp"
#include "protocol/clock_now.hpp"

namespace quell::controller::http {

namespace beast = boost::beast;

/// A connection while it is on the thread of its stream. The table of connections, on the requests' thread, ends it
/// with a message to that thread.
struct stay {
  std::shared_ptr<io_context> io;
  std::function<void()> close; ///< belongs to that thread; empty before and after the stream
};

template <class Stream>
class session_loop final : public client_link {
 public:
  session_loop(std::shared_ptr<gateway_context> gw, Stream& stream, std::shared_ptr<connection> place)
      : gw_(std::move(gw)), stream_(stream), place_(std::move(place)) {
    place_->close = [this] { close(); };
  }
  ~session_loop() override {
    place_->close = {};
    end_watch();
  }
  session_loop(const session_loop&) = delete;
  session_loop& operator=(const session_loop&) = delete;

  /// True if our certificate covers that name; empty without TLS.
  std::function<bool(const std::string& host)> is_certified;

  awaitable<> run() {
    while (!gw_->stopping && !place_->must_go) {
      parser_.emplace();
      parser_->header_limit(static_cast<std::uint32_t>(gw_->options.max_header_bytes));
      parser_->body_limit(most_body_bytes(gw_->options));
      request req;
      const bool read = co_await read_request(req);
      if (!read) co_return;
      const bool keep_alive = parser_->get().keep_alive();
      const bool chunks_possible = parser_->get().version() >= 11;
      const bool head_only = req.method == "HEAD";
      req.client = this;
      req.upload = std::move(upload_);
      place_->move(connection::phase::at_work);
      auto answer = co_await answer_request(*gw_, std::move(req));
      if (place_->must_go) {
        if (answer.owned) answer.owned->goes_on(owned_turn::made_room);
        co_return;
      }
      const bool goes_on = keep_alive && !place_->is_reserved;
      bool go_on = false;
      if (answer.stream && !head_only) // a reserved place is for one request, so that streams do not fill the reserve
        go_on = co_await write_stream(std::move(answer), !chunks_possible ? body_form::until_close
                                                         : goes_on        ? body_form::chunked
                                                                          : body_form::chunked_and_close);
      else
        go_on = co_await write_answer(std::move(answer), goes_on ? body_form::sized : body_form::sized_and_close,
                                      head_only ? answer_part::head : answer_part::whole);
      end_watch();
      if (!go_on) co_return;
    }
  }

  std::shared_ptr<const std::atomic<bool>> watch() override {
    if (!watch_) watch_ = start_watch(*gw_->io);
    return {watch_, &watch_->gone};
  }
  void wake_on_close(std::shared_ptr<signal> wake) override {
    watch();
    if (watch_->gone) wake->notify();
    watch_->wake = std::move(wake);
  }
  void watches_for(const std::string& token) override { place_->watches_for(token); }
  bool made_room() const override { return place_->must_go; }
  bool is_reserved() const override { return place_->is_reserved; }

 private:
  using parser = beast::http::request_parser<beast::http::string_body>;
  static constexpr std::size_t first_read_bytes = 16 * 1024;

  auto io_timeout() { return gw_->options.idle_timeout; }
  static auto token(beast::error_code& error) { return boost::asio::redirect_error(boost::asio::use_awaitable, error); }

  /// False: the connection has ended (a broken request got its answer).
  awaitable<bool> read_request(request& req) {
    beast::error_code error;
    place_->move(connection::phase::idle);
    co_await read_bytes(error);
    req.id = request_id::fresh();
    if (error) {
      co_await refuse(error, req.id);
      co_return false;
    }
    if (wrong_head_) {
      co_await refuse(*wrong_head_, req.id);
      co_return false;
    }
    req.received = clock_now().boot;
    auto& message = parser_->get();
    take_fields(message, req);
    req.body = std::move(message.body());
    const auto target = read_target({message.target().data(), message.target().size()}, req);
    if (req.path.starts_with("/v1/chat/")) {
      take_whole(message, req);
      req.is_relayed = is_local();
    }
    if (!target) {
      const auto form = message.keep_alive() ? body_form::sized : body_form::sized_and_close;
      ++gw_->metrics.answers_by_status[400];
      co_await write_answer(problem_answer(from_fault(target.error()), req.id), form, answer_part::whole);
      co_return false;
    }
    co_return true;
  }

  /// Reads header and body into the parser. The time limit of each starts at its first byte and is not extended by
  /// further ones: a client that sends byte by byte holds its connection no longer than a silent one.
  awaitable<> read_bytes(beast::error_code& error) {
    if (buffer_.size() == 0) {
      beast::get_lowest_layer(stream_).expires_after(gw_->options.idle_timeout);
      const auto count = co_await stream_.async_read_some(buffer_.prepare(first_read_bytes), token(error));
      buffer_.commit(count);
      if (error) co_return;
    } else { // sent ahead: others have their turn between two requests of one connection
      co_await boost::asio::post(*gw_->io, boost::asio::use_awaitable);
    }
    parse_what_came(error);
    if (error) co_return;
    if (!parser_->is_header_done()) {
      beast::get_lowest_layer(stream_).expires_after(gw_->options.header_timeout);
      co_await beast::http::async_read_header(stream_, buffer_, *parser_, token(error));
      if (error) co_return;
    }
    wrong_head_ = look_at_head();
    if (!wrong_head_) wrong_head_ = check_length(*gw_, *parser_, upload_);
    if (wrong_head_) co_return;
    if (beast::iequals(parser_->get()[beast::http::field::expect], "100-continue")) {
      const bool alive = co_await write_all("HTTP/1.1 100 Continue\r\n\r\n");
      if (!alive) error = boost::asio::error::connection_reset;
      if (error) co_return;
    }
    if (!parser_->is_done() && buffer_.size() > 0) {
      parser_->eager(true);
      parse_what_came(error);
      if (error) co_return;
    }
    if (parser_->is_done()) co_return;
    beast::get_lowest_layer(stream_).expires_after(gw_->options.body_timeout);
    co_await beast::http::async_read(stream_, buffer_, *parser_, token(error));
  }

  /// Most requests come whole, in one read, and need no further wait.
  void parse_what_came(beast::error_code& error) {
    buffer_.consume(parser_->put(buffer_.data(), error));
    if (error == beast::http::error::need_more) error = {};
  }

  std::optional<problem> look_at_head() {
    if (is_local()) return std::nullopt; // relayed: it has the host name that the task knows
    const auto head = head_of(parser_->get());
    if (auto wrong = wrong_head(head)) return wrong;
    if (head.hosts.empty()) return std::nullopt;
    return foreign_host(head.hosts.front(), gw_->options.hosts, is_certified);
  }

  bool is_local() {
    if (!is_local_) {
      beast::error_code error;
      const auto here = beast::get_lowest_layer(stream_).socket().local_endpoint(error);
      is_local_ = !error && here.protocol().family() == AF_UNIX;
    }
    return *is_local_;
  }

  /// Answers a request that could not be parsed, if it was a request at all.
  awaitable<> refuse(beast::error_code error, request_id id) {
    problem p;
    if (error == beast::http::error::body_limit)
      p = too_large_body(*gw_, *parser_, upload_ != nullptr);
    else if (error == beast::http::error::header_limit || error == beast::http::error::buffer_overflow)
      p = {.code = error_code::too_large,
           .detail = "the request's header is larger than " + std::to_string(gw_->options.max_header_bytes) + " bytes"};
    else if (error.category() == beast::http::make_error_code(beast::http::error::end_of_stream).category() &&
             error != beast::http::error::end_of_stream && error != beast::http::error::partial_message)
      p = {.code = error_code::bad_request, .detail = "this is not an HTTP/1.1 request: " + error.message()};
    else
      co_return; // closed, reset or timed out
    co_await refuse(std::move(p), id);
  }

  awaitable<> refuse(problem p, request_id id) {
    auto answer = problem_answer(p, id);
    ++gw_->metrics.answers_by_status[answer.status];
    co_await write_answer(std::move(answer), body_form::sized_and_close, answer_part::whole);
    co_await drain_input();
  }

  /// Reads on for a moment, so that a client that is still sending sees the answer instead of a reset.
  awaitable<> drain_input() {
    beast::error_code error;
    beast::get_lowest_layer(stream_).expires_after(std::chrono::seconds(2));
    std::string sink(64 * 1024, '\0');
    for (std::size_t total = 0; !error && total < 32 * 1024 * 1024;)
      total += co_await stream_.async_read_some(boost::asio::buffer(sink), token(error));
  }

  awaitable<bool> write_all(std::string bytes) {
    beast::error_code error;
    beast::get_lowest_layer(stream_).expires_after(io_timeout());
    // Asio's own condition passes the kernel at most 64 KiB at a time.
    const auto as_much_as_goes = [](const beast::error_code& failed, std::size_t) -> std::size_t {
      return failed ? 0 : 1024 * 1024;
    };
    co_await boost::asio::async_write(stream_, boost::asio::buffer(bytes), as_much_as_goes, token(error));
    beast::get_lowest_layer(stream_).expires_never();
    co_return !error;
  }

  /// As much of a short answer as the kernel takes at once, which is nearly always all of it. With TLS nothing.
  std::size_t send_at_once(const std::string& bytes) {
    if (!std::is_same_v<Stream, movable_stream> || bytes.size() >= turnstile::least_bytes) return 0;
    const auto descriptor = beast::get_lowest_layer(stream_).socket().native_handle();
    const auto sent = ::send(descriptor, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    return static_cast<std::size_t>(std::max<ssize_t>(sent, 0)); // after an error the next write has the same
  }

  enum class answer_part : std::uint8_t { whole, head };
  awaitable<bool> write_answer(response answer, body_form form, answer_part what) {
    const bool goes_on = form == body_form::sized;
    auto text = reply_head(answer, form, this_second());
    if (what == answer_part::whole) text += answer.body;
    const auto sent = send_at_once(text);
    if (sent == text.size()) co_return goes_on;
    text.erase(0, sent);
    place_->move(connection::phase::writing); // the server now waits for the client to read
    if (text.size() >= turnstile::least_bytes) co_await gw_->big_answers->pass(std::move(answer.holder), text.size());
    if (place_->must_go) co_return false;
    const bool alive = co_await write_all(std::move(text));
    co_return alive&& goes_on;
  }

  std::shared_ptr<hangup> start_watch(io_context& here) {
    constexpr bool is_tls = !std::is_same_v<Stream, movable_stream>;
    return watch_for_hangup(here, beast::get_lowest_layer(stream_).socket().native_handle(), is_tls);
  }

  /// Streams on another thread: the connection moves there, and back for its next request. This coroutine waits on the
  /// requests' thread meanwhile, so that everything of the request ends where it began.
  awaitable<bool> write_stream(response answer, body_form form) {
    place_->watches_for(answer.holder);
    auto first = reply_head(answer, form, this_second());
    if (!answer.body.empty()) first += is_chunked(form) ? as_chunk(answer.body) : answer.body;
    const bool alive = co_await write_all(std::move(first));
    end_watch();
    auto& there = gw_->thread_of(answer.kind);
    if (place_->must_go && answer.owned) answer.owned->goes_on(owned_turn::made_room);
    if (!alive || !layer().move_to(*there.io)) co_return false;
    away_ = std::make_shared<stay>(stay{there.io, {}});
    auto work = stream_there(there, answer, form, away_);
    const bool complete = co_await boost::asio::co_spawn(*there.io, std::move(work), boost::asio::use_awaitable);
    away_.reset();
    const bool is_back = layer().move_to(*gw_->io);
    co_return complete&& is_back&& form == body_form::chunked && !gw_->stopping;
  }

  chunk_writer::link link_to_client() {
    const bool is_plain = std::is_same_v<Stream, movable_stream>;
    return {[this](std::string bytes) { return write_all(std::move(bytes)); },
            is_plain ? beast::get_lowest_layer(stream_).socket().native_handle() : -1, io_timeout()};
  }

  /// On the thread of the stream, which has the socket now. True if the stream came to its end and is marked as whole.
  awaitable<bool> stream_there(thread_context& here, const response& answer, body_form form, std::shared_ptr<stay> at) {
    const auto end = start_watch(*here.io);
    at->close = [this, end] {
      end->made_room = true;
      shut();
      end->tell();
      end->finish();
    };
    bool complete = false;
    std::string last_chunk = "0\r\n";
    {
      chunk_writer writer(link_to_client(), form, end);
      try {
        co_await answer.stream(here, writer);
        complete = true;
        last_chunk += writer.trailer() + "\r\n";
      } catch (const problem& p) {
        spdlog::warn("an answer broke off while it was streamed: {}", p.detail);
      } catch (const std::exception& e) {
        spdlog::error("an answer broke off while it was streamed: {}", e.what());
      }
    }
    end->finish();
    // A partial stream must not look complete: without the last chunk the client sees that it was cut.
    if (!complete || end->gone || !is_chunked(form))
      complete = false;
    else
      complete = co_await write_all(std::move(last_chunk));
    at->close = nullptr;
    co_return complete;
  }

  movable_stream& layer() {
    if constexpr (std::is_same_v<Stream, movable_stream>)
      return stream_;
    else
      return stream_.next_layer();
  }

  /// Makes room: all waits for the socket fail, and every other waiter is woken.
  void close() {
    if (away_) {
      post_to(*away_->io, [away = std::weak_ptr(away_)] {
        const auto at = away.lock();
        if (at && at->close) at->close();
      });
      return;
    }
    shut();
    if (!watch_) return;
    watch_->tell();
    watch_->finish();
  }

  void shut() {
    beast::error_code ignored;
    auto& lowest = beast::get_lowest_layer(stream_);
    lowest.socket().shutdown(any_socket::shutdown_both, ignored);
    lowest.close();
  }

  void end_watch() {
    if (watch_) watch_->finish();
    watch_.reset();
  }

  std::shared_ptr<gateway_context> gw_;
  Stream& stream_;
  std::shared_ptr<connection> place_;
  std::shared_ptr<hangup> watch_; ///< while a handler watches the client
  std::shared_ptr<stay> away_;    ///< while the connection is on another thread
  beast::flat_buffer buffer_;
  std::optional<parser> parser_;
  std::optional<problem> wrong_head_;
  std::optional<bool> is_local_; ///< not known before the first request
  std::shared_ptr<void> upload_; ///< held while the request has a large body
};

} // namespace quell::controller::http
