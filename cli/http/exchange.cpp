// Sends, reads, delivers. Reading begins together with writing, so that a server can refuse a body before it has come.
#include "cli/http/exchange.hpp"

#include <boost/asio/post.hpp>
#include <chrono>
#include <utility>

namespace quell::cli {

exchange::exchange(const dialing& with, kept_wires& kept, http_request request, http_sink sink,
                   std::function<void()> over)
    : with_(with), kept_(kept), request_(std::move(request)), sink_(std::move(sink)), over_(std::move(over)),
      limit_(with.io) {}

void exchange::start() {
  if (request_.timeout.count() > 0) {
    limit_.expires_after(request_.timeout);
    limit_.async_wait([self = shared_from_this()](const error_code& e) {
      if (!e) self->finish("no complete answer within " + std::to_string(self->request_.timeout.count()) + " ms");
    });
  }
  boost::asio::post(with_.io, [self = shared_from_this()] { self->begin(); });
}

void exchange::begin() {
  if (is_over_) return;
  auto to = parse_address(request_.url);
  if (!to) return finish(to.error());
  to_ = std::move(*to);
  auto head = request_head(request_, to_);
  if (!head) return finish(head.error());
  text_ = std::move(*head) + request_.body;
  key_ = (to_.is_tls ? "s " : "p ") + to_.host + "%" + to_.zone + " " + to_.port + " " + request_.ca_file;
  if (auto connection = kept_.take(key_, std::chrono::steady_clock::now())) {
    is_reused_ = true;
    return send(std::move(connection));
  }
  dial();
}

void exchange::dial() {
  is_reused_ = false;
  dialer_ = std::make_shared<dialer>(with_, to_, request_.ca_file, [self = shared_from_this()](dialer::outcome found) {
    self->dialer_ = nullptr;
    if (!found) return self->finish(found.error());
    self->send(std::move(*found));
  });
  dialer_->start();
}

void exchange::send(std::shared_ptr<wire> connection) {
  wire_ = std::move(connection);
  parser_.emplace(request_.method == "HEAD" ? answer_parser::body::none : answer_parser::body::expected);
  writing_ = writing::going_on;
  // Handlers of a connection that was given up come late; they must not be taken for its successor's.
  wire_->write(text_, [self = shared_from_this(), on = wire_.get()](const error_code& e, std::size_t n) {
    if (self->wire_.get() == on) self->written(e, n);
  });
  read_more();
}

void exchange::written(const error_code& error, std::size_t count) {
  writing_ = error ? writing::failed : writing::done;
  may_be_received_ = may_be_received_ || count > 0;
  // Bytes that the server sent before it closed may still arrive; reading finds them, or the end.
}

void exchange::read_more() {
  wire_->read(boost::asio::buffer(room_),
              [self = shared_from_this(), on = wire_.get()](const error_code& e, std::size_t n) {
                if (self->wire_.get() == on) self->received(e, n);
              });
}

void exchange::received(const error_code& error, std::size_t count) {
  arrived_.append(room_.data(), count);
  if (count > 0) understood_ = parser_->feed(arrived_, pieces_);
  if (error == boost::asio::error::eof) {
    parser_->end_of_stream();
    has_ended_ = true;
  } else if (error) {
    broken_ = "the connection broke off: " + error.message();
  }
  deliver();
}

/// Passes on what has arrived, in order; then reads on, or ends.
void exchange::deliver() {
  if (parser_->has_head() && !is_head_reported_) {
    is_head_reported_ = true;
    if (sink_.head) sink_.head(parser_->head());
    if (is_over_) return;
  }
  while (delivered_ < pieces_.size()) {
    const bool taken = !sink_.body || sink_.body(pieces_[delivered_]);
    if (is_over_) return;
    if (!taken) {
      is_paused_ = true;
      return;
    }
    ++delivered_;
  }
  pieces_.clear();
  delivered_ = 0;
  arrived_.erase(0, std::exchange(understood_, 0));
  if (parser_->is_whole()) return finish({});
  if (!parser_->error().empty()) return broke(parser_->error());
  if (!broken_.empty()) return broke(broken_);
  if (has_ended_) return broke("the connection ended in the middle of the answer");
  read_more();
}

bool exchange::may_repeat() const {
  if (!is_reused_ || parser_->has_head() || !arrived_.empty()) return false;
  const bool only_asks = request_.method == "GET" || request_.method == "HEAD";
  return only_asks || (writing_ == writing::failed && !may_be_received_);
}

void exchange::broke(const std::string& why) {
  if (!may_repeat()) return finish(why);
  if (writing_ == writing::going_on) may_be_received_ = true;
  std::exchange(wire_, nullptr)->close();
  writing_ = writing::no;
  broken_.clear();
  has_ended_ = false;
  dial();
}

void exchange::finish(std::string error) {
  if (is_over_) return;
  is_over_ = true;
  limit_.cancel();
  if (dialer_) std::exchange(dialer_, nullptr)->stop();
  http_end end;
  if (parser_) end.head = parser_->head_with_trailers();
  // A request that is still being written may have arrived in part.
  end.sent = may_be_received_ || writing_ == writing::going_on;
  if (error.empty()) end.sent = true;
  end.error = std::move(error);
  if (auto connection = std::exchange(wire_, nullptr)) {
    const bool may_follow = end.error.empty() && parser_->may_follow() && writing_ == writing::done &&
                            arrived_.empty() && !has_ended_ && broken_.empty();
    if (may_follow)
      kept_.keep(key_, std::move(connection), std::chrono::steady_clock::now());
    else
      connection->close();
  }
  const auto sink = std::exchange(sink_, {});
  if (over_) std::exchange(over_, nullptr)();
  if (sink.end) sink.end(end);
}

void exchange::abandon() {
  is_over_ = true;
  limit_.cancel();
  if (dialer_) std::exchange(dialer_, nullptr)->stop();
  if (wire_) std::exchange(wire_, nullptr)->close();
  over_ = nullptr;
}

void exchange::resume() {
  if (!is_paused_ || is_over_) return;
  is_paused_ = false;
  boost::asio::post(with_.io, [self = shared_from_this()] {
    if (!self->is_over_) self->deliver();
  });
}

} // namespace quell::cli
